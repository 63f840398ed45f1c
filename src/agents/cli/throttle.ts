import { setTimeout as delay } from "node:timers/promises";
import { windowOf } from "../../kernel/role-limits.ts";

const MINUTE_MS = 60_000;

/**
 * Limits the messages of one turn to a number per minute, by pausing its pipe. Messages that arrive in one chunk are taken together, and the pause
 * after them is longer.
 */
export class Throttle {
  readonly #most: number;
  readonly #window_ms: number;
  /** When each of the latest messages was due at the allowed rate; on the monotonic clock. */
  #due: number[] = [];
  #waiting: Promise<void> | undefined;
  readonly #closed = new AbortController();

  /** `minute_ms` lets tests shorten the minute. */
  constructor(messages_per_minute: number, minute_ms?: number) {
    const { most, window_ms } = windowOf(messages_per_minute, minute_ms);
    this.#most = most;
    this.#window_ms = window_ms;
  }

  /** Counts a message. Returns a promise to wait for before reading the next one, if any. */
  taken(): Promise<void> | undefined {
    const now = performance.now();
    this.#due = [...this.#due, Math.max(now, this.#next)].slice(-this.#most);
    if (this.#next <= now || this.#closed.signal.aborted) return undefined;
    this.#waiting ??= this.#wait();
    return this.#waiting;
  }

  close(): void {
    this.#closed.abort();
  }

  get #next(): number {
    const [oldest] = this.#due;
    return oldest === undefined || this.#due.length < this.#most ? 0 : oldest + this.#window_ms;
  }

  async #wait(): Promise<void> {
    const { signal } = this.#closed;
    for (
      let left = this.#next - performance.now();
      left > 0 && !signal.aborted;
      left = this.#next - performance.now()
    ) {
      await delay(Math.min(Math.ceil(left), MINUTE_MS), undefined, { signal }).catch(() => undefined);
    }
    this.#waiting = undefined;
  }
}
