import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import type { Session } from "../../src/runtime/session.ts";
import { TASKS } from "./crash-crew.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, CREW } from "./roles.ts";
import {
  begin,
  countsIn,
  DONE,
  logOf,
  recordOf,
  reportOf,
  resume,
  type Rig,
  run,
  sessionId,
  told,
} from "./sessions.ts";
import { living } from "../processes.ts";

/** A scheduler in a process of its own, which is killed when it has given `e`, the last ticket, to its worker. */
async function crashed(rig: Rig, session_id: string): Promise<void> {
  // That worker hangs, so that the session cannot be over before the kill comes.
  const hold = join(rig.workspace, "hold.e");
  writeFileSync(hold, "");
  const script = join(import.meta.dirname, "children/scheduler.ts");
  const child = spawn(process.execPath, [script, rig.home, rig.workspace, session_id, "", "ask"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  const exit = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.endsWith(" turn_request e")) child.kill("SIGKILL");
  }
  expect((await exit)[1]).toBe("SIGKILL");
  rmSync(hold, { force: true });
}

const CHOICES = { agentFor: crew(TASKS, {}, { hand: cli() }) };

function answer(session: Session<ScheduleState>, text: string): void {
  const [ask_id] = session.ledger.asks.keys();
  const answers = [{ question_id: `${ask_id}.again`, text }];
  session.submitFromPerson({
    source: "user",
    payload_type: "clarification_response",
    payload: { answers, status: "answered" },
  });
}

describe("a crashed turn of a role that asks a person first", () => {
  it("waits for a person across resumes, then repeats on request", async () => {
    const rig = newRig();
    const session_id = sessionId();
    await crashed(rig, session_id);
    for (const _ of [1, 2]) {
      const session = await resume(rig, session_id, CHOICES);
      expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
      expect([...session.state(() => "").subjects.values()].at(-1)).toMatchObject({
        id: "e",
        status: "in_progress",
        attempt: 1,
      });
      expect(living(session_id)).toEqual([]);
    }
    const recovered = logOf(rig, session_id, "session_recovered").map(({ payload }) => payload["asked"]);
    expect(recovered).toEqual([[expect.stringMatching(/^t\d/)], undefined]);
    const session = await resume(rig, session_id, CHOICES);
    answer(session, "repeat");
    expect(await run(session)).toEqual(DONE);
    const given = logOf(rig, session_id, "turn_request").filter(
      ({ record, payload }) => record.ticket_id === "e" && payload["role_id"] === "hand",
    );
    expect(given.map(({ record: { run: which, attempt } }) => [which, attempt])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(given.at(-1)?.payload).toMatchObject({ context: { notes: [expect.stringContaining("half done")] } });
  });

  it("fails if the person gives it up", async () => {
    const rig = newRig();
    const session_id = sessionId();
    await crashed(rig, session_id);
    const session = await resume(rig, session_id, CHOICES);
    answer(session, "give up");
    expect(await run(session)).toMatchObject({ kind: "closed", outcome: "failed" });
    expect(logOf(rig, session_id, "turn_failed")).toMatchObject([
      { payload: { code: "cancelled" }, record: { ticket_id: "e", attempt: 1, run: 1, disposition: "applied" } },
    ]);
    expect(reportOf(rig, session_id)["tickets"]).toContainEqual(
      expect.objectContaining({ ticket_id: "e", status: "error", reason: "cancelled", attempts: 1 }),
    );
  });

  it("is repeated without a question after an orderly stop", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")], {
      instruction: ({ stamp }) => (stamp.run > 1 ? report() : Promise.withResolvers<never>().promise),
    });
    const roles = CREW.map((role) => ({ ...role, recovery: "ask" as const }));
    const session = await begin(rig, { agentFor, roles });
    const given = told(session, recordOf("turn_request", "a"));
    const ended = run(session);
    await given;
    session.stop("signal", "enough");
    expect(await ended).toMatchObject({ kind: "stopped", reason: "signal" });
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "clarification")).toEqual([]);
  });

  it("waits for a person if the scheduler died while stopping", async () => {
    const rig = newRig();
    const session_id = sessionId();
    const script = join(import.meta.dirname, "children/failing-manager.ts");
    const child = spawn(process.execPath, [script, rig.home, rig.workspace, session_id], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { PATH: process.env["PATH"], BOSUN_CRASH_AT: "stopping:1" },
    });
    expect((await once(child, "exit"))[1]).toBe("SIGKILL");
    const session = await resume(rig, session_id, { agentFor: crew([]) });
    expect(logOf(rig, session_id, "session_stopped")).toEqual([]);
    expect(session.ledger.figures.recoveries).toBe(1);
    const [about] = session.ledger.asks.keys();
    expect(session.ledger.turns.get(about ?? "")).toMatchObject({ subject: "a", status: "asked" });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect(countsIn(session)).toEqual({ in_progress: 1, done: 1 });
  });
});
