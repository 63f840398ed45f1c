import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { frozen } from "../crash/freeze.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";
import { endAfterwards, everyProcessEnds, strays } from "./strays.ts";
import { open, type Pane } from "./terminal.ts";
import { ASK, letGo, sessionCloses, statusOf, taskRuns, WAIT } from "./waiting-task.ts";

async function closes(here: Rig, session_id: string): Promise<void> {
  await sessionCloses(here, session_id);
  expect(await statusOf(here, session_id)).toMatchObject({ outcome: "done" });
  expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("done\n");
}

function processSession(pid: number): number {
  return Number(execFileSync("ps", ["-o", "sid=", "-p", String(pid)], { encoding: "utf8" }));
}

/** Whether a SIGINT waits for a process that stands still. */
function isToldToStop(pid: number): boolean {
  const waiting = /^ShdPnd:\s+(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "0";
  return (BigInt(`0x${waiting}`) & 2n) !== 0n;
}

const FAILS = tinyPlan([{ task_id: "fail", shell: "false" }]);

/** The task runs, and its scheduler is watched: only then does the terminal's process know what it is to stop, or has lost. */
async function taskIsWatched(here: Rig, pane: Pane): Promise<{ session_id: string; owner: number }> {
  await pane.shows("in_progress");
  return taskRuns(here);
}

describe.runIf(process.platform === "linux")("bosun run --detach below a lock of its caller", () => {
  it.each([1_024, 128])("does not hold it with at most %i open files", async (limit) => {
    const here = endAfterwards(rig());
    const line = `exec 200>lock; flock -n 200 || exit 9; ulimit -n ${limit}; exec bosun run --plan "$plan" --detach`;
    const environment = { ...here.environment, BOSUN_HOME: here.home, plan: here.write("plan.json", WAIT) };
    execFileSync("bash", ["-c", line], { cwd: here.workspace, env: environment });
    expect(spawnSync("sh", ["-c", "flock -n lock true"], { cwd: here.workspace }).status).toBe(0);
    const { session_id } = await taskRuns(here);
    letGo(here);
    await closes(here, session_id);
  });
});

describe("bosun run at a terminal", () => {
  it("starts the scheduler in a process session of its own", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id, owner } = await taskRuns(here);
    expect(owner).not.toBe(pane.pid());
    expect(processSession(owner)).toBe(owner);
    await pane.shows(`closing this terminal does not: bosun attach ${session_id}`);
    letGo(here);
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toMatch(/wait +awaiting_review[^]*wait +done {1,2}\(1\/1\)/);
    expect(pane.screen()).toContain(`${session_id} is done: 1 of 1 ticket done`);
    expect(readFileSync(join(here.home, "sessions", session_id, "scheduler.log"), "utf8")).toMatch(
      new RegExp(`^\\S+Z process ${owner} runs ${session_id}\n$`),
    );
    expect(readdirSync(join(here.home, "sessions", session_id, "viewers"))).toEqual([]);
  });

  it("continues when the terminal hangs up or the viewer is killed", async () => {
    for (const leave of ["hang up", "kill"] as const) {
      const here = rig();
      const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
      const { session_id, owner } = await taskRuns(here);
      const viewer = pane.pid();
      if (leave === "kill") process.kill(viewer, "SIGKILL");
      else pane.hangUp();
      await until("the viewer to be gone", () => !strays(here).includes(viewer));
      expect((await statusOf(here, session_id)).owner?.pid).toBe(owner);
      letGo(here);
      await closes(here, session_id);
      pane.hangUp();
      await everyProcessEnds(here);
      expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
    }
  });

  it("stops the session on the first Ctrl-C with 130", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id } = await taskIsWatched(here, pane);
    pane.type("C-c");
    expect(await pane.exit()).toBe(130);
    expect(pane.screen()).toContain("Stopping: asked 1 agent to end");
    expect(pane.screen()).toContain(`bosun resume ${session_id}`);
    expect(await statusOf(here, session_id)).toMatchObject({ state: "stopped", owner: null });
    pane.hangUp();
    await everyProcessEnds(here);
  });

  it.each([
    { command: ["resume"], plan: ASK, code: 4, told: "Stopped before it continued.\n  bosun resume it\n" },
    // Resuming what is closed would not try again.
    { command: ["retry", "fail"], plan: FAILS, code: 1, told: "Stopped before it continued.\n\n" },
  ])("changes nothing on Ctrl-C before the session continues: $command", async ({ command, plan, code, told }) => {
    const here = rig();
    const files = ["--plan", here.write("plan.json", plan), "--config", here.write("once.json", '{"max_retries":0}')];
    expect((await typed(here, ["run", ...files, "--session", "it"])).code).toBe(code);
    const { state } = await statusOf(here, "it");
    const pane = open(here, command, { BOSUN_CRASH_AT: "lock_taken:1:SIGSTOP" });
    const owner = async () => (await statusOf(here, "it")).owner?.pid;
    await until("its scheduler to stand still", async () => frozen(await owner()));
    const pid = (await owner()) ?? 0;
    pane.type("C-c");
    await until("the signal to reach it", () => isToldToStop(pid));
    process.kill(pid, "SIGCONT");
    expect(await pane.exit()).toBe(130);
    expect(`${pane.screen()}\n\n`).toContain(told);
    expect((await statusOf(here, "it")).state).toBe(state);
  });

  it("kills everything on the second Ctrl-C", async () => {
    const here = rig();
    const worker = here.write("stubborn.sh", "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done\n");
    const plan = here.write("plan.json", tinyPlan([{ task_id: "wait", shell: "true" }]));
    const pane = open(here, ["run", "--plan", plan, "--yes", "--no-confirm", "--worker", `sh ${worker}`]);
    await taskIsWatched(here, pane);
    await pane.shows("worker started");
    pane.type("C-c");
    await pane.shows("Stopping: asked 1 agent to end");
    pane.type("C-c");
    expect(await pane.exit()).toBe(130);
    expect(pane.screen()).toContain(
      `Killed. Everything recorded so far is safe: bosun resume ${await onlySession(here)}`,
    );
    pane.hangUp();
    await everyProcessEnds(here);
  });

  it("exits with 5 at a limit, and shows only new records after resume", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT), "--budget-turns", "1"]);
    expect(await pane.exit()).toBe(5);
    const session_id = await onlySession(here);
    expect(pane.screen()).toContain(`bosun resume ${session_id} --budget-turns 2`);
    letGo(here);
    const resumed = open(here, ["resume", "--budget-turns", "20"]);
    expect(await resumed.exit()).toBe(0);
    expect(resumed.screen()).toContain(`Going on with ${session_id}`);
    expect(resumed.screen()).not.toContain("earlier record");
  });

  it("reports a killed scheduler with 70 and names the next command", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id, owner } = await taskIsWatched(here, pane);
    process.kill(owner, "SIGKILL");
    expect(await pane.exit()).toBe(70);
    expect(pane.screen()).toContain(`The scheduler of ${session_id} exited unexpectedly`);
    expect(pane.screen()).toContain(`bosun resume ${session_id}`);
    letGo(here);
    expect(await open(here, ["resume"]).exit()).toBe(0);
  });

  it("shows why the scheduler failed and exits with its code", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT)]);
    const { session_id } = await taskIsWatched(here, pane);
    const log = join(here.home, "logs", session_id);
    rmSync(log, { recursive: true });
    writeFileSync(log, "in the way");
    letGo(here);
    expect(await pane.exit()).toBe(3);
    expect(pane.screen()).toContain(`The scheduler of ${session_id} exited unexpectedly, saying:`);
    expect(pane.screen()).toMatch(new RegExp(`^${session_id}: .*log`, "m"));
    pane.hangUp();
    await everyProcessEnds(here);
  });

  it("asks the person in spite of --unanswered default", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", ASK), "--unanswered", "default"]);
    await pane.asks("Question 1 of 1");
    pane.type("Eve", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
  });

  it("runs in this process with --foreground and stops on hang-up", async () => {
    const here = rig();
    const pane = open(here, ["run", "--plan", here.write("plan.json", WAIT), "--foreground"]);
    const { session_id, owner } = await taskRuns(here);
    expect(owner).toBe(pane.pid());
    pane.hangUp();
    await everyProcessEnds(here);
    expect(await statusOf(here, session_id)).toMatchObject({ state: "stopped", owner: null });
  });
});

