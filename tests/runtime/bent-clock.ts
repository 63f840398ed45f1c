import { instant } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";

/** A clock whose wall can be set, whose machine can sleep, and whose time can pass at once. */
export class BentClock implements Clock {
  /** How far the wall was set from the right time, in ms. */
  set = 0;
  /** How long the machine has slept, in ms: its alarms stood still meanwhile. */
  slept = 0;
  #passed = 0;
  readonly #alarms = new Set<{ readonly due: number; readonly ring: () => void }>();

  now(): string {
    return instant(Date.now() + this.set + this.slept + this.#passed);
  }

  monotonic(): number {
    return performance.now() + this.#passed;
  }

  uptime(): number {
    return systemClock.uptime() + this.slept + this.#passed;
  }

  after(delay_ms: number, callback: () => void): () => void {
    const ring = () => {
      cancel();
      callback();
    };
    const alarm = { due: this.monotonic() + delay_ms, ring };
    const stop = systemClock.after(delay_ms, ring);
    const cancel = () => {
      stop();
      this.#alarms.delete(alarm);
    };
    this.#alarms.add(alarm);
    return cancel;
  }

  soon(callback: () => void): void {
    systemClock.soon(callback);
  }

  /** How long it is until each alarm, in ms. */
  get delays(): readonly number[] {
    return [...this.#alarms].map(({ due }) => due - this.monotonic());
  }

  /** So much time passes at once; whoever waited for a moment in it is called. */
  pass(ms: number): void {
    this.#passed += ms;
    for (const { due, ring } of [...this.#alarms]) if (due <= this.monotonic()) ring();
  }

  /** Everything that waits for a time looks again now, as it would in some seconds. */
  wakeAll(): void {
    for (const { ring } of [...this.#alarms]) ring();
  }
}
