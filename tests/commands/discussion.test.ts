import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { openReader } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { typed } from "./in-process.ts";
import { endAfterwards } from "./strays.ts";
import { open } from "./terminal.ts";
import { rig, type Rig, ROOT, until } from "./rig.ts";

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

/** The same, with work beside the discussion that takes until there is a file `go` in the workspace. */
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
function discussed(place: Rig, first: readonly string[] = [], discussion: object = DISCUSSION): string[] {
  const files = {
    "--plan": place.write("plan.json", PLAN),
    "--roles": place.write("roles.json", roles(first)),
    "--config": place.write("config.json", JSON.stringify({ discussion })),
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

interface Standing {
  readonly state: string;
  readonly children: readonly { readonly session_id: string; readonly state: string }[];
}

async function standing(place: Rig, session_id: string): Promise<Standing> {
  return JSON.parse((await typed(place, ["status", session_id, "--json"])).stdout) as Standing;
}

/** A session whose discussion has begun, and waits for its first debater. */
async function begun(place: Rig, args = discussed(place, ["sh", "-c", PATIENT, "sh"])) {
  const running = place.start(args);
  await until("the discussion", () => running.stdout().includes("STARTED debate"));
  const [, child = ""] = /STARTED debate (\S+)/.exec(running.stdout()) ?? [];
  await until("the first debater", () => existsSync(join(place.home, "logs", child, "000003-turn_request.json")));
  return { running, child };
}

/** The child of a killed session; resumed, it asks whether to repeat its first debater's turn. */
async function inDoubt(place: Rig): Promise<string> {
  const patient = ["sh", "-c", PATIENT, "sh"];
  const args = discussed(place, patient);
  place.write("roles.json", roles(patient).replace('"role_id":"one"', '"role_id":"one","recovery":"ask"'));
  const { running, child } = await begun(place, args);
  running.child.kill("SIGKILL");
  await running.done;
  return child;
}

/** The child of a session whose scheduler died before the child's first record. */
async function childWithoutRecords(place: Rig): Promise<string> {
  const crashed = await place.run(discussed(place), { env: { BOSUN_CRASH_AT: "session_created:2" } });
  const [, child = ""] = /STARTED debate (\S+)/.exec(crashed.stdout) ?? [];
  return child;
}

describe("bosun run with a discussion configured", () => {
  it("debates the proposal before the work, in a session of its own", async () => {
    const place = rig();
    const done = await typed(place, discussed(place));
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toMatch(/rename +STARTED debate s\.\d+/);
    expect(done.stdout).toMatch(/rename +s\.\d+ ENDED done/);
    const { children } = await standing(place, "s");
    expect(children).toEqual([expect.objectContaining({ mode: "debate", state: "closed", outcome: "done" })]);
    const [{ session_id } = { session_id: "" }] = children;
    for (const id of ["s", session_id]) {
      expect((await typed(place, ["replay", id, "--verify"])).stdout).toContain("Verified.");
    }
    const request = readFileSync(join(place.home, "logs", session_id, "000001-session_opened.json"), "utf8");
    expect(JSON.parse(request)).toMatchObject({
      payload: {
        parent: { session_id: "s", ticket_id: "rename" },
        input: { topic: expect.stringContaining("data loss") },
      },
    });
    // The list leaves out child sessions.
    expect(JSON.parse((await typed(place, ["status", "--all", "--json"])).stdout)).toHaveLength(1);
  });

  test.each<[string, object, string]>([
    ["a mode that cannot discuss", { mode: "schedule" }, '"schedule"'],
    ["an unknown judge", { ...DISCUSSION, input: { debaters: ["one", "two"], judge: "x" } }, '"x"'],
    ["no debaters", { mode: "debate" }, "2 to 100"],
    ["a topic of its own", { ...DISCUSSION, input: { ...DISCUSSION.input, topic: "t" } }, "discussion.input.topic"],
    ["no turns at all", { ...DISCUSSION, budget: { turns: 0 } }, "discussion.budget.turns"],
    ["an unknown key", { ...DISCUSSION, rounds: 2 }, '"rounds"'],
  ])("refuses %s before anything is created, and names the place", async (_, discussion, why) => {
    const place = rig();
    const done = await typed(place, discussed(place, [], discussion));
    expect(done.code).toBe(3);
    expect(done.stderr).toContain(why);
    expect(done.stderr).toMatch(/config\.json:1/);
    expect(place.sessions()).toEqual([]);
  });
});

describe("a child session", () => {
  it("is closed by cancelling its parent, without the secrets of its roles", async () => {
    const place = rig();
    const args = discussed(place, ["sh", "-c", PATIENT, "sh"]);
    const secret = '"role_id":"one","env":{"API_TOKEN":"abc"}';
    place.write("roles.json", roles(["sh", "-c", PATIENT, "sh"]).replace('"role_id":"one"', secret));
    const { running, child } = await begun(place, args);
    running.child.kill("SIGKILL");
    await running.done;
    expect((await typed(place, ["resume", "s"])).stderr).toContain("API_TOKEN of the role one");
    const cancelled = await typed(place, ["cancel", "s"]);
    expect([cancelled.code, cancelled.stderr]).toEqual([1, ""]);
    for (const id of ["s", child]) expect(await standing(place, id)).toMatchObject({ state: "closed" });
  });

  it("resumes with its parent, whichever of the two is named", async () => {
    const place = rig();
    const { running, child } = await begun(place);
    running.child.kill("SIGTERM");
    expect((await running.done).code).toBe(143);
    expect((await standing(place, child)).state).toBe("stopped");
    writeFileSync(join(place.workspace, "go"), "");
    const limited = await typed(place, ["resume", child, "--budget-turns", "9"]);
    expect([limited.code, limited.stderr]).toEqual([2, expect.stringContaining("bosun resume s")]);
    const resumed = await typed(place, ["resume", child, "--no-input", "--reporter", "plain"]);
    expect([resumed.code, resumed.stderr]).toEqual([0, ""]);
    expect(resumed.stdout).toContain("s is done");
    expect((await standing(place, child)).state).toBe("closed");
  });

  it("that is held is released by its own id, and continues with its parent", async () => {
    const place = rig();
    const held = await typed(place, discussed(place, ["sh", "-c", LOCKED, "sh"]));
    expect(held.code).toBe(4);
    const [, child = ""] = /STARTED debate (\S+)/.exec(held.stdout) ?? [];
    expect(held.stdout).toContain(`To decide:\n  ? ${child}: the role "one" is held (authentication): log in with`);
    expect(held.stdout).toContain(`next    bosun resume ${child} --release one\n        bosun resume s\n`);
    const ends = (await typed(place, ["log", "s"])).stdout;
    expect(ends).toContain("a child session waits for a person");
    const inbox = (await typed(place, ["inbox"])).stdout;
    expect(inbox).toContain('  ? the role "one" is held (authentication): log in with its program.\n');
    expect(inbox).toContain(`\n      bosun resume ${child} --release one\n`);
    const entries = JSON.parse((await typed(place, ["inbox", "--json"])).stdout) as unknown;
    expect(entries).toMatchObject([{ session_id: child, kind: "hold", role_id: "one", reason: "authentication" }]);
    const release = ["resume", child, "--release", "one", "--no-input", "--reporter", "plain"];
    renameSync(place.workspace, `${place.workspace}-away`);
    const early = await typed(place, release);
    expect([early.code, early.stderr]).toEqual([3, expect.stringContaining(place.workspace)]);
    renameSync(`${place.workspace}-away`, place.workspace);
    const reader = value(openReader(place.home));
    expect(reader.inbox.pending(child)).toEqual([]);
    reader.close();
    writeFileSync(join(place.workspace, "open"), "");
    const released = await typed(place, release);
    expect([released.code, released.stderr]).toEqual([0, ""]);
    expect(released.stdout).toContain("s is done");
  });

  test.each<[string, (child: string) => string[], RegExp]>([
    ["is released", (child) => ["resume", child, "--release", "one"], /ENDED done/],
    ["is told something", (child) => ["tell", child, "Try again."], /ENDED done/],
    ["is cancelled", (child) => ["cancel", child], /ENDED cancelled/],
  ])("that waits for a person and %s is continued by its running parent", async (_, words, end) => {
    const place = endAfterwards(rig());
    const args = discussed(place, ["sh", "-c", LOCKED, "sh"]);
    place.write("plan.json", PLAN_OF_TWO);
    const running = place.start(args);
    await until("the wait", () => running.stdout().includes("WAITS FOR A PERSON"));
    await until("the work aside", () => existsSync(join(place.workspace, "begun")));
    const [, child = ""] = /STARTED debate (\S+)/.exec(running.stdout()) ?? [];
    writeFileSync(join(place.workspace, "open"), "");
    const unheeded = await typed(place, ["resume", child, "--unanswered", "default"]);
    expect([unheeded.code, unheeded.stderr]).toEqual([2, expect.stringContaining("--unanswered")]);
    const said = await typed(place, words(child));
    expect([said.code, said.stderr]).toEqual([0, ""]);
    await until("the end of the discussion", () => end.test(running.stdout()));
    writeFileSync(join(place.workspace, "go"), "");
    expect((await running.done).code).toBe(0);
    for (const id of ["s", child])
      expect((await typed(place, ["replay", id, "--verify"])).stdout).toContain("Verified.");
  });

  it("that is held is in its parent's JSON, also if it is only seen at the end", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const place = rig();
    const told = await typed(place, [...discussed(place, ["sh", "-c", LOCKED, "sh"]).slice(0, -1), "json"]);
    expect(told.code).toBe(4);
    const lines = told.stdout.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as { type: string; session_id?: string });
    const [child] = (await standing(place, "s")).children;
    expect(events.filter(({ type }) => type === "hold")).toMatchObject([
      { session_id: child?.session_id, role_id: "one", reason: "authentication" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "result", session_id: "s" });
  });

  it("that waits for a person is shown at its parent's terminal, with a command", async () => {
    const place = endAfterwards(rig());
    const args = discussed(place, ["sh", "-c", LOCKED, "sh"]).filter((word) => word !== "--no-input");
    const pane = open(place, [...args, "--foreground"]);
    await pane.shows('? the role "one" is held (authentication): log in with its program.');
    const [, child = ""] = /(\S+) WAITS FOR A PERSON/.exec(pane.screen()) ?? [];
    expect(pane.screen()).toContain(`bosun resume ${child} --release one`);
    writeFileSync(join(place.workspace, "open"), "");
    expect((await typed(place, ["resume", child, "--release", "one"])).stderr).toBe("");
    expect(await pane.exit()).toBe(0);
  });

  it("that asks is shown by attach to its parent, with a command that answers it", async () => {
    const place = endAfterwards(rig());
    const child = await inDoubt(place);
    expect((await place.run(["resume", "s", "--detach"])).code).toBe(0);
    const watching = place.start(["attach", "s"]);
    await until("the child's question", () => watching.stdout().includes(`${child} WAITS FOR A PERSON`));
    await until("its command", () => watching.stdout().includes(".again repeat\n"));
    const [, ...answer] = /bosun (answer) (\S+) (\S+) (repeat)\n/.exec(watching.stdout()) ?? [];
    expect(answer[1]).toBe(child);
    writeFileSync(join(place.workspace, "go"), "");
    expect((await typed(place, answer)).code).toBe(0);
    const watched = await watching.done;
    expect([watched.code, watched.stderr]).toEqual([0, ""]);
    expect(watched.stdout.match(/WAITS FOR A PERSON/g)).toHaveLength(1);
  });

  it("that is answered is no longer shown as waiting by its parent", async () => {
    const place = rig();
    const child = await inDoubt(place);
    const left = await typed(place, ["resume", "s", "--no-input"]);
    expect([left.code, left.stdout]).toEqual([
      4,
      expect.stringContaining(`next    bosun answer ${child} t1.again repeat`),
    ]);
    expect((await typed(place, ["answer", child, "t1.again", "repeat"])).code).toBe(0);
    const attached = await typed(place, ["attach", "s"]);
    expect([attached.code, attached.stdout]).toEqual([4, expect.stringMatching(/\nnext {4}bosun resume s\n$/)]);
    expect(attached.stdout).not.toMatch(/t1\.again|waits for a person/);
    writeFileSync(join(place.workspace, "go"), "");
    expect((await typed(place, ["resume", "s", "--no-input"])).code).toBe(0);
  });

  it("that crashed before its first record begins with its parent", async () => {
    const place = rig();
    const child = await childWithoutRecords(place);
    expect((await standing(place, "s")).children).toEqual([]);
    expect((await typed(place, ["status", child])).stdout).toContain(`next    bosun resume ${child}\n`);
    expect((await typed(place, ["resume", child])).code).toBe(0);
    expect((await standing(place, "s")).children).toMatchObject([{ session_id: child, state: "closed" }]);
  });

  it("that crashed before its first record is unknown once its parent is closed", async () => {
    const place = rig();
    const child = await childWithoutRecords(place);
    expect((await typed(place, ["cancel", "s"])).code).toBe(1);
    for (const args of [["status"], ["resume"], ["log"], ["attach"], ["tell", "x"]]) {
      const [verb = "", ...words] = args;
      const looked = await typed(place, [verb, child, ...words]);
      expect([looked.code, looked.stderr]).toEqual([2, expect.stringMatching(`${child}[^]*bosun status s\\b`)]);
    }
    expect((await typed(place, ["status", "s"])).stdout).not.toContain(child);
    expect((await standing(place, "s")).children).toEqual([]);
  });

  it("is in its parent's status, and takes messages", async () => {
    const place = rig();
    const { running, child } = await begun(place);
    expect((await typed(place, ["status", "s"])).stdout).toContain(`The debate ${child} is debating`);
    const told = await typed(place, ["tell", child, "Think of the night shift."]);
    expect([told.code, told.stderr]).toEqual([0, ""]);
    const cancelled = await typed(place, ["cancel", child]);
    expect(cancelled.code).toBe(0);
    expect((await running.done).code).toBe(0);
    expect(running.stdout()).toMatch(/ENDED cancelled/);
  });
});
