import type { SessionContext } from "../context.ts";
import type { Timers } from "./timers.ts";

/** Poll interval for sleep, a set clock or a lost lease, in ms. */
const LOOK_EVERY_MS = 5_000;

/** Polls for what sends no event: a set clock, the machine's sleep, a lost lease. */
export class TimeWatch {
  readonly #context: SessionContext;
  readonly #timers: Timers;
  #cancel: (() => void) | undefined;

  constructor(context: SessionContext, timers: Timers) {
    this.#context = context;
    this.#timers = timers;
  }

  start(): void {
    const { clock, store, lease } = this.#context;
    this.#cancel = clock.after(LOOK_EVERY_MS, () => {
      const mine = store.confirm(lease);
      if (!mine.ok) return this.#context.fail(mine.error);
      this.look();
      this.start();
    });
  }

  /** Records the shifts of time since the last call. */
  look(): void {
    const shifts = this.#context.clock.look();
    for (const { cause, shift_ms } of shifts)
      this.#context.submit({ source: "scheduler", payload_type: "time_shifted", payload: { cause, shift_ms } });
    if (shifts.length > 0) this.#timers.again();
  }

  stop(): void {
    this.#cancel?.();
  }
}
