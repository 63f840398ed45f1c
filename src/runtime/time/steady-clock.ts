import { type Instant, instant, milliseconds } from "../../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";

/** A jump in time since the last check, in whole ms. */
export interface Shift {
  /** `sleep`: the machine was suspended. `clock`: the wall clock was set, back if negative. */
  readonly cause: "sleep" | "clock";
  readonly shift_ms: number;
}

/** Smaller differences are ordinary jitter, in ms. */
const UNSTEADY_MS = 2_000;

/**
 * A session's time: the wall clock when this scheduler started, plus the time that really passed, including sleep. Setting the wall clock
 * therefore moves neither timers nor the times in the log, and a log never goes back in time.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  readonly #anchor: number;
  readonly #monotonic: number;
  readonly #uptime: number;
  /** The sleep noticed so far. */
  #slept = 0;
  /** The deviation of the wall clock noticed so far. */
  #off: number;
  /** The last result of `now`. */
  #told = { ms: Number.NaN, text: "" };

  /** `notBefore` is the time of the last record. */
  constructor(clock: Clock, notBefore?: Instant) {
    const wall = milliseconds(clock.now());
    this.#clock = clock;
    this.#anchor = Math.max(wall, notBefore === undefined ? wall : milliseconds(notBefore));
    this.#off = wall - this.#anchor;
    this.#monotonic = clock.monotonic();
    this.#uptime = clock.uptime();
  }

  now(): Instant {
    const ms = Math.floor(this.#anchor + this.#awake() + this.#slept);
    // Many facts arrive in one millisecond, and formatting a time costs more than reading a clock.
    if (ms !== this.#told.ms) this.#told = { ms, text: instant(ms) };
    return this.#told.text;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  uptime(): number {
    return this.#clock.uptime();
  }

  after(delay_ms: number, callback: () => void): () => void {
    return this.#clock.after(delay_ms, callback);
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback);
  }

  /** Returns the jumps since the last call. From then on, returned sleep counts as passed time of the session. */
  look(): readonly Shift[] {
    const shifts: Shift[] = [];
    const slept = Math.round(this.#clock.uptime() - this.#uptime - this.#awake());
    if (slept - this.#slept >= UNSTEADY_MS) {
      shifts.push({ cause: "sleep", shift_ms: slept - this.#slept });
      this.#slept = slept;
    }
    const off = Math.round(milliseconds(this.#clock.now()) - milliseconds(this.now()));
    if (Math.abs(off - this.#off) >= UNSTEADY_MS) {
      shifts.push({ cause: "clock", shift_ms: off - this.#off });
      this.#off = off;
    }
    return shifts;
  }

  #awake(): number {
    return this.#clock.monotonic() - this.#monotonic;
  }
}