describe("a scheduler that cannot start", () => {
  it("reports a held session with 7 and an unwritable home with 3", async () => {
    const here = endAfterwards(rig());
    const args = ["run", "--plan", here.write("plan.json", WAIT), "--session", "mine"];
    const holder = here.start(args);
    await taskRuns(here);
    for (const refused of [await here.run([...args, "--detach"]), await here.run(["resume", "mine", "--detach"])]) {
      expect(refused.code).toBe(7);
      expect(refused.stderr).toMatch(new RegExp(`\\bmine .* process ${holder.child.pid} on `));
    }
    letGo(here);
    expect((await holder.done).code).toBe(0);

    const blocked = endAfterwards(rig());
    blocked.write("home/logs", "in the way");
    const failed = await blocked.run(["run", "--plan", blocked.write("plan.json", WAIT), "--detach"]);
    expect(failed.code).toBe(3);
    expect(failed.stderr).toContain(join(blocked.home, "logs"));
    expect(failed.stdout).toBe("");
    await everyProcessEnds(blocked);
    rmSync(join(blocked.home, "logs"));
    expect((await typed(blocked, ["status", "--all"])).stdout).toContain("No session has run here yet.");
  });

  it("is not started for wrong input", async () => {
    const here = rig();
    const refused = await typed(here, ["run", "--plan", "nowhere.yaml", "--detach"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("nowhere.yaml");
    expect(here.sessions()).toEqual([]);
  });

  it("refuses its command when a person types it", async () => {
    // In a process of its own: this one has an IPC channel to the test runner.
    const typedIt = await rig().run(["scheduler", "s-abc234"]);
    expect(typedIt.code).toBe(2);
    expect(typedIt.stderr).toContain("got no order");
  });
});

describe("--detach", () => {
  it("returns at once and names the session and the next commands", async () => {
    const here = endAfterwards(rig());
    const left = await here.run(["run", "-", "--plan", here.write("plan.json", WAIT), "--detach"], { input: "Wait." });
    expect(left.stderr).toBe("");
    expect(left.code).toBe(0);
    const { session_id, owner } = await taskRuns(here);
    for (const told of [
      `${session_id} is running (pid ${owner}).`,
      `bosun attach ${session_id}`,
      `bosun status ${session_id}`,
    ])
      expect(left.stdout).toContain(told);
    expect(processSession(owner)).toBe(owner);
    letGo(here);
    await closes(here, session_id);
    await everyProcessEnds(here);
    expect((await typedJson<{ requirement: string }>(here, ["status", session_id, "--json"])).requirement).toBe(
      "Wait.",
    );
  });

  it("writes one event with --json", async () => {
    const here = endAfterwards(rig());
    const args = ["run", "--plan", here.write("plan.json", WAIT), "--session", "mine", "--budget-turns", "1"];
    expect((await here.run(args)).code).toBe(5);
    const left = await here.run(["resume", "--budget-turns", "20", "--detach", "--json"]);
    expect(left.code).toBe(0);
    const { owner } = await taskRuns(here);
    expect(JSON.parse(left.stdout)).toEqual({
      type: "detached",
      session_id: "mine",
      pid: owner,
      log: join(here.home, "sessions", "mine", "scheduler.log"),
      next: ["bosun attach mine", "bosun status mine"],
    });
    letGo(here);
    await closes(here, "mine");
  });

  it("keeps questions open for answers from anywhere", async () => {
    const here = endAfterwards(rig());
    expect((await here.run(["run", "--plan", here.write("plan.json", ASK), "--detach"])).code).toBe(0);
    await until("the question", async () => (await typed(here, ["inbox"])).stdout.includes("Whose name?"));
    const session_id = await onlySession(here);
    expect((await typed(here, ["inbox"])).stdout).not.toContain("bosun resume");
    expect((await typed(here, ["answer", "Eve"])).stdout).not.toContain("Kept");
    await sessionCloses(here, session_id);
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("Eve\n");
  });

  it("takes answers given beforehand and defaults at once", async () => {
    for (const [flags, name] of [
      [["--answer", "name=Eve"], "Eve"],
      [["--unanswered", "default"], "Ada"],
    ] as const) {
      const here = endAfterwards(rig());
      expect((await here.run(["run", "--plan", here.write("plan.json", ASK), "--detach", ...flags])).code).toBe(0);
      const session_id = await onlySession(here);
      await sessionCloses(here, session_id);
      expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe(`${name}\n`);
    }
  });
});
