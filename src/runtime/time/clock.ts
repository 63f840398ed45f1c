import os from "node:os";
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

/** Node's timers overflow above this many ms. Longer delays call back early, and callers set them again. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => instant(Date.now()),
  monotonic: () => performance.now(),
  uptime: () => os.uptime() * 1000,
  after(delay_ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delay_ms, 0), LONGEST_DELAY_MS));
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};
