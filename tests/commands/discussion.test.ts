import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { openReader } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { typed } from "./in-process.ts";
import { endAfterwards } from "./strays.ts";
import { open } from "./terminal.ts";
import { jsonLines, rig, type Rig, ROOT, until } from "./rig.ts";

const AGENTS = join(ROOT, "examples", "agents");
/** Starts an agent once there is a file `go` in the workspace. */
const PATIENT = 'request=$(cat); while [ ! -e go ]; do sleep 0.05; done; printf "%s\\n" "$request" | exec "$@"';

function roles(first: readonly string[] = []): string {
  const debater = (position: string) => ["${node}", join(AGENTS, "debater.mjs"), position];
  return JSON.stringify({
    roles: [
      { role_id: "one", type: "participant", cli_command: [...first, ...debater("Rename it at once.")] },
      { role_id: "two", type: "participant", cli_command: debater("Rename it in two steps.") },
      { role_id: "wise", type: "participant", cli_command: ["${node}", join(AGENTS, "judge.mjs"), "In two steps."] },
    ],
  });
}

const PLAN = JSON.stringify({
  summary: "Rename a column",
  tasks: [
    {
      task_id: "rename",
      description: "Rename the column",
      risks: ["data loss"],
      review: "checks",
      acceptance_criteria: [{ text: "it is done", command: ["test", "-e", "renamed"] }],
      instruction: { summary: "Rename it", steps: [{ text: "rename", shell: "touch renamed" }] },
    },
  ],
});

/** The same, with a task beside the discussion that waits for a file `go` in the workspace. */
const PLAN_OF_TWO = JSON.stringify({
  ...JSON.parse(PLAN),
  tasks: [
    ...JSON.parse(PLAN).tasks,
    {
      task_id: "aside",
      description: "Work aside",
      review: "checks",
      acceptance_criteria: [{ text: "it is done", command: ["test", "-e", "go"] }],
      instruction: {
        summary: "Wait",
        steps: [{ text: "wait", shell: "touch begun; while [ ! -e go ]; do sleep 0.05; done" }],
      },
    },
  ],
});

const DISCUSSION = { mode: "debate", input: { debaters: ["one", "two"], judge: "wise", rounds: 1 } };

/** The arguments of a session whose one task is discussed by these roles. */
function discussed(here: Rig, first: readonly string[] = [], discussion: object = DISCUSSION): string[] {
  const files = {
    "--plan": here.write("plan.json", PLAN),
    "--roles": here.write("roles.json", roles(first)),
    "--config": here.write("config.json", JSON.stringify({ discussion })),
  };
  return ["run", ...Object.entries(files).flat(), "--session", "s", "--no-input", "--reporter", "plain"];
}

/** Cannot log in until there is a file `open` in the workspace. */
const LOCKED = `if [ -e open ]; then exec "$@"; fi; cat >/dev/null; printf '${JSON.stringify({
  session_id: "%s",
  source: "one",
  target: "scheduler",
  payload_type: "error",
  version: "1.0",
  payload: { code: "authentication", message: "Who are you?" },
})}\\n' "$BOSUN_SESSION_ID"`;

/** An envelope, to be filled with a session's id, a type and a payload. */
const LINE =
  '{"session_id":"%s","timestamp":"2026-01-01T00:00:00Z","source":"%s","target":"scheduler","version":"1.0","payload_type":"%s","payload":%s}';

interface Standing {
  readonly state: string;
  readonly children: readonly { readonly session_id: string; readonly state: string }[];
}

async function standing(here: Rig, session_id: string): Promise<Standing> {
  return JSON.parse((await typed(here, ["status", session_id, "--json"])).stdout) as Standing;
}

