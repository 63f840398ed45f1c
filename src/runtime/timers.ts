import { type Instant, milliseconds } from "../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";

/** Wakes its owner when the earliest of its alarms is due; the alarms themselves are stored with the session. */
export class Alarm {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #due = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Makes sure to wake at `due_at` or before. */
  at(due_at: Instant): void {
    const due = milliseconds(due_at);
    if (due >= this.#due) return;
    this.stop();
    this.#due = due;
    this.#cancel = this.#clock.after(due - milliseconds(this.#clock.now()), () => {
      this.#due = Number.POSITIVE_INFINITY;
      this.#cancel = undefined;
      this.#wake();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#due = Number.POSITIVE_INFINITY;
  }
}
