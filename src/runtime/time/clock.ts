import os from "node:os";
import { type Instant, instant } from "../../protocol/timestamp.ts";

/** The only time there is: whatever happens "now" or "later" in a session goes through it. */
export interface Clock {
  /** What the wall shows; it can jump either way. */
  now(): Instant;
  /** Milliseconds that only grow, from an arbitrary moment; where the system has such a clock, they stand still while it sleeps. */
  monotonic(): number;
  /** Milliseconds since the machine was started, sleep included. */
  uptime(): number;
  /** Calls back once after `delay_ms`; the returned function takes it back. */
  after(delay_ms: number, callback: () => void): () => void;
  /** Calls back once everything that is at hand now has been taken in. */
  soon(callback: () => void): void;
}

/** Node's timers overflow above this many ms; a longer delay wakes up early and is armed again. */
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