/** A session whose discussion has begun, and waits for its first debater. */
async function begun(here: Rig, args = discussed(here, ["sh", "-c", PATIENT, "sh"])) {
  const running = here.start(args);
  await until("the discussion", () => running.stdout().includes("STARTED debate"));
  const [, child = ""] = /STARTED debate (\S+)/.exec(running.stdout()) ?? [];
  await until("the first debater", () => existsSync(join(here.home, "logs", child, "000003-turn_request.json")));
  return { running, child };
}

/** The child of a killed session; resumed, it asks whether to repeat its first debater's turn. */
async function inDoubt(here: Rig): Promise<string> {
  const patient = ["sh", "-c", PATIENT, "sh"];
  const args = discussed(here, patient);
  here.write("roles.json", roles(patient).replace('"role_id":"one"', '"role_id":"one","recovery":"ask"'));
  const { running, child } = await begun(here, args);
  running.child.kill("SIGKILL");
  await running.done;
  return child;
}

/** The child of a session whose scheduler died before the child's first record. */
async function childWithoutRecords(here: Rig): Promise<string> {
  const crashed = await here.run(discussed(here), { env: { BOSUN_CRASH_AT: "session_created:2" } });
  const [, child = ""] = /STARTED debate (\S+)/.exec(crashed.stdout) ?? [];
  return child;
}

describe("bosun run with a discussion configured", () => {
  it("debates the proposal before the work, in a session of its own", async () => {
    const here = rig();
    const done = await typed(here, discussed(here));
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(/rename +STARTED debate s\.\d+/);
    expect(done.stdout).toMatch(/rename +s\.\d+ ENDED done/);
    const { children } = await standing(here, "s");
    expect(children).toEqual([expect.objectContaining({ mode: "debate", state: "closed", outcome: "done" })]);
    const [{ session_id } = { session_id: "" }] = children;
    for (const id of ["s", session_id]) {
      expect((await typed(here, ["replay", id, "--verify"])).stdout).toContain("Verified.");
    }
    const request = readFileSync(join(here.home, "logs", session_id, "000001-session_opened.json"), "utf8");
    expect(JSON.parse(request)).toMatchObject({
      payload: {
        parent: { session_id: "s", ticket_id: "rename" },
        input: { topic: expect.stringContaining("data loss") },
      },
    });
    // The list leaves out child sessions.
    expect(JSON.parse((await typed(here, ["status", "--all", "--json"])).stdout)).toHaveLength(1);
  });

  it("lets a meeting discuss it, which writes its report for the manager only", async () => {
    const here = rig();
    const input = { agents: ["one", "two"], pm: "wise", max_rounds: 2 };
    const args = discussed(here, [], { mode: "meeting", input });
    const says = (role_id: string, answer: string) => ({
      role_id,
      type: "participant",
      cli_command: [
        "sh",
        "-c",
        `request=$(cat); ${answer}; printf '${LINE}\\n' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" "$type" "$payload"`,
      ],
    });
    const contribution = `type=report; payload='{"status":"completed","summary":"In two steps."}'`;
    const asks = '{"analysis":"-","next_action":"CALL_AGENT","target_agent":"one","prompt_for_agent":"How?"}';
    const ends = '{"analysis":"-","next_action":"FINISH","final_report":"# In two steps"}';
    const pm = `type=pm_decision; case $request in *'"content"'*) payload='${ends}' ;; *) payload='${asks}' ;; esac`;
    here.write(
      "roles.json",
      JSON.stringify({ roles: [says("one", contribution), says("two", contribution), says("wise", pm)] }),
    );
    const done = await typed(here, args);
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(/rename +STARTED meeting s\.\d+/);
    expect(done.stdout).toMatch(/rename +s\.\d+ ENDED done/);
    const ended = readdirSync(join(here.home, "logs", "s")).filter((name) => name.endsWith("-session_finished.json"));
    const results = ended.map((name) => readFileSync(join(here.home, "logs", "s", name), "utf8"));
    expect(results.filter((text) => text.includes(`"conclusion":"# In two steps"`))).toHaveLength(1);
    expect(existsSync(join(here.workspace, "reports"))).toBe(false);
    expect((await typed(here, ["replay", "s", "--verify"])).code).toBe(0);
  });

  test.each<[string, object, string]>([
    ["a mode that cannot discuss", { mode: "schedule" }, '"schedule"'],
    ["a council of others", { mode: "council", input: { participants: ["one", "eve"] } }, "from outside"],
    [
      "a council led by others",
      { mode: "council", input: { participants: ["one"], facilitator: "eve" } },
      "from outside",
    ],
    [
      "a council that others call",
      { mode: "council", input: { participants: ["one"], creator: "eve" } },
      "from outside",
    ],
    ["no debaters", { mode: "debate" }, '"debaters" is missing'],
    ["no turns at all", { ...DISCUSSION, budget: { turns: 0 } }, "discussion.budget.turns"],
    ["an unknown key", { ...DISCUSSION, rounds: 2 }, '"rounds"'],
  ])("refuses %s before anything is created, and names the place", async (_, discussion, why) => {
    const here = rig();
    const done = await typed(here, discussed(here, [], discussion));
    expect(done.code).toBe(3);
    expect(done.stderr).toContain(why);
    expect(done.stderr).toMatch(/config\.json:1/);
    expect(here.sessions()).toEqual([]);
  });
});

