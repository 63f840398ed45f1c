import { type LimitReached, limitsOf, outOfTime } from "../admission/limits.ts";
import type { SessionContext } from "../context.ts";

/** The session's time is up. Turns in flight have `kill_grace_s` to answer. */
interface TimeUp extends LimitReached {
  readonly graceIsOver: boolean;
}

/** Wakes the session when its wall time is up, and when the grace after it is over. */
export class WallTime {
  readonly #context: SessionContext;
  /** When the alarm goes off, in awake ms. */
  #next: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** The limit, if the time is up. `began` is the reading of the monotonic clock when the scheduler began. */
  look(began: number): TimeUp | undefined {
    const { ledger, config, clock } = this.#context;
    const { wall_s } = limitsOf(ledger.figures, config);
    const awake_ms = clock.monotonic() - began;
    const ends = wall_s === undefined ? [] : [wall_s * 1000, (wall_s + config.kill_grace_s) * 1000];
    this.#ringAt(
      ends.find((end) => awake_ms < end),
      awake_ms,
    );
    const limit = wall_s === undefined ? undefined : outOfTime(awake_ms, wall_s);
    return limit && { ...limit, graceIsOver: this.#next === undefined };
  }

  stop(): void {
    this.#cancel?.();
    this.#next = undefined;
  }

  /** Called whenever the session rests, mostly for the alarm that is already set. */
  #ringAt(next: number | undefined, awake_ms: number): void {
    if (next === this.#next) return;
    this.stop();
    this.#next = next;
    if (next === undefined) return;
    this.#cancel = this.#context.clock.after(next - awake_ms, () => {
      this.#next = undefined;
      this.#context.schedule();
    });
  }
}
