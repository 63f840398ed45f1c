import os from "node:os";

/** How often a time limit is looked at, at least. */
const LOOK_EVERY_MS = 5_000;
/** A look that is late by so much means that this process did not run, by the clock that counts the machine's sleep. */
const PAUSE_MS = 1_000;

/** Milliseconds; 0 is no limit. */
export interface TimeTerms {
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  readonly answer_grace_ms: number;
}

export type TimeCause = "answered" | "timeout" | "idle_timeout";

/** The time limits of one run, with one timer for all of them, since there may be a thousand runs. */
export class TimeLimits {
  readonly #terms: TimeTerms;
  /** Whether something of what the agent says is left unread for now. */
  readonly #isUnread: () => boolean;
  readonly #passed: (cause: TimeCause) => void;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer was to go off, by the clock that counts the machine's sleep; of all times in ms. */
  #expected = Number.POSITIVE_INFINITY;
  #given = 0;
  #lastOutput = 0;
  #answered: number | undefined;
  #over = false;

  constructor(terms: TimeTerms, isUnread: () => boolean, passed: (cause: TimeCause) => void) {
    this.#terms = terms;
    this.#isUnread = isUnread;
    this.#passed = passed;
  }

  /** The work is handed over: the limits count from here. */
  given(): void {
    this.#given = performance.now();
    this.#look();
  }

  /** The answer is there: from now on the process has `answer_grace_ms` to exit, and no other time limit. */
  answered(): void {
    this.#answered = performance.now();
    this.#look();
  }

  get isAnswered(): boolean {
    return this.#answered !== undefined;
  }

  /** It is not silent: it prints, or what it printed is read on. */
  heard(): void {
    this.#lastOutput = performance.now();
  }

  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** The limit that is passed first, as far as can be known now, and when. */
  #next(): readonly [cause: TimeCause, due: number] {
    const { timeout_ms, idle_timeout_ms, answer_grace_ms } = this.#terms;
    if (this.#answered !== undefined) return ["answered", this.#answered + answer_grace_ms];
    const timeout = timeout_ms > 0 ? this.#given + timeout_ms : Number.POSITIVE_INFINITY;
    // What is not read is no silence of the agent's.
    const heard = this.#isUnread() ? performance.now() : this.#lastOutput;
    const idle = idle_timeout_ms > 0 ? Math.max(this.#given, heard) + idle_timeout_ms : Number.POSITIVE_INFINITY;
    return idle < timeout ? ["idle_timeout", idle] : ["timeout", timeout];
  }

  /** Tells if a limit is passed by the monotonic clock, and else looks again later. */
  #look(): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    // The machine slept, or this process was stopped. Nobody could be heard meanwhile, so that was no silence of the agent's.
    const uptime = uptimeMs();
    if (uptime - this.#expected >= PAUSE_MS) this.heard();
    const [cause, due] = this.#next();
    const remaining = due - performance.now();
    if (remaining <= 0) return this.#passed(cause);
    if (remaining === Number.POSITIVE_INFINITY) return;
    const delay_ms = Math.min(Math.ceil(remaining), LOOK_EVERY_MS);
    this.#expected = uptime + delay_ms;
    // The output that came during a stall of the event loop is read before the time is looked at.
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), delay_ms);
  }
}

function uptimeMs(): number {
  return os.uptime() * 1_000;
}
