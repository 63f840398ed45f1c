import { chmodSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SessionEvent } from "../../src/runtime/bus.ts";
import { exitCodeOf } from "../../src/runtime/exit.ts";
import type { Session } from "../../src/runtime/session.ts";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import { BentClock } from "./bent-clock.ts";
import { crew, criterion, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, shell, withRole } from "./roles.ts";
import { begin, countsIn, DONE, logOf, recordOf, reportOf, resume, type Rig, run, told } from "./sessions.ts";

/** Longer than the first pause of an outage. */
const PAUSE_MS = 6_000;

/** A worker as a file that can be put away. */
function programIn(rig: Rig): string {
  const folder = join(rig.home, "programs");
  mkdirSync(folder);
  const file = join(folder, "agent");
  const [, , script = ""] = shell(REPORT);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Calls back at the first event that fits, in the next turn of the event loop. */
function once(session: Session<ScheduleState>, fits: (event: SessionEvent) => boolean, callback: () => void): void {
  void told(session, fits).then(() => setImmediate(callback));
}

function failuresOf(rig: Rig, { session_id }: { readonly session_id: string }): unknown[] {
  return logOf(rig, session_id, "turn_failed").map(({ payload }) => payload["code"]);
}

const ATTEMPTS = { max_attempts: 1, max_retries: 0 };

describe("a program that is away for a while", () => {
  it("is waited for without spending an attempt", async () => {
    const rig = newRig();
    const program = programIn(rig);
    const clock = new BentClock();
    const agentFor = crew([instructed("a"), instructed("b", ["a"])], {}, { hand: cli() });
    const roles = withRole("hand", { cli_command: [program] });
    const session = await begin(rig, { agentFor, roles, clock, config: ATTEMPTS });
    session.bus.subscribe((event) => {
      if (recordOf("report", "a")(event)) renameSync(program, `${program}.away`);
    });
    once(session, recordOf("turn_failed", "b"), () => {
      renameSync(`${program}.away`, program);
      clock.pass(PAUSE_MS);
    });
    expect(await run(session)).toEqual(DONE);
    expect(failuresOf(rig, session)).toEqual(["unavailable"]);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it("is waited for by a resumed session too, which tries at once", async () => {
    const rig = newRig();
    const program = programIn(rig);
    const agentFor = crew([instructed("a"), instructed("b", ["a"])], {}, { hand: cli() });
    const roles = withRole("hand", { cli_command: [program] });
    const session = await begin(rig, { agentFor, roles, config: ATTEMPTS });
    session.bus.subscribe((event) => {
      if (recordOf("report", "a")(event)) renameSync(program, `${program}.away`);
    });
    once(session, recordOf("turn_failed", "b"), () => session.stop("signal", "for now"));
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "signal" });

    const second = await resume(rig, session.session_id, { agentFor });
    once(second, recordOf("turn_failed", "b"), () => second.stop("signal", "once more"));
    expect(await run(second)).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(failuresOf(rig, session)).toEqual(["unavailable", "unavailable"]);
    expect(second.ledger.holds.get("hand")).toMatchObject({ reason: "unavailable", tries: 2 });

    renameSync(`${program}.away`, program);
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toEqual(DONE);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it("is not waited for longer than the session's own deadline", async () => {
    const rig = newRig();
    const program = programIn(rig);
    const clock = new BentClock();
    const agentFor = crew([instructed("a"), instructed("b", ["a"])], {}, { hand: cli() });
    const roles = withRole("hand", { cli_command: [program] });
    const config = { ...ATTEMPTS, max_hold_s: 1, budget: { wall_s: 3_600 } };
    const session = await begin(rig, { agentFor, roles, clock, config });
    session.bus.subscribe((event) => {
      if (recordOf("report", "a")(event)) renameSync(program, `${program}.away`);
      // Each time a quarter of an hour passes, far more than max_hold_s.
      if (recordOf("turn_failed", "b")(event)) setImmediate(() => clock.pass(900_000));
    });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "limit" });
    expect(logOf(rig, session.session_id).at(-1)?.payload).toMatchObject({ limit: "wall_s" });
    expect(failuresOf(rig, session)).toHaveLength(4);
  });
});

describe("a program that cannot be started", () => {
  it("holds its role at once, other roles go on, and the session waits with what to do", async () => {
    const rig = newRig();
    const missing = join(rig.home, "missing");
    const to = (role_id: string) => ({ assigned_to: { role_id } });
    const tasks = [instructed("a", [], to("hand")), instructed("b", [], to("ear")), instructed("c", ["b"], to("ear"))];
    const agentFor = crew(tasks, {}, { hand: cli() });
    const roles = [
      ...withRole("hand", { cli_command: [missing] }),
      { role_id: "ear", type: "worker", cli_command: ["unused"] } as const,
    ];
    const session = await begin(rig, { agentFor, roles });
    const end = await run(session);
    expect(end).toMatchObject({ kind: "stopped", reason: "waiting", message: expect.stringContaining(missing) });
    expect(exitCodeOf(end, undefined)).toBe(4);
    expect(failuresOf(rig, session)).toEqual(["environment"]);
    expect(countsIn(session)).toEqual({ done: 2, in_progress: 1 });

    writeFileSync(missing, `#!/bin/sh\n${shell(REPORT)[2]}\n`);
    // Still no program: it may not be executed.
    const second = await resume(rig, session.session_id, { agentFor });
    expect(await run(second)).toMatchObject({ kind: "stopped", reason: "waiting" });
    chmodSync(missing, 0o755);
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toEqual(DONE);
    expect(failuresOf(rig, session)).toEqual(["environment", "environment"]);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }, {}, {}]);
  });

  it("is not waited for if it has run before, but is replaced by one that is not fit", async () => {
    const rig = newRig();
    const program = programIn(rig);
    const agentFor = crew([instructed("a"), instructed("b", ["a"])], {}, { hand: cli() });
    const session = await begin(rig, { agentFor, roles: withRole("hand", { cli_command: [program] }) });
    session.bus.subscribe((event) => {
      if (recordOf("report", "a")(event)) chmodSync(program, 0o644);
    });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect(failuresOf(rig, session)).toEqual(["environment"]);
    chmodSync(program, 0o755);
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toEqual(DONE);
  });

  it("for a NUL byte in its command spends no attempt", async () => {
    const rig = newRig();
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    const session = await begin(rig, { agentFor, roles: withRole("hand", { cli_command: ["sh", "a\0b"] }) });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect([failuresOf(rig, session), countsIn(session)]).toEqual([["environment"], { in_progress: 1 }]);
  });
});

