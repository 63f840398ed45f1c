import type { Lease, Store } from "../../store/store.ts";
import type { SteadyClock } from "./steady-clock.ts";
import type { SessionDoor } from "../door.ts";

/** How soon sleep of the machine, or the loss of the session to somebody else, is noticed, in ms. */
const LOOK_EVERY_MS = 5_000;

interface WatchParts {
  readonly clock: SteadyClock;
  readonly store: Pick<Store, "confirm">;
  readonly lease: Lease;
}

interface WatchDoor extends SessionDoor {
  /** Time went on otherwise than the alarms that are set know. */
  shifted(): void;
}

/** Looks now and then at what goes on without a word: time that was set or slept through, and a session that was taken over. */
export class TimeWatch {
  readonly #parts: WatchParts;
  readonly #door: WatchDoor;
  #cancel: (() => void) | undefined;

  constructor(parts: WatchParts, door: WatchDoor) {
    this.#parts = parts;
    this.#door = door;
  }

  start(): void {
    const { clock, store, lease } = this.#parts;
    this.#cancel = clock.after(LOOK_EVERY_MS, () => {
      const mine = store.confirm(lease);
      if (!mine.ok) return this.#door.fail(mine.error);
      this.look();
      this.start();
    });
  }

  /** Puts on record what happened to time since the last look. */
  look(): void {
    const shifts = this.#parts.clock.look();
    for (const { cause, shift_ms } of shifts)
      this.#door.submit({ source: "scheduler", payload_type: "time_shifted", payload: { cause, shift_ms } });
    if (shifts.length > 0) this.#door.shifted();
  }

  stop(): void {
    this.#cancel?.();
  }
}
