import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import { failure } from "../../src/protocol/failure.ts";
import { scratchDirectory } from "../agents/scratch.ts";
import { begin, openHome, proofOf, recordsOf, reportOf, resume } from "./home.ts";
import { rolesAt, Stage } from "./stage.ts";
import { isLiving } from "../processes.ts";
import { value } from "../results.ts";

const SCHEDULER = join(import.meta.dirname, "children", "scheduler.ts");
const VERDICT = { conclusion: "Go, for this team.", winner: "go" };

/** A scheduler in a process of its own, and its output. */
function scheduler(
  home: string,
  stage: Stage,
  task: "begin" | "resume",
): { child: ChildProcess; said: Promise<string> } {
  const child = spawn(process.execPath, [SCHEDULER, home, stage.address, task], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  return { child, said: text(child.stdout) };
}

async function undisturbed(): Promise<unknown> {
  const home = scratchDirectory();
  const stage = await Stage.open(home);
  const { said } = scheduler(home, stage, "begin");
  await stage.round();
  await stage.round();
  await stage.verdict(VERDICT);
  expect(JSON.parse(await said)).toEqual({ kind: "closed", outcome: "done" });
  expect(proofOf(home).ok).toBe(true);
  return reportOf(home).result;
}

describe("a scheduler that is killed in the second round", () => {
  it("is followed by one that repeats the open turns and gets the same verdict", async () => {
    const home = scratchDirectory();
    const stage = await Stage.open(home);
    const first = scheduler(home, stage, "begin");
    await stage.round();
    const [architect, ...others] = await stage.gathered(3);
    architect?.hold();
    await expect.poll(() => recordsOf(home, "opinion")).toHaveLength(4);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    expect(others.every(({ pid }) => isLiving(pid))).toBe(true);

    const second = scheduler(home, stage, "resume");
    // The dead scheduler's programs are ended first, so these are new ones.
    await expect.poll(() => others.filter(({ pid }) => isLiving(pid))).toEqual([]);
    const again = await stage.gathered(2);
    expect(again.map(({ role_id }) => role_id)).toEqual(["go", "python"]);
    for (const [index, speaker] of again.entries()) {
      expect(speaker.request.context.transcript).toEqual(others[index]?.request.context.transcript);
      expect(speaker.request.context.notes).toEqual([expect.stringContaining("interrupted")]);
      speaker.hold();
    }
    await stage.verdict(VERDICT);
    expect(JSON.parse(await second.said)).toEqual({ kind: "closed", outcome: "done" });

    expect(reportOf(home)).toMatchObject({ recoveries: 1, result: await undisturbed() });
    expect(proofOf(home)).toMatchObject({ ok: true, decisions: "ok", completeness: "closed" });
  });
});

/** Agents that answer at once, the judge only while `judges` is true. */
function crew(judges: () => boolean): Agent {
  return scriptedAgent(({ role, payload }) => {
    const round = Number(payload.context.metadata?.["round"]);
    if (role.role_id !== "judge")
      return { payload_type: "opinion", payload: { round, position: `${role.role_id} ${round}` } };
    if (judges()) return { payload_type: "verdict", payload: VERDICT };
    return { failure: failure("agent_failed", "The judge is asleep."), refused: [] };
  });
}

describe("a debate that stops", () => {
  it("when its judge fails asks the judge again on resume", async () => {
    const home = scratchDirectory();
    let awake = false;
    const around = openHome(
      home,
      crew(() => awake),
    );
    onTestFinished(() => around.store.close());
    const session = await begin(around, rolesAt("unused"), {}, { max_retries: 1 });
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({
      kind: "stopped",
      reason: "manager_failed",
      message: "the judge judge failed 2 times, the last time with agent_failed",
    });
    expect(proofOf(home)).toMatchObject({ ok: false, completeness: "open", decisions: "ok", problems: [] });
    await around.store.release({ session_id: session.session_id, epoch: 1 });
    awake = true;
    const resumed = await resume(around);
    expect(value(await resumed.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    expect(reportOf(home)).toMatchObject({ recoveries: 0, result: { verdict: VERDICT } });
    expect(proofOf(home).ok).toBe(true);
  });

  it("at its limit of turns goes on with a higher limit", async () => {
    const home = scratchDirectory();
    const around = openHome(
      home,
      crew(() => true),
    );
    onTestFinished(() => around.store.close());
    const session = await begin(around, rolesAt("unused"), {}, { budget: { turns: 4 } });
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ kind: "stopped", reason: "limit" });
    await around.store.release({ session_id: session.session_id, epoch: 1 });
    const resumed = await resume(around, { limits: { turns: 100 } });
    expect(value(await resumed.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    expect(reportOf(home).result).toMatchObject({ verdict: VERDICT, rounds: { held: 2, of: 2 } });
    expect(proofOf(home).ok).toBe(true);
  });
});

describe("a debate that has ended", () => {
  it("refuses to be reopened, and stays the same", async () => {
    const home = scratchDirectory();
    const around = openHome(
      home,
      crew(() => true),
    );
    onTestFinished(() => around.store.close());
    const session = await begin(around, rolesAt("unused"));
    value(await session.run({ waitForPeople: false }));
    const before = reportOf(home);
    await around.store.release({ session_id: session.session_id, epoch: 1 });
    const reopened = await resume(around, { reopen: "once more" });
    expect(value(await reopened.run({ waitForPeople: false }))).toEqual({ kind: "closed", outcome: "done" });
    expect(recordsOf(home, "session_reopened")).toMatchObject([{ record: { disposition: "refused" } }]);
    expect(reportOf(home).result).toEqual(before.result);
    expect(proofOf(home)).toMatchObject({ ok: true, completeness: "closed", decisions: "ok" });
  });

  it("because of invalid input says so in its log, and has asked no one", async () => {
    const home = scratchDirectory();
    const around = openHome(
      home,
      crew(() => true),
    );
    onTestFinished(() => around.store.close());
    const session = await begin(around, rolesAt("unused"), { judge: "go" });
    expect(value(await session.run({ waitForPeople: false }))).toEqual({
      kind: "closed",
      outcome: "failed",
      reason: "invalid_input",
    });
    expect(recordsOf(home, "error")).toMatchObject([
      { payload: { message: expect.stringContaining('"judge" names "go"') } },
    ]);
    expect(recordsOf(home, "turn_request")).toEqual([]);
    expect(proofOf(home)).toMatchObject({ ok: true, completeness: "closed" });
  });
});
