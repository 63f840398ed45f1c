import { endsInTime, holdTimerOf, isHeld, isHeldAt } from "../../kernel/holds.ts";
import type { Ledger, LedgerHold } from "../../kernel/ledger.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";

/** Wakes the session when the earliest of its stored timers is due, or a held role is free again. */
export class Timers {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #wake: () => void;
  /** Of each hold the end for which the session has been woken. */
  readonly #passed = new Map<string, Instant>();
  /** Every timer that a command set has been looked at; what is set anew comes by `at`. */
  #looked = false;
  #earliest = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(ledger: Ledger, clock: Clock, wake: () => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Makes sure to wake for everything in the ledger. */
  arm(): void {
    // Asked whenever the session comes to rest, and there may be a timer for each ticket.
    if (!this.#looked) for (const { due_at } of this.#ledger.timers.values()) this.at(due_at);
    this.#looked = true;
    for (const [id, hold] of this.#ledger.holds) {
      if (hold.until && this.#isAhead(id, hold)) this.at(hold.until);
      const last = this.#ledger.timers.get(holdTimerOf(this.#ledger, hold.role_id));
      if (last) this.at(last.due_at);
    }
  }

  /** Makes sure to wake at `due_at` or before. */
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

  /** Arms anew: time has gone on otherwise than the alarm that is set knows. */
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

  /** What is due now, earliest first. */
  due(): { readonly timer_id: string; readonly due_at: Instant }[] {
    const now = milliseconds(this.#clock.now());
    return [...this.#ledger.timers]
      .map(([timer_id, { due_at }]) => ({ timer_id, due_at, at: milliseconds(due_at) }))
      .filter(({ at }) => at <= now)
      .toSorted((a, b) => a.at - b.at || (a.timer_id < b.timer_id ? -1 : 1))
      .map(({ timer_id, due_at }) => ({ timer_id, due_at }));
  }

  /**
   * Whether a timer or a hold that ends by itself will move the session. Waiting for a hold that outlasts `max_hold_s` would be in
   * vain, and so would it be for a role that the session does not want.
   */
  willWake(wants: (role_id: string) => boolean): boolean {
    for (const timer of this.#ledger.timers.values()) if (!timer.passive) return true;
    for (const [id, hold] of this.#ledger.holds) {
      if (!this.#isAhead(id, hold)) continue;
      if ((hold.limit !== undefined || endsInTime(this.#ledger, hold)) && wants(hold.role_id)) return true;
    }
    return false;
  }

  /** A hold that has run out counts until its end was told: it may run out between an admission and the look at what is left. */
  #isAhead(id: string, { until }: LedgerHold): boolean {
    return until !== undefined && this.#passed.get(id) !== until;
  }

  isHeld(role_id: string): boolean {
    // Asked for every seat that is looked for, so the time is only read where anybody is held.
    return this.#ledger.holds.size > 0 && isHeld(this.#ledger, role_id, this.#clock.now());
  }
}