describe("a workspace that is away for a while", () => {
  it.each([
    ["exits with 1", "exit 1"],
    ["reports an error", `say report '{"status":"error","summary":"I see no files."}'; exit 0`],
    ["answers with an error", `say error '{"code":"agent_failed","message":"I see no files."}'; exit 0`],
  ])("costs no attempt of the turn that ran meanwhile and %s, nor of one that begins", async (_, ends) => {
    const rig = newRig();
    const clock = new BentClock();
    const agentFor = crew([instructed("a")], {}, { hand: cli() });
    // Its first run sees the workspace vanish.
    const roles = withRole("hand", {
      cli_command: shell(
        `test -e "$1.seen" || { : >"$1.seen"; mv "$1" "$1.away"; ${ends}; }; ${REPORT}`,
        rig.workspace,
      ),
    });
    const session = await begin(rig, { agentFor, roles, clock, config: ATTEMPTS });
    once(session, recordOf("turn_failed"), () => {
      once(session, recordOf("turn_failed"), () => {
        renameSync(`${rig.workspace}.away`, rig.workspace);
        clock.pass(2 * PAUSE_MS);
      });
      clock.pass(PAUSE_MS);
    });
    expect(await run(session)).toEqual(DONE);
    expect(failuresOf(rig, session)).toEqual(["unavailable", "unavailable"]);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }]);
  });

  it("makes checks wait, and their results are those of the workspace", async () => {
    const rig = newRig();
    const clock = new BentClock();
    const vanish = `test -e "${rig.workspace}.seen" || { : >"${rig.workspace}.seen"; mv "${rig.workspace}" "${rig.workspace}.away"; exit 1; }`;
    const tasks = [instructed("a", [], { acceptance_criteria: [criterion("sh", "-c", vanish), criterion("true")] })];
    const session = await begin(rig, { agentFor: crew(tasks), clock, config: { ...ATTEMPTS, check_rounds: 0 } });
    const warned = (event: SessionEvent) => event.kind === "warning";
    once(session, warned, () => {
      renameSync(`${rig.workspace}.away`, rig.workspace);
      clock.pass(PAUSE_MS);
    });
    expect(await run(session)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "check_result").map(({ payload }) => payload["results"])).toMatchObject([
      [{ passed: true }, { passed: true }],
    ]);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }]);
  });

  it("keeps no checks from being stopped", async () => {
    const rig = newRig();
    const away = `mv "${rig.workspace}" "${rig.workspace}.away"; exit 1`;
    const tasks = [instructed("a", [], { acceptance_criteria: [criterion("sh", "-c", away)] })];
    const agentFor = crew(tasks, { instruction: () => report() });
    const session = await begin(rig, { agentFor });
    once(
      session,
      (event) => event.kind === "warning",
      () => session.stop("signal", "for now"),
    );
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(logOf(rig, session.session_id, "check_result")).toEqual([]);
    renameSync(`${rig.workspace}.away`, rig.workspace);
  });
});
