import type { CommandContext } from "../context/command.ts";
import type { Scratch } from "./scratch.ts";
import type { Show } from "./show.ts";

/** What the whole demo works with. */
export interface Stage {
  readonly context: CommandContext;
  readonly home: string;
  readonly scratch: Scratch;
  readonly show: Show;
  /** Whether the person at this terminal is asked. */
  readonly ask: boolean;
  /** Somebody wants the demo to end now. */
  readonly interrupted: AbortSignal;
}
