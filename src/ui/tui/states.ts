import type { Style } from "../terminal.ts";

/** How a ticket's state is shown; never by colour alone. */
export interface ShownState {
  readonly icon: string;
  readonly word: string;
  readonly style?: Style | undefined;
}

const STATES: Readonly<Record<string, ShownState>> = {
  pending: { icon: "·", word: "pending", style: "dim" },
  discussing: { icon: "?", word: "discussing", style: "cyan" },
  in_progress: { icon: ">", word: "in progress", style: "cyan" },
  awaiting_review: { icon: "R", word: "review", style: "cyan" },
  blocked: { icon: "!", word: "blocked", style: "yellow" },
  error: { icon: "x", word: "error", style: "red" },
  done: { icon: "+", word: "done", style: "green" },
};

/** A state that only one mode has is shown by its name. */
export function shownState(status: string): ShownState {
  return STATES[status] ?? { icon: "-", word: status };
}

/** The order of the counts in the header. */
export const COUNTED = ["in_progress", "awaiting_review", "discussing", "blocked", "pending", "error"];
