import { describe, expect, it } from "vitest";
import { onlySession, typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until, withoutRetries } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { ASK, letGo, sessionCloses, statusOf, taskRuns, WAIT, WAITING_TASK } from "./waiting-task.ts";

/** A session that runs in its own process. */
async function detached(here: Rig, plan: string, more: readonly string[] = []): Promise<string> {
  const left = await here.run(["run", "--plan", here.write("plan.json", plan), "--detach", ...more]);
  expect(left.stderr).toBe("");
  return onlySession(here);
}

interface Result {
  readonly type: string;
  readonly exit_code: number;
  readonly next?: readonly string[];
}

describe("bosun wait", () => {
  it("prints nothing until the session is done, and exits with 0", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, WAIT);
    await taskRuns(here);
    const waits = here.start(["wait", session_id]);
    const program = here.start(["wait", "--json"]);
    // Both find the session with a scheduler, because it does not end before the task is released.
    expect((await typed(here, ["wait", session_id, "--timeout", "250ms"])).code).toBe(124);
    letGo(here);
    expect(await waits.done).toMatchObject({ code: 0, stdout: "", stderr: "" });
    const { code, stdout, stderr } = await program.done;
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ type: "result", session_id, exit_code: 0, outcome: "done" });
  });

  it("exits with the code of a session that is closed, or is stopped and needs a person", async () => {
    const here = rig();
    for (const [session, plan, code] of [
      ["won", tinyPlan([{ task_id: "write", shell: "true" }]), 0],
      ["lost", tinyPlan([{ task_id: "write", shell: "false" }]), 1],
      ["asks", ASK, 4],
    ] as const) {
      const run = ["run", "--plan", here.write("plan.json", plan), "--session", session, ...withoutRetries(here)];
      expect((await typed(here, run)).code).toBe(code);
      const over = await typed(here, ["wait", session]);
      expect([over.code, over.stdout]).toEqual([code, ""]);
      const next = { won: "", lost: "bosun retry lost write", asks: "bosun answer asks c1.name Ada" }[session];
      expect(over.stderr).toContain(next);
    }
    expect((await typed(here, ["wait", "won"])).stderr).toBe("");
  });

  it("exits with 124 on timeout, and the session continues", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, WAIT);
    await taskRuns(here);
    const late = await typed(here, ["wait", "--timeout", "1ms"]);
    expect([late.code, late.stdout]).toEqual([124, ""]);
    expect(late.stderr).toContain(`bosun attach ${session_id}`);
    const program = await typed(here, ["wait", "--timeout", "1ms", "--json"]);
    expect(JSON.parse(program.stdout)).toMatchObject({ type: "error", code: "timeout", exit_code: 124 });
    expect((await statusOf(here, session_id)).state).toBe("running");
    letGo(here);
    await sessionCloses(here, session_id);
  });

  it("exits with 4 as soon as a person is needed if asked to, and goes on otherwise", async () => {
    const here = endAfterwards(rig());
    const waiting = { ...WAITING_TASK, more: { review: "user" } };
    const session_id = await detached(
      here,
      tinyPlan([waiting, { task_id: "asks", shell: "true", more: { review: "user" } }]),
    );
    await taskRuns(here);
    const needed = await here.run(["wait", "--until", "input"]);
    expect([needed.code, needed.stdout]).toEqual([4, ""]);
    for (const command of [`bosun review ${session_id} asks --approve`, `bosun attach ${session_id}`])
      expect(needed.stderr).toContain(command);
    expect(needed.stderr).not.toContain("bosun resume");
    const program = await typed(here, ["wait", "--until", "input", "--json"]);
    expect(JSON.parse(program.stdout)).toMatchObject({
      exit_code: 4,
      waiting: [{ kind: "review", ticket_id: "asks" }],
    });
    expect((await typed(here, ["wait", "--timeout", "1ms"])).code).toBe(124);
  });

  it("does not exit for a question that was answered beforehand", async () => {
    const here = endAfterwards(rig());
    const plan = { ...JSON.parse(ASK), tasks: [...JSON.parse(WAIT).tasks, ...JSON.parse(ASK).tasks] };
    const session_id = await detached(here, JSON.stringify(plan), ["--answer", "name=Eve"]);
    const waits = here.start(["wait", session_id, "--until", "input"]);
    await taskRuns(here);
    letGo(here);
    expect(await waits.done).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  it("exits with 70 if the scheduler died, and names the command that continues the session", async () => {
    const here = endAfterwards(rig());
    const session_id = await detached(here, WAIT);
    const { owner } = await taskRuns(here);
    const waits = here.start(["wait"]);
    expect((await typed(here, ["wait", "--timeout", "250ms"])).code).toBe(124);
    process.kill(owner, "SIGKILL");
    const died = await waits.done;
    await until("the scheduler to be gone", async () => (await statusOf(here, session_id)).owner === null);
    for (const { code, stdout, stderr } of [died, await typed(here, ["wait", session_id])]) {
      expect([code, stdout]).toEqual([70, ""]);
      expect(stderr).toContain(`bosun resume ${session_id}`);
    }
    const { stdout } = await typed(here, ["wait", session_id, "--json"]);
    expect(JSON.parse(stdout) as Result).toMatchObject({ exit_code: 70, next: [`bosun resume ${session_id}`] });
  });
});
