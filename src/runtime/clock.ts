import { type Instant, instant } from "../protocol/timestamp.ts";

/** The only time there is: whatever happens "now" or "later" in a session goes through it. */
export interface Clock {
  now(): Instant;
  /** Calls back once after `delay_ms`; the returned function takes it back. */
  after(delay_ms: number, callback: () => void): () => void;
}

/** Node's timers overflow above this many ms; a longer delay wakes up early and is armed again. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => instant(Date.now()),
  after(delay_ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delay_ms, 0), LONGEST_DELAY_MS));
    return () => clearTimeout(timer);
  },
};
