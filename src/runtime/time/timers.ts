import { endsInTime, holdTimerOf, isHeld, isHeldAt } from "../../kernel/holds.ts";
import type { Ledger, LedgerHold } from "../../kernel/ledger.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import type { SessionContext } from "../context.ts";
import type { Clock } from "./clock.ts";

/** Wakes the session when the earliest of its stored timers is due, or a held role is free again. */
export class Timers {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #wake: () => void;
  /** By hold: the end for which the session has already been woken. */
  readonly #passed = new Map<string, Instant>();
  /** Whether all stored timers have been checked; new ones arrive through `at`. */
  #looked = false;
  #earliest = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(ledger: Ledger, clock: Clock, wake: () => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Sets the alarm for the timers and holds of the ledger. */
  arm(): void {
    // Called at every rest of the session, and there may be a timer for each ticket.
    if (!this.#looked) for (const { due_at } of this.#ledger.timers.values()) this.at(due_at);
    this.#looked = true;
    for (const [id, hold] of this.#ledger.holds) {
      if (hold.until && this.#isAhead(id, hold)) this.at(hold.until);
      const last = this.#ledger.timers.get(holdTimerOf(this.#ledger, hold.role_id));
      if (last) this.at(last.due_at);
    }
  }

  /** Sets the alarm to `due_at`, unless it is already set earlier. */
  at(due_at: Instant): void {
    const due = milliseconds(due_at);
    if (due >= this.#earliest) return;
    this.#cancel?.();
    this.#earliest = due;
    this.#cancel = this.#clock.after(due - milliseconds(this.#clock.now()), () => {
      this.stop();
      const now = this.#clock.now();
      for (const [id, hold] of this.#ledger.holds) {
        if (hold.until && !isHeldAt(hold, now)) this.#passed.set(id, hold.until);
      }
      this.#wake();
    });
  }

  /** Resets the alarm after a jump in time. */
  again(): void {
    this.stop();
    this.arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#looked = false;
    this.#earliest = Number.POSITIVE_INFINITY;
  }

  /** The timers that are due, earliest first. */
  due(): { readonly timer_id: string; readonly due_at: Instant }[] {
    const now = milliseconds(this.#clock.now());
    return [...this.#ledger.timers]
      .map(([timer_id, { due_at }]) => ({ timer_id, due_at, at: milliseconds(due_at) }))
      .filter(({ at }) => at <= now)
      .toSorted((a, b) => a.at - b.at || (a.timer_id < b.timer_id ? -1 : 1))
      .map(({ timer_id, due_at }) => ({ timer_id, due_at }));
  }

  /** Whether a timer or the end of a hold will advance the session. Unwanted roles and holds beyond `max_hold_s` do not count. */
  willWake(wants: (role_id: string) => boolean): boolean {
    for (const timer of this.#ledger.timers.values()) if (!timer.passive) return true;
    for (const [id, hold] of this.#ledger.holds) {
      if (!this.#isAhead(id, hold)) continue;
      if ((hold.limit !== undefined || endsInTime(this.#ledger, hold)) && wants(hold.role_id)) return true;
    }
    return false;
  }

  /** Whether the end of a hold is ahead. It counts as ahead until the session has woken for it, since it may pass between admission and rest. */
  #isAhead(id: string, { until }: LedgerHold): boolean {
    return until !== undefined && this.#passed.get(id) !== until;
  }

  isHeld(role_id: string): boolean {
    // Called for every seat, so the clock is read only if there are holds.
    return this.#ledger.holds.size > 0 && isHeld(this.#ledger, role_id, this.#clock.now());
  }
}

/** Poll interval for sleep, a set clock or a lost lease, in ms. */
const LOOK_EVERY_MS = 5_000;

/** Polls for what sends no event: a set clock, the machine's sleep, a lost lease. */
export class TimeWatch {
  readonly #context: SessionContext;
  readonly #timers: Timers;
  #cancel: (() => void) | undefined;

  constructor(context: SessionContext, timers: Timers) {
    this.#context = context;
    this.#timers = timers;
  }

  start(): void {
    const { clock, store, lease } = this.#context;
    this.#cancel = clock.after(LOOK_EVERY_MS, () => {
      const mine = store.confirm(lease);
      if (!mine.ok) return this.#context.fail(mine.error);
      this.look();
      this.start();
    });
  }

  /** Records the shifts of time since the last call. */
  look(): void {
    const shifts = this.#context.clock.look();
    for (const { cause, shift_ms } of shifts)
      this.#context.submit({ source: "scheduler", payload_type: "time_shifted", payload: { cause, shift_ms } });
    if (shifts.length > 0) this.#timers.again();
  }

  stop(): void {
    this.#cancel?.();
  }
}
