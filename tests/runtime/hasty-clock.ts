import { instant } from "../../src/protocol/timestamp.ts";
import { type Clock, systemClock } from "../../src/runtime/time/clock.ts";

/** The system's clock, of which a test can let any time pass at once: what is to come only then cannot come too early on a busy machine. */
export class HastyClock implements Clock {
  #ahead = 0;
  readonly #alarms = new Set<{ readonly due: number; readonly ring: () => void }>();

  now(): string {
    return instant(Date.now() + this.#ahead);
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#ahead;
  }

  uptime(): number {
    return systemClock.uptime() + this.#ahead;
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

  /** So much time has passed; whoever waited for a moment in it is called. */
  pass(ms: number): void {
    this.#ahead += ms;
    for (const { due, ring } of [...this.#alarms]) if (due <= this.monotonic()) ring();
  }
}
