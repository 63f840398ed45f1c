import type { Ledger } from "../../kernel/ledger.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Clock } from "../time/clock.ts";
import { type LimitReached, limitsOf, outOfTime } from "./limits.ts";

export interface DeadlineParts {
  readonly engine: { readonly ledger: Ledger };
  readonly config: ResolvedConfiguration;
  readonly clock: Clock;
}

/** The end of a session's time while nobody works for it: where a turn is given it is looked at anyway, and what runs may come to its end. */
export class Deadline {
  readonly #parts: DeadlineParts;
  readonly #wake: () => void;
  #cancel: (() => void) | undefined;

  constructor(parts: DeadlineParts, wake: () => void) {
    this.#parts = parts;
    this.#wake = wake;
  }

  /** The limit, if the time is up since `begun` on the monotonic clock; if it is not, makes sure to wake when it is. */
  look(begun: number): LimitReached | undefined {
    const { engine, config, clock } = this.#parts;
    const { wall_s } = limitsOf(engine.ledger.figures, config);
    this.stop();
    if (wall_s === undefined) return undefined;
    const awake_ms = clock.monotonic() - begun;
    const late = outOfTime(awake_ms, wall_s);
    if (!late) this.#cancel = clock.after(wall_s * 1000 - awake_ms, this.#wake);
    return late;
  }

  stop(): void {
    this.#cancel?.();
  }
}
