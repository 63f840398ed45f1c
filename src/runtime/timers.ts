import { endsInTime, isHeldAt } from "../kernel/holds.ts";
import type { Ledger, LedgerHold } from "../kernel/ledger.ts";
import { type Instant, milliseconds } from "../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";

/** Wakes the session when the earliest of its stored timers is due, or a held role is free again. */
export class Timers {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #wake: () => void;
  /** Ends of holds for which the session has been woken. */
  readonly #passed = new Set<string>();
  #earliest = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(ledger: Ledger, clock: Clock, wake: () => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Makes sure to wake for everything in the ledger. */
  arm(): void {
    for (const { due_at } of this.#ledger.timers.values()) this.at(due_at);
    for (const hold of this.#ledger.holds.values()) if (hold.until && this.#isAhead(hold)) this.at(hold.until);
  }

  /** Makes sure to wake at `due_at` or before. */
  at(due_at: Instant): void {
    const due = milliseconds(due_at);
    if (due >= this.#earliest) return;
    this.stop();
    this.#earliest = due;
    this.#cancel = this.#clock.after(due - milliseconds(this.#clock.now()), () => {
      this.stop();
      for (const { role_id, until } of this.#ledger.holds.values()) {
        if (until && !this.isHeld(role_id)) this.#passed.add(`${role_id} ${until}`);
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

  /** Whether a timer or a hold that ends by itself will move the session; waiting for one that outlasts `max_hold_s` would be in vain. */
  get willWake(): boolean {
    for (const timer of this.#ledger.timers.values()) if (!timer.passive) return true;
    for (const hold of this.#ledger.holds.values())
      if (this.#isAhead(hold) && endsInTime(this.#ledger, hold)) return true;
    return false;
  }

  /** A hold that has run out counts until its end was told: it may run out between an admission and the look at what is left. */
  #isAhead({ role_id, until }: LedgerHold): boolean {
    return until !== undefined && !this.#passed.has(`${role_id} ${until}`);
  }

  isHeld(role_id: string): boolean {
    const hold = this.#ledger.holds.get(role_id);
    return hold !== undefined && isHeldAt(hold, this.#clock.now());
  }
}
