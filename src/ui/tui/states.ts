import type { Style } from "../terminal.ts";

/** How a ticket's state is shown; never by colour alone. */
export interface ShownState {
  readonly icon: string;
  readonly word: string;
  readonly style?: Style | undefined;
}

/** The states of tickets, in the order of their counts. */
export const STATES: ReadonlyMap<string, ShownState> = new Map(
  Object.entries<ShownState>({
    in_progress: { icon: ">", word: "in progress", style: "cyan" },
    awaiting_review: { icon: "R", word: "review", style: "cyan" },
    discussing: { icon: "?", word: "discussing", style: "cyan" },
    blocked: { icon: "!", word: "blocked", style: "yellow" },
    pending: { icon: "·", word: "pending", style: "dim" },
    error: { icon: "x", word: "error", style: "red" },
    done: { icon: "+", word: "done", style: "green" },
  }),
);

/** A state that only one mode has is shown by its name. */
export function shownState(status: string): ShownState {
  return STATES.get(status) ?? { icon: "-", word: status };
}
