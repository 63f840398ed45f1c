import { setTimeout as delay } from "node:timers/promises";
import { windowOf } from "../../kernel/role-limits.ts";

const MINUTE_MS = 60_000;

/**
 * Keeps the messages taken from one turn to so many a minute, by saying how long to leave its pipe unread. What came in one piece is
 * taken together, and the wait after it is as much longer.
 */
export class Throttle {
  readonly #most: number;
  readonly #window_ms: number;
  /** When each of the latest messages would have come, had none come too early; on the monotonic clock. */
  #due: number[] = [];
  #waiting: Promise<void> | undefined;
  readonly #closed = new AbortController();

  /** `minute_ms` is how long a minute takes. */
  constructor(messages_per_minute: number, minute_ms?: number) {
    const { most, window_ms } = windowOf(messages_per_minute, minute_ms);
    this.#most = most;
    this.#window_ms = window_ms;
  }

  /** A message has been taken; gives what to wait for before the next, unless it may come now. */
  taken(): Promise<void> | undefined {
    const now = performance.now();
    this.#due = [...this.#due, Math.max(now, this.#next)].slice(-this.#most);
    if (this.#next <= now || this.#closed.signal.aborted) return undefined;
    this.#waiting ??= this.#wait();
    return this.#waiting;
  }

  /** Nobody listens any more: whoever waits need not. */
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
