import os from "node:os";
import { MAX_TIMER_MS } from "../../lib/time-limit.ts";
import { type Instant, instant } from "../../protocol/timestamp.ts";

/** The only source of time in a session. */
export interface Clock {
  /** The wall clock, which can jump either way. */
  now(): Instant;
  /** Milliseconds that never decrease. They stand still while the machine sleeps, if the system has such a clock. */
  monotonic(): number;
  /** Milliseconds since the machine was booted, including sleep. */
  uptime(): number;
  /** Calls back once after `delay_ms`. The returned function cancels it. */
  after(delay_ms: number, callback: () => void): () => void;
  /** Calls back in the next turn of the event loop, once pending input has been taken in. */
  soon(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => instant(Date.now()),
  monotonic: () => performance.now(),
  uptime: () => os.uptime() * 1000,
  after(delay_ms, callback) {
    // A longer delay calls back early, and callers set it again.
    const timer = setTimeout(callback, Math.min(Math.max(delay_ms, 0), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};