describe("a child session", () => {
  it("is closed by cancelling its parent, without the secrets of its roles", async () => {
    const here = rig();
    const args = discussed(here, ["sh", "-c", PATIENT, "sh"]);
    const secret = '"role_id":"one","env":{"API_TOKEN":"abc"}';
    here.write("roles.json", roles(["sh", "-c", PATIENT, "sh"]).replace('"role_id":"one"', secret));
    const { running, child } = await begun(here, args);
    running.child.kill("SIGKILL");
    await running.done;
    expect((await typed(here, ["resume", "s"])).stderr).toContain("API_TOKEN of the role one");
    const cancelled = await typed(here, ["cancel", "s"]);
    expect([cancelled.code, cancelled.stderr]).toEqual([1, ""]);
    for (const id of ["s", child]) expect(await standing(here, id)).toMatchObject({ state: "closed" });
  });

  it("resumes with its parent, whichever of the two is named", async () => {
    const here = rig();
    const { running, child } = await begun(here);
    running.child.kill("SIGTERM");
    expect((await running.done).code).toBe(143);
    expect((await standing(here, child)).state).toBe("stopped");
    writeFileSync(join(here.workspace, "go"), "");
    const limited = await typed(here, ["resume", child, "--budget-turns", "9"]);
    expect([limited.code, limited.stderr]).toEqual([2, expect.stringContaining("bosun resume s")]);
    const resumed = await typed(here, ["resume", child, "--no-input", "--reporter", "plain"]);
    expect([resumed.code, resumed.stderr]).toEqual([0, ""]);
    expect(resumed.stdout).toContain("s is done");
    expect((await standing(here, child)).state).toBe("closed");
  });

  it("that is held is released by its own id, and continues with its parent", async () => {
    const here = rig();
    const held = await typed(here, discussed(here, ["sh", "-c", LOCKED, "sh"]));
    expect(held.code).toBe(4);
    const [, child = ""] = /STARTED debate (\S+)/.exec(held.stdout) ?? [];
    expect(held.stdout).toContain(`To decide:\n  ? ${child}: the role "one" is held (authentication): log in with`);
    expect(held.stdout).toContain(`next    bosun resume ${child} --release one\n        bosun resume s\n`);
    const ends = (await typed(here, ["log", "s"])).stdout;
    expect(ends).toContain("a child session waits for a person");
    const inbox = (await typed(here, ["inbox"])).stdout;
    expect(inbox).toContain('  ? the role "one" is held (authentication): log in with its program.\n');
    expect(inbox).toContain(`\n      bosun resume ${child} --release one\n`);
    const entries = JSON.parse((await typed(here, ["inbox", "--json"])).stdout) as unknown;
    expect(entries).toMatchObject([{ session_id: child, kind: "hold", role_id: "one", reason: "authentication" }]);
    const release = ["resume", child, "--release", "one", "--no-input", "--reporter", "plain"];
    renameSync(here.workspace, `${here.workspace}-away`);
    const early = await typed(here, release);
    expect([early.code, early.stderr]).toEqual([3, expect.stringContaining(here.workspace)]);
    renameSync(`${here.workspace}-away`, here.workspace);
    const reader = value(openReader(here.home));
    expect(reader.inbox.pending(child)).toEqual([]);
    reader.close();
    writeFileSync(join(here.workspace, "open"), "");
    const released = await typed(here, release);
    expect([released.code, released.stderr]).toEqual([0, ""]);
    expect(released.stdout).toContain("s is done");
  });

  test.each<[string, (child: string) => string[], RegExp]>([
    ["is released", (child) => ["resume", child, "--release", "one"], /ENDED done/],
    ["is told something", (child) => ["tell", child, "Try again."], /ENDED done/],
    ["is cancelled", (child) => ["cancel", child], /ENDED cancelled/],
  ])("that waits for a person and %s is continued by its running parent", async (_, words, end) => {
    const here = endAfterwards(rig());
    const args = discussed(here, ["sh", "-c", LOCKED, "sh"]);
    here.write("plan.json", PLAN_OF_TWO);
    const running = here.start(args);
    await until("the wait", () => running.stdout().includes("WAITS FOR A PERSON"));
    await until("the work aside", () => existsSync(join(here.workspace, "begun")));
    const [, child = ""] = /STARTED debate (\S+)/.exec(running.stdout()) ?? [];
    // The wait is shown while the child still stops for it.
    const reader = value(openReader(here.home));
    await until("the child to stop", () => reader.holder(child) === undefined);
    reader.close();
    const waited = await typed(here, ["wait", "s", "--until", "input"]);
    const next = `  bosun resume ${child} --release one\n  bosun attach s\n`;
    expect(waited).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining(next) as string });
    writeFileSync(join(here.workspace, "open"), "");
    const unheeded = await typed(here, ["resume", child, "--unanswered", "default"]);
    expect([unheeded.code, unheeded.stderr]).toEqual([2, expect.stringContaining("--unanswered")]);
    const said = await typed(here, words(child));
    expect([said.code, said.stderr]).toEqual([0, ""]);
    await until("the end of the discussion", () => end.test(running.stdout()));
    writeFileSync(join(here.workspace, "go"), "");
    expect((await running.done).code).toBe(0);
    for (const id of ["s", child])
      expect((await typed(here, ["replay", id, "--verify"])).stdout).toContain("Verified.");
  });

  it("that is held is in its parent's JSON, also if it is only seen at the end", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const here = rig();
    const told = await typed(here, [...discussed(here, ["sh", "-c", LOCKED, "sh"]).slice(0, -1), "json"]);
    expect(told.code).toBe(4);
    const events = jsonLines<{ type: string; session_id?: string }>(told.stdout);
    const [child] = (await standing(here, "s")).children;
    expect(events.filter(({ type }) => type === "hold")).toMatchObject([
      { session_id: child?.session_id, role_id: "one", reason: "authentication" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "result", session_id: "s" });
  });

  it("that waits for a person is shown at its parent's terminal, with a command", async () => {
    const here = endAfterwards(rig());
    const args = discussed(here, ["sh", "-c", LOCKED, "sh"]).filter((word) => word !== "--no-input");
    const pane = open(here, [...args, "--foreground", "--yes", "--no-confirm"]);
    await pane.shows('? the role "one" is held (authentication): log in with its program.');
    const [, child = ""] = /(\S+) WAITS FOR A PERSON/.exec(pane.screen()) ?? [];
    expect(pane.screen()).toContain(`bosun resume ${child} --release one`);
    writeFileSync(join(here.workspace, "open"), "");
    expect((await typed(here, ["resume", child, "--release", "one"])).stderr).toBe("");
    expect(await pane.exit()).toBe(0);
  });

  it("that asks is shown by attach to its parent, with a command that answers it", async () => {
    const here = endAfterwards(rig());
    const child = await inDoubt(here);
    expect((await here.run(["resume", "s", "--detach"])).code).toBe(0);
    const watching = here.start(["attach", "s"]);
    await until("the child's question", () => watching.stdout().includes(`${child} WAITS FOR A PERSON`));
    await until("its command", () => watching.stdout().includes(".again repeat\n"));
    const [, ...answer] = /bosun (answer) (\S+) (\S+) (repeat)\n/.exec(watching.stdout()) ?? [];
    expect(answer[1]).toBe(child);
    writeFileSync(join(here.workspace, "go"), "");
    expect((await typed(here, answer)).code).toBe(0);
    const watched = await watching.done;
    expect([watched.code, watched.stderr]).toEqual([0, ""]);
    expect(watched.stdout.match(/WAITS FOR A PERSON/g)).toHaveLength(1);
  });

  it("that is answered is no longer shown as waiting by its parent", async () => {
    const here = rig();
    const child = await inDoubt(here);
    const left = await typed(here, ["resume", "s", "--no-input"]);
    expect([left.code, left.stdout]).toEqual([
      4,
      expect.stringContaining(`next    bosun answer ${child} t1.again repeat`),
    ]);
    expect((await typed(here, ["answer", child, "t1.again", "repeat"])).code).toBe(0);
    const attached = await typed(here, ["attach", "s"]);
    expect([attached.code, attached.stdout]).toEqual([4, expect.stringMatching(/\nnext {4}bosun resume s\n$/)]);
    expect(attached.stdout).not.toMatch(/t1\.again|waits for a person/);
    writeFileSync(join(here.workspace, "go"), "");
    expect((await typed(here, ["resume", "s", "--no-input"])).code).toBe(0);
  });

  it("that crashed before its first record begins with its parent", async () => {
    const here = rig();
    const child = await childWithoutRecords(here);
    expect((await standing(here, "s")).children).toEqual([]);
    expect((await typed(here, ["status", child])).stdout).toContain(`next    bosun resume ${child}\n`);
    expect((await typed(here, ["resume", child])).code).toBe(0);
    expect((await standing(here, "s")).children).toMatchObject([{ session_id: child, state: "closed" }]);
  });

  it("that crashed before its first record is unknown once its parent is closed", async () => {
    const here = rig();
    const child = await childWithoutRecords(here);
    expect((await typed(here, ["cancel", "s"])).code).toBe(1);
    for (const args of [["status"], ["resume"], ["log"], ["attach"], ["tell", "x"]]) {
      const [verb = "", ...words] = args;
      const looked = await typed(here, [verb, child, ...words]);
      expect([looked.code, looked.stderr]).toEqual([2, expect.stringMatching(`${child}[^]*bosun status s\\b`)]);
    }
    expect((await typed(here, ["status", "s"])).stdout).not.toContain(child);
    expect((await standing(here, "s")).children).toEqual([]);
  });

  it("is in its parent's status, and takes messages", async () => {
    const here = rig();
    const { running, child } = await begun(here);
    expect((await typed(here, ["status", "s"])).stdout).toContain(`The debate ${child} is debating`);
    const told = await typed(here, ["tell", child, "Think of the night shift."]);
    expect([told.code, told.stderr]).toEqual([0, ""]);
    const cancelled = await typed(here, ["cancel", child]);
    expect(cancelled.code).toBe(0);
    expect((await running.done).code).toBe(0);
    expect(running.stdout()).toMatch(/ENDED cancelled/);
  });
});
