import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/kernel/agent.ts";
import type { ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { instant, milliseconds } from "../../src/protocol/timestamp.ts";
import type { Clock } from "../../src/runtime/time/clock.ts";
import { sessionTime } from "../../src/runtime/time/session-time.ts";
import { SteadyClock } from "../../src/runtime/time/steady-clock.ts";
import { BentClock } from "./bent-clock.ts";
import { crew, report, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, logOf, recordOf, reportOf, resume, type Rig, run, told } from "./sessions.ts";

const HOUR = 3_600_000;
const YEARS = 10 * 365 * 24 * HOUR;

/** A clock whose every hand is moved by hand. */
class HandClock implements Clock {
  wall = 1_000_000_000_000;
  awake = 5_000;
  up = 90_000;
  now = () => instant(this.wall);
  monotonic = () => this.awake;
  uptime = () => this.up;
  after = () => () => {};
  soon = () => {};

  pass(ms: number): void {
    this.wall += ms;
    this.awake += ms;
    this.up += ms;
  }

  sleep(ms: number): void {
    this.wall += ms;
    this.up += ms;
  }
}

describe("a session's time", () => {
  it("starts at the wall clock and follows elapsed time", () => {
    const hands = new HandClock();
    const clock = new SteadyClock(hands);
    expect(clock.now()).toBe(instant(hands.wall));
    hands.pass(1_500);
    expect(clock.now()).toBe(instant(hands.wall));
    expect(clock.look()).toEqual([]);
  });

  it.each([YEARS, -24 * HOUR])("ignores a wall clock set by %d ms, and reports it once", (by) => {
    const hands = new HandClock();
    const clock = new SteadyClock(hands);
    const before = hands.wall;
    hands.pass(1_000);
    hands.wall += by;
    expect(clock.look()).toEqual([{ cause: "clock", shift_ms: by }]);
    expect(clock.look()).toEqual([]);
    expect(clock.now()).toBe(instant(before + 1_000));
  });

  it("follows the machine's sleep, and reports it once", () => {
    const hands = new HandClock();
    const clock = new SteadyClock(hands);
    hands.sleep(8 * HOUR);
    expect(clock.look()).toEqual([{ cause: "sleep", shift_ms: 8 * HOUR }]);
    expect(clock.look()).toEqual([]);
    expect(clock.now()).toBe(instant(hands.wall));
  });

  it("distinguishes sleep from a clock that was set meanwhile", () => {
    const hands = new HandClock();
    const clock = new SteadyClock(hands);
    hands.sleep(HOUR);
    hands.wall -= YEARS;
    expect(clock.look()).toEqual([
      { cause: "sleep", shift_ms: HOUR },
      { cause: "clock", shift_ms: -YEARS },
    ]);
  });

  it("ignores small jitter", () => {
    const hands = new HandClock();
    const clock = new SteadyClock(hands);
    hands.wall += 900;
    hands.up += 900;
    expect(clock.look()).toEqual([]);
  });

  it("never starts before the last record", () => {
    const hands = new HandClock();
    const last = instant(hands.wall + HOUR);
    const clock = new SteadyClock(hands, last);
    expect(clock.now()).toBe(last);
    expect(clock.look()).toEqual([]);
    expect(new SteadyClock(hands, instant(hands.wall - HOUR)).now()).toBe(instant(hands.wall));
  });
});

/** The shifts on record, to the second: two clocks are never read at one moment. */
function shiftsIn(rig: Rig, session_id: string): { cause: unknown; shift_s: number }[] {
  return logOf(rig, session_id, "time_shifted").map(({ payload }) => ({
    cause: payload["cause"],
    shift_s: Math.round(Number(payload["shift_ms"]) / 1_000),
  }));
}

describe("a session whose wall clock is set while it works", () => {
  it.each([YEARS, -24 * HOUR])("retries in time after a change of %d ms, and records it", async (by) => {
    const rig = newRig();
    const clock = new BentClock();
    let tries = 0;
    const agentFor = crew([task("a")], {
      instruction: () => {
        tries += 1;
        if (tries > 1) return report();
        clock.set = by;
        return { payload_type: "error", payload: { code: "agent_failed", message: "not today" } };
      },
    });
    const session = await begin(rig, { agentFor, clock, config: { retry_backoff_ms: 1_000 } });
    const began = performance.now();
    expect(await run(session)).toEqual(DONE);
    expect(performance.now() - began).toBeLessThan(60_000);
    expect(shiftsIn(rig, session.session_id)).toEqual([{ cause: "clock", shift_s: by / 1_000 }]);
    expect(reportOf(rig, session.session_id)).toMatchObject({ tickets: [{ attempts: 2 }] });
    const times = logOf(rig, session.session_id).map(({ record }: LogRecord) => milliseconds(record.received_at));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(60_000);
  });

  it.each([YEARS, -24 * HOUR])("tells its time to others after a change of %d ms", async (by) => {
    const rig = newRig();
    const clock = new BentClock();
    const told_at: number[] = [];
    const agentFor = crew([task("a")], {
      instruction: () => {
        clock.set = by;
        told_at.push(sessionTime(rig.store, session_id, true));
        return report();
      },
    });
    // The wall clock is right again before the session is over.
    clock.set = HOUR;
    const session = await begin(rig, { agentFor, clock });
    const { session_id } = session;
    expect(await run(session)).toEqual(DONE);
    const last = milliseconds(logOf(rig, session_id).at(-1)?.record.received_at ?? "");
    expect(Math.abs(last - (told_at[0] ?? 0))).toBeLessThan(60_000);
    expect(sessionTime(rig.store, session_id, false)).toBe(last);
  });

  it("does not wait twice if it is set back between schedulers", async () => {
    const rig = newRig();
    const clock = new BentClock();
    let tries = 0;
    const agentFor = crew([task("a")], {
      instruction: () => {
        tries += 1;
        return tries > 1
          ? report()
          : { payload_type: "error" as const, payload: { code: "agent_failed", message: "not today" } };
      },
    });
    const session = await begin(rig, { agentFor, clock, config: { retry_backoff_ms: 1_000 } });
    const failed = told(session, recordOf("error", "a"));
    const ending = run(session);
    await failed;
    session.stop("signal", "home time");
    await ending;
    clock.set = -24 * HOUR;
    const resumed = await resume(rig, session.session_id, { agentFor, clock });
    expect(await run(resumed)).toEqual(DONE);
    const times = logOf(rig, session.session_id).map(({ record }: LogRecord) => milliseconds(record.received_at));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
});

describe("a machine that sleeps while an agent works", () => {
  /** An agent whose first run loses its connection after the machine slept, and whose next one does its work. */
  function dropped(clock: BentClock, code: string): { agent: Agent; runs: number[] } {
    const runs: number[] = [];
    const agent: Agent = {
      async turn(request) {
        runs.push(request.stamp.run);
        if (runs.length > 1) return { answer: report(), refused: [] };
        clock.slept = 8 * HOUR;
        clock.wakeAll();
        return { failure: { code, message: "the connection was lost" }, refused: [] };
      },
    } as Agent;
    return { agent, runs };
  }

  /** A session of these tasks whose first worker is cut short so. */
  async function asleep(code: string, tasks: Parameters<typeof crew>[0], config: Partial<ResolvedConfiguration> = {}) {
    const rig = newRig();
    const clock = new BentClock();
    const { agent, runs } = dropped(clock, code);
    const manager = crew(tasks);
    const agentFor = (role: Role) => (role.type === "worker" ? agent : manager(role));
    return { rig, runs, session: await begin(rig, { clock, agentFor, config }) };
  }

  it("repeats the interrupted turn without an attempt, and records the sleep", async () => {
    const { rig, session, runs } = await asleep("agent_failed", [task("a")]);
    expect(await run(session)).toEqual(DONE);
    expect(runs).toEqual([1, 2]);
    expect(reportOf(rig, session.session_id)).toMatchObject({ tickets: [{ attempts: 1 }] });
    expect(shiftsIn(rig, session.session_id)).toEqual([{ cause: "sleep", shift_s: (8 * HOUR) / 1_000 }]);
    const [first, second] = logOf(rig, session.session_id, "turn_request").filter(({ target }) => target === "hand");
    expect(
      milliseconds(second?.record.received_at ?? "") - milliseconds(first?.record.received_at ?? ""),
    ).toBeGreaterThan(7 * HOUR);
    expect(second?.payload["context"]).toMatchObject({ notes: [expect.stringContaining("half done")] });
  });

  it("counts an attempt that failed for another reason", async () => {
    const { rig, session } = await asleep("malformed_output", [task("a")], { retry_backoff_ms: 0 });
    expect(await run(session)).toEqual(DONE);
    expect(reportOf(rig, session.session_id)).toMatchObject({ tickets: [{ attempts: 2 }] });
  });

  it("does not count sleep as session time", async () => {
    const { session } = await asleep("agent_failed", [task("a"), task("b")], { budget: { wall_s: 600 } });
    expect(await run(session)).toEqual(DONE);
  });
});
