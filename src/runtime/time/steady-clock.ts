import { type Instant, instant, milliseconds } from "../../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";

/** What has happened to time since it was last looked at, in whole ms. */
export interface Shift {
  /** `sleep`: the machine was suspended for so long. `clock`: somebody set the wall clock by so much, back if negative. */
  readonly cause: "sleep" | "clock";
  readonly shift_ms: number;
}

/** Less than this is the ordinary unsteadiness of clocks, in ms. */
const UNSTEADY_MS = 2_000;

/**
 * A session's time: the wall's when the session was taken up, and from then on only what really passed, sleep included. So a
 * wall clock that is set while a session runs moves neither its timers nor the times in its log, and the log of a session that is
 * taken up under a clock gone wrong still never goes back.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  readonly #anchor: number;
  readonly #monotonic: number;
  readonly #uptime: number;
  /** How long the machine has slept, as far as it was seen. */
  #slept = 0;
  /** By how much the wall has been found off. */
  #off: number;
  /** The time that was told last. */
  #told = { ms: Number.NaN, text: "" };

  /** `notBefore` is the time of the last record there is. */
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
    // Many facts come in one millisecond, and to write a time as text costs more than to read a clock.
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

  /** What has happened since the last look. From now on sleep that is told here has passed for the session, too. */
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
