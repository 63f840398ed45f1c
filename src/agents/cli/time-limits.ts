import os from "node:os";

/** Maximum time between two checks of the limits. */
const CHECK_EVERY_MS = 5_000;
/** A check that is this late, by the clock that includes sleep, means that the machine slept or this process was stopped. */
const PAUSE_MS = 1_000;

/** In milliseconds; 0 means no limit. */
export interface TimeLimitSettings {
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  readonly answer_grace_ms: number;
}

export type TimeCause = "answered" | "timeout" | "idle_timeout";

/** The time limits of one run. They share one timer, because there may be a thousand runs. */
export class TimeLimits {
  readonly #settings: TimeLimitSettings;
  /** Whether a pipe of the agent is paused. */
  readonly #isPaused: () => boolean;
  readonly #passed: (cause: TimeCause) => void;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due, by the clock that includes sleep; all times are in ms. */
  #expected = Number.POSITIVE_INFINITY;
  #started = 0;
  #lastOutput = 0;
  #answered: number | undefined;
  #suspended: number | undefined;
  #over = false;

  constructor(settings: TimeLimitSettings, isPaused: () => boolean, passed: (cause: TimeCause) => void) {
    this.#settings = settings;
    this.#isPaused = isPaused;
    this.#passed = passed;
  }

  /** Call when the agent has its request: the limits start here. */
  start(): void {
    this.#started = performance.now();
    this.#check();
  }

  /** Call when the agent has answered: it has `answer_grace_ms` to exit, and no other limit. */
  answered(): void {
    this.#answered = performance.now();
    this.#check();
  }

  get isAnswered(): boolean {
    return this.#answered !== undefined;
  }

  /** Call when the agent prints, or when a paused pipe is read again. */
  activity(): void {
    this.#lastOutput = performance.now();
  }

  /** Suspends all limits until `proceed`, while the agent waits for a person. */
  suspend(): void {
    this.#suspended ??= performance.now();
  }

  proceed(): void {
    if (this.#suspended === undefined) return;
    this.#started += performance.now() - this.#suspended;
    this.#suspended = undefined;
    this.activity();
    this.#check();
  }

  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** The next limit, as far as is known now, and when it is due. */
  #next(): readonly [cause: TimeCause, due: number] {
    const { timeout_ms, idle_timeout_ms, answer_grace_ms } = this.#settings;
    if (this.#answered !== undefined) return ["answered", this.#answered + answer_grace_ms];
    const timeout = timeout_ms > 0 ? this.#started + timeout_ms : Number.POSITIVE_INFINITY;
    // Paused pipes do not count as idle.
    const lastActivity = this.#isPaused() ? performance.now() : this.#lastOutput;
    const idle =
      idle_timeout_ms > 0 ? Math.max(this.#started, lastActivity) + idle_timeout_ms : Number.POSITIVE_INFINITY;
    return idle < timeout ? ["idle_timeout", idle] : ["timeout", timeout];
  }

  /** Reports a limit that has passed by the monotonic clock, or checks again later. */
  #check(): void {
    // An agent that has answered waits for nobody.
    const waits = this.#suspended !== undefined && this.#answered === undefined;
    if (this.#over || waits) return;
    clearTimeout(this.#timer);
    // The machine slept or this process was stopped, so output could not be read: that time does not count as idle.
    const uptime = os.uptime() * 1_000;
    if (uptime - this.#expected >= PAUSE_MS) this.activity();
    const [cause, due] = this.#next();
    const remaining = due - performance.now();
    if (remaining <= 0) return this.#passed(cause);
    if (remaining === Number.POSITIVE_INFINITY) return;
    const delay_ms = Math.min(Math.ceil(remaining), CHECK_EVERY_MS);
    this.#expected = uptime + delay_ms;
    // After a stall of the event loop, output is read before the limits are checked.
    this.#timer = setTimeout(() => setImmediate(() => this.#check()), delay_ms);
  }
}
