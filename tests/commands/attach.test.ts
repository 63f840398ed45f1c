import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { jsonLines, type Rig, rig, type Running, tinyPlan, until, withoutRetries } from "./rig.ts";
import { endAfterwards, everyProcessEnds } from "./strays.ts";
import { open } from "./terminal.ts";
import { ASK, freeze, letGo, sessionCloses, statusOf, taskRuns, WAIT, WAITING_TASK } from "./waiting-task.ts";

const GATED = JSON.stringify({ plan_approval: "ask" });

/** A session that is at work without a terminal. */
async function detached(here: Rig, plan: string, more: readonly string[] = []): Promise<string> {
  const left = await here.run(["run", "--plan", here.write("plan.json", plan), "--detach", ...more]);
  expect(left.stderr).toBe("");
  return onlySession(here);
}

async function atWork(here: Rig): Promise<string> {
  await detached(endAfterwards(here), WAIT);
  return (await taskRuns(here)).session_id;
}

const shows = (viewer: Running, text: string) => until(`"${text}"`, () => viewer.stdout().includes(text));

const stateOf = async (here: Rig, session_id: string) => (await statusOf(here, session_id)).state;

describe("bosun attach", () => {
  it("shows a running session to its end, as text or as the whole record in JSON", async () => {
    const here = rig();
    const session_id = await atWork(here);
    const viewer = here.start(["attach"]);
    const program = here.start(["attach", "--json"]);
    await shows(viewer, "in_progress");
    await shows(program, '"turn_request"');
    letGo(here);
    const left = await viewer.done;
    expect(left.stderr).toBe("");
    expect(left.code).toBe(0);
    expect(left.stdout).toContain(`Session ${session_id}: Write some files.`);
    expect(left.stdout).toContain(`Ctrl-C detaches, and the session continues to run: bosun attach ${session_id}`);
    for (const told of ["PLAN 1 task", "awaiting_review", "CLOSED done", `${session_id} is done: 1 of 1 ticket done`])
      expect(left.stdout).toContain(told);
    const events = jsonLines<{ type: string; sequence?: number }>((await program.done).stdout);
    expect(events[0]).toMatchObject({ type: "hello", session_id });
    expect(events.at(-1)).toMatchObject({ type: "result", exit_code: 0, outcome: "done" });
    const shown = events.filter(({ type }) => type === "record");
    expect(shown.map(({ sequence }) => sequence)).toEqual(shown.map((_, index) => index + 1));
    const stored = (await typed(here, ["replay", session_id, "--json"])).stdout.trimEnd().split("\n");
    expect(shown).toHaveLength(stored.length);
    expect(Object.keys(shown[0] ?? {})).not.toContain("integrity");
  });

  it("shows turns and what agents print, as the owner does", async () => {
    const here = rig();
    const shell = `${WAITING_TASK.shell}; seq 1 50; echo '\u001b[31mred'`;
    const plan = here.write(
      "plan.json",
      tinyPlan([
        { ...WAITING_TASK, shell },
        { task_id: "b", shell: "echo b", dependencies: ["wait"] },
      ]),
    );
    const owner = here.start(["run", "--plan", plan]);
    await taskRuns(here);
    const viewer = here.start(["attach"]);
    await shows(viewer, "in_progress");
    letGo(here);
    const [shown, owned] = [await viewer.done, await owner.done];
    const session_id = await onlySession(here);
    for (const { stdout } of [shown, owned]) {
      const turns = stdout
        .split("\n")
        .flatMap((line) => /shell (?:started|\||ended).*/.exec(line)?.[0].replace(/\d+m?s$/, "…") ?? []);
      expect(turns.filter((line) => line !== "shell ended after …")).toEqual([
        ...(stdout === owned.stdout ? ["shell started"] : []),
        "shell | 1",
        "shell | 2",
        "shell | 3",
        `shell | … 48 more lines: bosun log ${session_id} wait`,
        "shell started",
        "shell | b",
      ]);
    }
  });

  it("exits with 143 when the scheduler gets SIGTERM", async () => {
    const here = rig();
    const session_id = await atWork(here);
    const { owner } = await taskRuns(here);
    const viewer = here.start(["attach"]);
    await shows(viewer, "in_progress");
    process.kill(owner, "SIGTERM");
    expect((await viewer.done).code).toBe(143);
    const [stopped] = (await typed(here, ["replay", session_id, "--json"])).stdout.trimEnd().split("\n").slice(-1);
    expect(JSON.parse(stopped ?? "")).toMatchObject({
      payload_type: "session_stopped",
      payload: { signal: "SIGTERM" },
    });
  });

  it("leaves old records out and says where they are", async () => {
    const here = endAfterwards(rig());
    const early = Array.from({ length: 12 }, (_, index) => ({ task_id: `early-${index}`, shell: "true" }));
    const wait = { ...WAITING_TASK, dependencies: early.map(({ task_id }) => task_id) };
    const session_id = await detached(here, tinyPlan([...early, wait]));
    await taskRuns(here);
    const viewer = here.start(["attach"]);
    await shows(viewer, "in_progress");
    expect(viewer.stdout()).toMatch(new RegExp(`^\\d+ earlier records: bosun log ${session_id}$`, "m"));
    expect(viewer.stdout()).toMatch(/ running: wait \(shell, \d+m?s\); 12 done, 1 in_progress; \d+ turns/);
    expect(viewer.stdout()).not.toContain("PLAN 13 tasks");
    letGo(here);
    expect((await viewer.done).code).toBe(0);
  });

  it("asks questions and for approval of the plan", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, ASK, ["--config", here.write("config.json", GATED)]);
    const pane = open(here, ["attach", session_id]);
    await pane.asks("Question 1 of 1");
    pane.type("2", "Enter");
    await pane.shows("A plan of 1 task");
    await pane.asks("1  Approve");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Bob\n");
    const answers = await typed(here, ["replay", session_id, "--type", "clarification_response", "--json"]);
    expect(JSON.parse(answers.stdout)).toMatchObject({ source: "user", record: { actor: { via: "cli" } } });
  });

  it("asks the next thing while an answer is late, and that one not again", async () => {
    const here = endAfterwards(rig());
    const tasks = ["one", "two"].map((task_id) => ({ task_id, shell: "true", more: { review: "user" } }));
    const session_id = await detached(here, tinyPlan(tasks));
    const asked = async () =>
      (await typedJson<{ pending_decisions: unknown[] }>(here, ["status", session_id, "--json"])).pending_decisions;
    await until("both reviews to be asked for", async () => (await asked()).length === 2);
    const { owner } = await statusOf(here, session_id);
    await freeze(here, owner?.pid ?? 0);
    const pane = open(here, ["attach", session_id]);
    await pane.asks("Review of one");
    pane.type("1", "Enter");
    await pane.asks("Review of two");
    expect(pane.screen().split("Review of one")).toHaveLength(2);
    process.kill(owner?.pid ?? 0, "SIGCONT");
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("shows why an answer was refused, and asks again", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, tinyPlan([{ task_id: "write", shell: "true" }]), [
      "--config",
      here.write("config.json", GATED),
    ]);
    const editor = here.write(
      "editor.sh",
      'sed -i "s/task_id: write/task_id: write\\n    assigned_to: { role_id: nobody }/" "$1"\n',
    );
    const pane = open(here, ["attach", session_id], { EDITOR: `sh ${editor}` });
    await pane.asks("1  Approve");
    pane.type("3", "Enter");
    await pane.shows("nobody");
    await pane.asks("1  Approve", 2);
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("lets several viewers watch, and the first answer counts", async () => {
    const here = rig();
    const owner = open(here, ["run", "--plan", here.write("plan.json", ASK)]);
    await owner.shows("Question 1 of 1");
    const second = open(here, ["attach"]);
    await second.asks("Question 1 of 1");
    second.type("Eve", "Enter");
    expect(await second.exit()).toBe(0);
    expect(await owner.exit()).toBe(0);
    for (const pane of [owner, second]) {
      expect(pane.screen()).toContain('Whose name? Eve"');
      expect(pane.screen()).toContain("1 of 1 ticket done");
    }
  });

  it("detaches on Ctrl-C with 130 and says how to come back", async () => {
    const here = rig();
    const session_id = await atWork(here);
    const pane = open(here, ["attach"]);
    await pane.shows("in_progress");
    pane.type("C-c");
    expect(await pane.exit()).toBe(130);
    for (const told of [`bosun attach ${session_id}`, `bosun cancel ${session_id}`])
      expect(pane.screen()).toContain(told);
    expect(await stateOf(here, session_id)).toBe("running");
    letGo(here);
    await sessionCloses(here, session_id);
    pane.hangUp();
    await everyProcessEnds(here);
  });

  it("leaves a question open on Ctrl-D with 4 and names the command", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, ASK);
    const pane = open(here, ["attach"]);
    await pane.asks("Question 1 of 1");
    pane.type("C-d");
    expect(await pane.exit()).toBe(4);
    expect(pane.screen()).toContain(`bosun answer ${session_id}`);
    expect((await typed(here, ["answer", "Eve"])).stdout).not.toContain("Kept");
    await sessionCloses(here, session_id);
  });

  it("asks which of several running sessions is meant, and is refused where nobody can be asked", async () => {
    const here = rig();
    const plan = here.write("plan.json", WAIT);
    const other = rig();
    const first = here.start(["run", "--plan", plan, "--session", "s-one"]);
    const second = other.start(["run", "--plan", plan, "--session", "s-two", "--home", here.home]);
    for (const { workspace } of [here, other])
      await until("both tasks to run", () => existsSync(join(workspace, "pid")));
    const refused = await here.run(["attach"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/s-one.*s-two|s-two.*s-one/)]);
    const pane = open(here, ["attach"]);
    await pane.asks("Which session?");
    const number = /(\d) {2}s-two/.exec(pane.screen())?.[1] ?? "";
    pane.type(number, "Enter");
    await pane.shows("s-two");
    letGo(other);
    expect(await pane.exit()).toBe(0);
    await pane.shows("s-two is done");
    letGo(here);
    expect([(await first.done).code, (await second.done).code]).toEqual([0, 0]);
  });

  it("shows how a closed session ended and exits with its code", async () => {
    const here = rig();
    for (const [session, shell, code] of [
      ["won", "true", 0],
      ["lost", "false", 1],
    ] as const) {
      const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell }]));
      await typed(here, ["run", "--plan", plan, "--session", session, ...withoutRetries(here)]);
      const over = await typed(here, ["attach", session]);
      expect([over.code, over.stdout]).toEqual([code, expect.stringMatching(new RegExp(`^${session} is `, "m"))]);
      expect(over.stdout).not.toContain("earlier record");
    }
  });

  it("shows what a stopped session waits for: 4, or 5 at a limit", async () => {
    const here = rig();
    const plan = here.write("plan.json", ASK);
    expect((await typed(here, ["run", "--plan", plan, "--session", "asks"])).code).toBe(4);
    const waits = await typed(here, ["attach", "asks"]);
    expect(waits.code).toBe(4);
    expect(waits.stderr).toContain("asks is not running");
    for (const told of ["Whose name?", "bosun answer asks c1.name Ada", "bosun resume asks"])
      expect(waits.stdout).toContain(told);
    expect((await typed(here, ["answer", "asks", "name", "Ada"])).code).toBe(0);
    const answered = await typed(here, ["attach", "asks"]);
    expect(answered.code).toBe(4);
    expect(answered.stdout).toContain("next    bosun resume asks\n");
    expect(answered.stdout).not.toContain("Whose name?");
    const limited = ["run", "--plan", plan, "--session", "limited", "--answer", "name=Eve", "--budget-turns", "1"];
    expect((await typed(here, limited)).code).toBe(5);
    const limit = await typed(here, ["attach", "limited"]);
    expect(limit.code).toBe(5);
    expect(limit.stdout).toContain("bosun resume limited --budget-turns 2");
    expect((await typed(here, ["attach", "lost"])).code).toBe(2);
  });
});
