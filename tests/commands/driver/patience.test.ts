import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { attend, isAttended } from "../../../src/commands/driver/attendance.ts";
import type { LauncherMessage, Order, TakeUp } from "../../../src/commands/driver/scheduler-process.ts";
import { built } from "../../built.ts";
import { onlySession, typed } from "../in-process.ts";
import { type Rig, rig, tinyPlan, until } from "../rig.ts";
import { endAfterwards } from "../strays.ts";
import { ASK, DOUBTFUL, letGo, statusOf, taskRuns, WAIT, WAITING_TASK } from "../waiting-task.ts";

/** A viewer in a process of its own. */
const VIEWER = `
const { attend } = await import(process.argv[1]);
attend(process.argv[2], "s");
// Collects every handle that only the system still refers to.
gc();
process.stdout.write("there");
setInterval(() => {}, 60_000);
`;

describe("attendance", () => {
  it("ends with the process", async () => {
    const { home } = rig();
    const attendance = join(import.meta.dirname, "../../../src/commands/driver/attendance.ts");
    const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", VIEWER, attendance, home]);
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    expect(isAttended(home, "s")).toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isAttended(home, "s")).toBe(false);
  });
});

describe("the patience of a scheduler", () => {
  /** A stopped session that waits for the answer to its question. */
  async function waiting(here: Rig): Promise<string> {
    expect((await typed(here, ["run", "--plan", here.write("plan.json", ASK)])).code).toBe(4);
    return onlySession(here);
  }

  /** The scheduler of that session, with little patience. */
  function start(
    here: Rig,
    session_id: string,
    runOptions: Partial<Order["runOptions"]> = {},
    change: TakeUp = {},
  ): ChildProcess {
    const child = fork(built("cli.js"), ["--home", here.home, "scheduler", session_id], {
      cwd: here.workspace,
      env: { ...here.environment },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const order: Order = {
      do: "take_up",
      session_id,
      change,
      runOptions: {
        reporter: "plain",
        ask: false,
        answers: [],
        unanswered: "stop",
        approve_plans: false,
        plan_only: false,
        scheduler: "detached",
        ...runOptions,
      },
    };
    child.send({ kind: "order", order, patience_ms: 300 } satisfies LauncherMessage);
    return child;
  }

  const ended = (child: ChildProcess) =>
    new Promise<number | null>((resolve) => {
      child.once("exit", (code) => resolve(code));
    });

  it("stops the session as waiting when it is over, and keeps the question", async () => {
    const here = rig();
    const session_id = await waiting(here);
    expect(await ended(start(here, session_id))).toBe(4);
    expect((await statusOf(here, session_id)).owner).toBeNull();
    const inbox = await typed(here, ["inbox"]);
    expect(inbox.stdout).toContain("Whose name?");
    expect(inbox.stdout).toContain(`bosun resume ${session_id}`);
  });

  it("does not end while a person is at a terminal", async () => {
    const here = rig();
    const session_id = await waiting(here);
    const leave = attend(here.home, session_id);
    if (!leave.ok) throw new Error(leave.error.message);
    const child = start(here, session_id);
    const end = ended(child);
    await new Promise((resolve) => child.once("message", resolve));
    const recovered = performance.now();
    // Several times its patience: without a viewer it would have ended by now, as in the test above.
    await until("its patience to have run out", () => performance.now() - recovered > 1_500 || child.exitCode !== null);
    expect(child.exitCode).toBeNull();
    leave.value();
    expect(await end).toBe(4);
  });

  it("counts for a paused session, but not while agents work", async () => {
    const here = endAfterwards(rig());
    const plan = tinyPlan([WAITING_TASK, { task_id: "after", shell: "true", dependencies: ["wait"] }]);
    expect((await typed(here, ["run", "--plan", here.write("plan.json", plan), "--budget-turns", "1"])).code).toBe(5);
    const child = start(here, await onlySession(here), {}, { limits: { turns: 50 } });
    const end = ended(child);
    const { session_id } = await taskRuns(here);
    expect((await typed(here, ["pause"])).stdout).not.toContain("Kept");
    const paused = performance.now();
    await until("its patience to have run out", () => performance.now() - paused > 1_500 || child.exitCode !== null);
    expect(child.exitCode).toBeNull();
    letGo(here);
    expect(await end).toBe(4);
    expect((await typed(here, ["resume", session_id])).code).toBe(0);
  });

  it("takes the --unanswered policy when it is over", async () => {
    const here = rig();
    const session_id = await waiting(here);
    const leave = attend(here.home, session_id);
    if (!leave.ok) throw new Error(leave.error.message);
    const child = start(here, session_id, { unanswered: "default" });
    const end = ended(child);
    await new Promise((resolve) => child.once("message", resolve));
    expect((await typed(here, ["inbox"])).stdout).toContain("Whose name?");
    leave.value();
    expect(await end).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Ada\n");
  });

  it("stops if the policy decides nothing, as for a turn in doubt", async () => {
    const here = endAfterwards(rig());
    const roles = here.write("roles.json", DOUBTFUL);
    const killed = here.start(["run", "--plan", here.write("plan.json", WAIT), "--roles", roles]);
    const { session_id } = await taskRuns(here);
    killed.child.kill("SIGKILL");
    await killed.done;
    expect(await ended(start(here, session_id, { unanswered: "manager" }))).toBe(4);
  });

  it("does not matter to a scheduler that got no order: it exits", async () => {
    const here = rig();
    const session_id = await waiting(here);
    const child = fork(built("cli.js"), ["--home", here.home, "scheduler", session_id], {
      cwd: here.workspace,
      env: { ...here.environment },
      stdio: "ignore",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const end = ended(child);
    child.disconnect();
    expect(await end).toBe(2);
  });
});
