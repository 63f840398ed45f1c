import { describe, expect, it } from "vitest";
import { emptyLedger, type Ledger } from "../../src/kernel/ledger.ts";
import { failure } from "../../src/protocol/failure.ts";
import { instant } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";
import { Timers } from "../../src/runtime/time/timers.ts";
import { crew, instructed, report, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, logOf, recordOf, reportOf, resume, run, told } from "./sessions.ts";

/** A clock that stands until it is moved. */
class StandingClock implements Clock {
  #now = 0;
  readonly #alarms = new Set<{ at: number; ring: () => void }>();

  now(): string {
    return instant(this.#now);
  }

  monotonic(): number {
    return this.#now;
  }

  uptime(): number {
    return this.#now;
  }

  soon(callback: () => void): void {
    queueMicrotask(callback);
  }

  after(delay_ms: number, callback: () => void): () => void {
    const alarm = { at: this.#now + Math.max(0, delay_ms), ring: callback };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  get armed(): number[] {
    return [...this.#alarms].map(({ at }) => at);
  }

  moveTo(at: number): void {
    this.#now = at;
    for (const alarm of [...this.#alarms]) {
      if (alarm.at > at) continue;
      this.#alarms.delete(alarm);
      alarm.ring();
    }
  }
}

function clockwork(): { ledger: Ledger; clock: StandingClock; timers: Timers; woken: () => number } {
  const ledger = emptyLedger();
  const clock = new StandingClock();
  let wakes = 0;
  const timers = new Timers(ledger, clock, () => {
    wakes += 1;
  });
  return { ledger, clock, timers, woken: () => wakes };
}

describe("timers", () => {
  it("are read once, not at every rest, and none is missed", () => {
    const { ledger, clock, timers, woken } = clockwork();
    let looks = 0;
    for (let n = 0; n < 100; n++) {
      const due_at = instant(1_000 + n);
      ledger.timers.set(`t${n}`, {
        get due_at() {
          looks += 1;
          return due_at;
        },
      });
    }
    timers.arm();
    expect(looks).toBe(100);
    for (let rest = 0; rest < 50; rest++) timers.arm();
    expect(looks).toBe(100);
    ledger.timers.set("sooner", { due_at: instant(500) });
    timers.at(instant(500));
    timers.arm();
    expect([looks, clock.armed]).toEqual([100, [500]]);
    // What rang was the earliest, and the next one is looked for.
    clock.moveTo(500);
    expect([woken(), timers.due()]).toEqual([1, [{ timer_id: "sooner", due_at: instant(500) }]]);
    ledger.timers.delete("sooner");
    timers.arm();
    expect(clock.armed).toEqual([1_000]);
    // A timer that was cleared leaves its alarm, which wakes once for nothing.
    ledger.timers.delete("t0");
    clock.moveTo(1_000);
    timers.arm();
    expect([timers.due(), clock.armed]).toEqual([[], [1_001]]);
  });

  it("wake for the earliest, and report due ones in order", () => {
    const { ledger, clock, timers, woken } = clockwork();
    for (const [id, at] of [
      ["z", 200],
      ["late", 900],
      ["b", 300],
      ["a", 300],
    ] as const)
      ledger.timers.set(id, { due_at: instant(at) });
    timers.arm();
    expect(clock.armed).toEqual([200]);
    clock.moveTo(199);
    expect([woken(), timers.due()]).toEqual([0, []]);
    clock.moveTo(300);
    expect(woken()).toBe(1);
    expect(timers.due().map(({ timer_id }) => timer_id)).toEqual(["z", "a", "b"]);
  });

  it("wake earlier for an earlier one, and never once stopped", () => {
    const { clock, timers, woken } = clockwork();
    timers.at(instant(500));
    timers.at(instant(100));
    timers.at(instant(400));
    expect(clock.armed).toEqual([100]);
    timers.stop();
    clock.moveTo(1_000);
    expect(woken()).toBe(0);
  });

  it("wake for the end of a hold, but not for one without an end", () => {
    const { ledger, clock, timers } = clockwork();
    ledger.holds.set("forever", { role_id: "forever", reason: "authentication" });
    expect([timers.willWake(() => true), timers.isHeld("forever")]).toEqual([false, true]);
    ledger.holds.set("hand", { role_id: "hand", reason: "rate_limited", until: instant(50) });
    timers.arm();
    expect([clock.armed, timers.willWake(() => true), timers.isHeld("hand")]).toEqual([[50], true, true]);
    expect(timers.willWake((role_id) => role_id !== "hand")).toBe(false);
    clock.moveTo(50);
    expect([timers.isHeld("hand"), timers.isHeld("forever")]).toEqual([false, true]);
  });

  it("that are passive are not waited for", () => {
    const { ledger, timers } = clockwork();
    ledger.timers.set("notice", { due_at: instant(50), passive: true });
    expect(timers.willWake(() => true)).toBe(false);
    ledger.timers.set("retry", { due_at: instant(50) });
    expect(timers.willWake(() => true)).toBe(true);
  });
});

describe("a session", () => {
  it("stopped before a retry tries again after a resume", async () => {
    const rig = newRig();
    let tries = 0;
    const agentFor = crew([instructed("a")], {
      instruction: () => {
        tries += 1;
        return tries > 1 ? report() : { failure: failure("agent_failed", "Not yet."), refused: [] };
      },
    });
    const session = await begin(rig, { agentFor, config: { retry_backoff_ms: 300 } });
    const failed = told(session, recordOf("turn_failed", "a"));
    const ended = run(session);
    await failed;
    session.stop("signal", "enough");
    expect(await ended).toMatchObject({ kind: "stopped" });
    expect([...session.ledger.timers.keys()]).toContain("retry:a");
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
    const [fired] = logOf(rig, session.session_id, "timer_fired");
    expect(fired?.payload["timer_id"]).toBe("retry:a");
    expect(Date.parse(fired?.record.received_at ?? "")).toBeGreaterThanOrEqual(
      Date.parse(fired?.payload["due_at"] as string),
    );
  });

  it("with only a passive timer stops as waiting", async () => {
    const rig = newRig();
    const agentFor = crew([task("a")], {
      ticket: () => ({
        payload_type: "clarification",
        payload: { status: "open", questions: [{ question_id: "q", text: "?" }] },
      }),
    });
    const session = await begin(rig, { agentFor });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "waiting" });
    expect(session.ledger.timers.get("notice")).toMatchObject({ passive: true });
  });

  it.each(["error", "failure"])("with a rate-limited worker (as its %s) waits without an attempt", async (as) => {
    const rig = newRig();
    const runs: (readonly [string | undefined, number, number])[] = [];
    const agentFor = crew(
      ["a", "b"].map((id) => instructed(id)),
      {
        instruction: ({ stamp }) => {
          runs.push([stamp.subject, stamp.run, Date.now()]);
          if (runs.length > 1) return report();
          const details = { retry_at: instant(Date.now() + 250) };
          if (as === "failure") return { failure: failure("rate_limited", "Slow down.", { details }), refused: [] };
          return { payload_type: "error", payload: { code: "rate_limited", message: "Slow down.", details } };
        },
      },
    );
    const session = await begin(rig, { agentFor, config: { max_workers: 1 } });
    expect(await run(session)).toEqual(DONE);
    expect(reportOf(rig, session.session_id)["tickets"]).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
    const [first, ...others] = runs;
    for (const [, , at] of others) expect(at - (first?.[2] ?? 0)).toBeGreaterThanOrEqual(249);
    expect(new Set(others.map(([subject, run]) => `${subject} ${run}`))).toEqual(new Set(["a 2", "b 1"]));
  });

  it("with a role that cannot log in stops as waiting until it can", async () => {
    const rig = newRig();
    let able = false;
    const agentFor = crew([instructed("a")], {
      instruction: () => (able ? report() : { failure: failure("authentication", "Log in first."), refused: [] }),
    });
    const session = await begin(rig, { agentFor });
    expect(await run(session)).toMatchObject({
      kind: "stopped",
      reason: "waiting",
      message: expect.stringContaining("held"),
    });
    able = true;
    const resumed = await resume(rig, session.session_id, { agentFor });
    expect(await run(resumed)).toEqual(DONE);
  });

  it("at its turn limit stops, and goes on with a higher one", async () => {
    const rig = newRig();
    const agentFor = crew(["a", "b", "c"].map((id) => task(id)));
    const session = await begin(rig, { agentFor, config: { budget: { turns: 4 } } });
    expect(await run(session)).toMatchObject({
      kind: "stopped",
      reason: "limit",
      message: "the limit of 4 turns is reached",
    });
    expect(logOf(rig, session.session_id, "turn_request")).toHaveLength(4);
    const same = await resume(rig, session.session_id, { agentFor });
    expect(await run(same)).toMatchObject({ kind: "stopped", reason: "limit" });
    const resumed = await resume(rig, session.session_id, { agentFor }, { limits: { turns: 50 } });
    expect(await run(resumed)).toEqual(DONE);
    expect(reportOf(rig, session.session_id)).toMatchObject({ usage: { turns: 10 } });
  });

  it("at its time limit stops before the next turn", async () => {
    const rig = newRig();
    let ahead = 0;
    const clock: Clock = { ...systemClock, monotonic: () => performance.now() + ahead };
    const agentFor = crew(
      ["a", "b"].map((id) => task(id)),
      {
        instruction: () => {
          ahead = 3_600_000;
          return report();
        },
      },
    );
    const session = await begin(rig, { agentFor, clock, config: { budget: { wall_s: 600 } } });
    expect(await run(session)).toMatchObject({
      kind: "stopped",
      reason: "limit",
      message: "the limit of 600 s is reached",
    });
    const resumed = await resume(rig, session.session_id, { agentFor, clock }, { limits: { wall_s: 100_000 } });
    expect(await run(resumed)).toEqual(DONE);
  });
});
