import { existsSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { frozen } from "../crash/freeze.ts";
import { typed, typedJson } from "./in-process.ts";
import { endAfterwards, strays } from "./strays.ts";
import { type Rig, rig, type Running, tinyPlan, until } from "./rig.ts";
import { letGo, taskRuns, WAITING_TASK } from "./waiting-task.ts";

interface Status {
  readonly state: string;
  readonly outcome: string | null;
  readonly owner: { readonly pid: number } | null;
  readonly tickets: readonly { readonly ticket_id: string; readonly status: string; readonly reason?: string }[];
}

async function begun(here: Rig, plan: string): Promise<{ owner: Running; session_id: string }> {
  const owner = here.start(["run", "--plan", here.write("plan.json", plan)]);
  return { owner, session_id: (await taskRuns(here)).session_id };
}

/** The number of messages in the inbox that their session's owner has not taken yet. */
function pendingMessages({ home }: Rig): number {
  const database = new SqliteDatabase(join(home, "bosun.db"), { readonly: true });
  try {
    return database.prepare<[], number>("SELECT COUNT(*) FROM inbox").pluck().get() ?? 0;
  } finally {
    database.close();
  }
}

describe("a running session", () => {
  it("is shown with its owner and its turns, and a second resume exits with 7", async () => {
    const here = rig();
    const { owner, session_id } = await begun(here, tinyPlan([WAITING_TASK]));
    const status = await typedJson<Status>(here, ["status", "--json"]);
    expect(status).toMatchObject({ state: "running", owner: { pid: owner.child.pid } });
    expect((await typed(here, ["status"])).stdout).toMatch(/^Running: wait \(shell, \d+m?s\)$/m);
    const refused = await typed(here, ["resume"]);
    expect(refused.code).toBe(7);
    expect(refused.stderr).toMatch(new RegExp(`${session_id} .* process ${owner.child.pid} on `));
    const proof = await typed(here, ["replay", session_id, "--verify"]);
    expect([proof.code, proof.stdout]).toEqual([6, expect.stringContaining(`next    bosun attach ${session_id}\n`)]);
    letGo(here);
    expect((await owner.done).code).toBe(0);
  });

  it("takes a note and a pause from other terminals and records who sent them", async () => {
    const here = rig();
    const { owner } = await begun(
      here,
      tinyPlan([WAITING_TASK, { task_id: "after", shell: "echo $$ > after", dependencies: ["wait"] }]),
    );
    const told = await typed(here, ["tell", "after", "Mind the gap."]);
    expect(told.stderr).toBe("");
    expect(told.stdout).not.toContain("Kept");
    expect((await typed(here, ["pause"])).stdout).not.toContain("Kept");
    letGo(here);
    const status = () => typedJson<Status>(here, ["status", "--json"]);
    await until("the first task to be done", async () => (await status()).tickets[0]?.status === "done");
    expect(await status()).toMatchObject({ state: "paused", tickets: [{}, { ticket_id: "after", status: "pending" }] });
    expect((await typed(here, ["resume"])).stdout).not.toContain("Kept");
    expect((await owner.done).code).toBe(0);
    expect(existsSync(join(here.workspace, "after"))).toBe(true);
    expect(owner.stdout()).toMatch(/after +TELL by \S+ \(cli\) "Mind the gap\."/);
    expect(owner.stdout()).toMatch(/- +PAUSE by /);
  });

  it("takes `resume` and `retry` with --json, which write nothing to stdout", async () => {
    const here = rig();
    const { owner } = await begun(
      here,
      tinyPlan([WAITING_TASK, { task_id: "after", shell: "true", dependencies: ["wait"] }]),
    );
    const told = async (...words: string[]) => {
      const { code, stdout, stderr } = await typed(here, [...words, "--json"]);
      expect([code, stdout]).toEqual([0, ""]);
      expect(stderr).not.toContain("Kept");
    };
    await told("resume", "--budget-turns", "50");
    await typed(here, ["cancel", "after"]);
    await told("retry", "after");
    await typed(here, ["pause"]);
    await told("resume");
    letGo(here);
    expect((await owner.done).code).toBe(0);
  });

  it("cancels one ticket or the whole session", async () => {
    const here = rig();
    const plan = tinyPlan([WAITING_TASK, { task_id: "after", shell: "true", dependencies: ["wait"] }]);
    const { owner, session_id } = await begun(here, plan);
    expect((await typed(here, ["cancel", "after"])).stdout).toContain("after cancelled");
    expect((await typed(here, ["cancel", "--reason", "Enough."])).code).toBe(0);
    expect((await owner.done).code).toBe(1);
    expect(strays(here)).toEqual([]);
    expect(await typedJson<Status>(here, ["status", session_id, "--json"])).toMatchObject({
      state: "closed",
      outcome: "cancelled",
    });
  });

  it("refuses impossible commands, and passes on why the owner refused others", async () => {
    const here = rig();
    const { owner, session_id } = await begun(
      here,
      tinyPlan([
        { task_id: "done", shell: "true" },
        { ...WAITING_TASK, dependencies: ["done"] },
      ]),
    );
    const retried = await typed(here, ["retry", "wait"]);
    expect(retried.code).toBe(2);
    expect(retried.stderr).toContain(`wait of ${session_id} is in_progress`);
    const told = await typed(here, ["tell", "done", "Mind the gap."]);
    expect([told.code, told.stdout]).toEqual([2, ""]);
    expect(told.stderr).toContain(`done of ${session_id} is done`);
    for (const words of [[session_id], ["wait"], [session_id, "wait"]]) {
      const named = await typed(here, ["tell", ...words]);
      expect([named.code, named.stderr]).toEqual([2, expect.stringContaining(JSON.stringify(words.at(-1)))]);
    }
    const cancelled = await typed(here, ["cancel", "done"]);
    expect(cancelled.code).toBe(2);
    expect(cancelled.stderr).toMatch(/^Error: .*"done"/);
    expect(cancelled.stdout).toBe("");
    letGo(here);
    expect((await owner.done).code).toBe(0);
  });

  it("reports a message that comes too late for its end", async () => {
    const here = endAfterwards(rig());
    // The plan, the report, and with the review nothing is left to be done.
    const env = { BOSUN_CRASH_AT: "answer_held:3:SIGSTOP" };
    const more = { review: "manager", acceptance_criteria: [] };
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true", more }]));
    expect((await here.run(["run", "--plan", plan, "--session", "mine", "--detach"], { env })).code).toBe(0);
    const { owner } = await typedJson<Status>(here, ["status", "mine", "--json"]);
    await until("the scheduler to stand still", () => frozen(owner?.pid));
    const cancelled = here.start(["cancel", "mine"]);
    await until("the message to be in the inbox", () => pendingMessages(here) === 1);
    process.kill(owner?.pid ?? 0, "SIGCONT");
    const { code, stdout, stderr } = await cancelled.done;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("The session mine is closed: done.");
  });

  it("is followed by `log --follow` to its end; other viewers may lose their readers", async () => {
    const here = rig();
    const { owner, session_id } = await begun(here, tinyPlan([WAITING_TASK]));
    const views = [["log", session_id, "--follow"], ["log", "--follow"], ["attach"], ["attach", "--json"]];
    const [follower, ...closed] = views.map((words) => here.start(words));
    for (const viewer of [follower, ...closed])
      await until("the viewer to be there", () => viewer?.stdout().includes("in_progress") === true);
    for (const { child } of closed) child.stdout?.destroy();
    await typed(here, ["tell", session_id, "So that there is a record to show."]);
    expect(await Promise.all(closed.map(async ({ done }) => (await done).code))).toEqual([0, 130, 130]);
    letGo(here);
    expect(await follower?.done).toMatchObject({ code: 0, stdout: expect.stringContaining("CLOSED done") as string });
    expect((await owner.done).code).toBe(0);
  });
});

describe("a bug of Bosun's own", () => {
  it("exits with 70 and shows the error", async () => {
    const here = rig();
    const fuse = "data:text/javascript,setTimeout(() => { throw new RangeError('as if') }, 1)";
    const args = ["run", "--plan", here.write("plan.json", tinyPlan([WAITING_TASK]))];
    const ended = await here.run(args, { env: { NODE_OPTIONS: `--import=${encodeURI(fuse)}` } });
    expect([ended.code, ended.stderr]).toEqual([70, expect.stringMatching(/\bbug\b/)]);
    expect(ended.stderr).toContain("RangeError: as if");
  });
});

describe("stopping a session", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 143],
  ] as const)("is graceful on the first %s, and the session resumes with nothing lost", async (signal, code) => {
    const here = rig();
    const { owner, session_id } = await begun(here, tinyPlan([WAITING_TASK]));
    owner.child.kill(signal);
    const stopped = await owner.done;
    expect(stopped.code).toBe(code);
    expect(stopped.stderr).toContain("Stopping: asked 1 agent to end");
    expect(stopped.stdout).toContain(`bosun resume ${session_id}`);
    expect(strays(here)).toEqual([]);
    const attached = await typed(here, ["attach", session_id]);
    expect(attached.code).toBe(code);
    const { stdout: status } = await typed(here, ["status", session_id]);
    for (const shown of [stopped.stdout, attached.stdout, status])
      expect(shown).toMatch(/^wait +interrupted \(in_progress\)[^]*^1 turn was cut off; resume repeats it\.$/m);
    letGo(here);
    expect((await typed(here, ["resume"])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("kills at once on the second signal", async () => {
    const here = endAfterwards(rig());
    const worker = here.write("stubborn.sh", "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done\n");
    const plan = here.write("plan.json", tinyPlan([{ task_id: "wait", shell: "true" }]));
    const owner = here.start(["run", "--plan", plan, "--worker", `sh ${worker}`]);
    await taskRuns(here);
    owner.child.kill("SIGINT");
    await until("the first signal to be taken", () => owner.stderr().includes("Stopping:"));
    owner.child.kill("SIGINT");
    expect((await owner.done).code).toBe(130);
    expect(owner.stderr()).toMatch(/^Killed\. Everything recorded so far is safe: bosun resume s-\w+$/m);
    await until("the worker to be gone", () => strays(here).length === 0);
  });

  it("shows a killed scheduler as interrupted, and resumes", async () => {
    const here = rig();
    const { owner, session_id } = await begun(here, tinyPlan([WAITING_TASK]));
    owner.child.kill("SIGKILL");
    await owner.done;
    const shown = await typed(here, ["status", session_id]);
    expect(shown.stdout).toContain(`${session_id} crashed; resume it`);
    const json = await typedJson(here, ["status", session_id, "--json"]);
    expect(json).toMatchObject({ tickets: [{ status: "in_progress", interrupted: true }] });
    letGo(here);
    const ended = await typed(here, ["resume"]);
    expect(ended.code).toBe(0);
    expect(ended.stdout).toContain("RESUMED 1 turn to repeat");
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("closes a stopped session without starting an agent", async () => {
    const here = rig();
    const { owner, session_id } = await begun(here, tinyPlan([WAITING_TASK]));
    owner.child.kill("SIGINT");
    await owner.done;
    const cancelled = await typed(here, ["cancel"]);
    expect(cancelled.code).toBe(1);
    expect(cancelled.stdout).toContain(`${session_id} is cancelled`);
    expect(cancelled.stdout).not.toMatch(/interrupted|cut off/);
    expect(existsSync(join(here.workspace, "out.txt"))).toBe(false);
    const told = await typed(here, ["tell", session_id, "Too late."]);
    expect(told.code).toBe(2);
    expect(told.stderr).toContain("is closed: cancelled");
  });
});
