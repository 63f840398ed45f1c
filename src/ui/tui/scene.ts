import type { Presentation } from "../../kernel/presentation.ts";
import { formatDuration } from "../../lib/durations.ts";
import type { SessionModel } from "../model/model.ts";
import type { StoryLine } from "./stories.ts";

export interface Shown {
  readonly model: SessionModel;
  /** How the session's mode presents its tickets; undefined until it is known. */
  readonly presentation?: Presentation | undefined;
  /** In ms since 1970. */
  readonly now: number;
  /** The latest events, oldest first. */
  readonly events: readonly StoryLine[];
  /** A ticket's events and its agents' output, oldest first. */
  readonly story: (ticket_id: string) => readonly StoryLine[];
}

/** Everything the dashboard shows at one instant. Plain data: `dashboardFrame` draws it. */
export interface Scene extends Shown {
  /** The command that answers the oldest ask, as it is typed here. */
  readonly answer: string;
  /** Whether this screen can answer asks and send commands. */
  readonly steers: boolean;
  /** Whether there is a git repository, whose changes can be shown. */
  readonly diffs: boolean;
  /** Whether the result waits to be accepted, and can then be merged. */
  readonly merges: boolean;
  /** What is away, and when it is tried again. */
  readonly outages: readonly string[];
  /** What Ctrl-C does here. */
  readonly ctrl_c: "stops" | "detaches";
  /** Whether `q` detaches from a session that runs in a process of its own. */
  readonly detaches: boolean;
  /** A message from the dashboard itself: the outcome of a command, or a warning. */
  readonly notice: string | undefined;
}

/** The smallest terminal that the dashboard fits. */
export const MIN_SIZE = { columns: 40, rows: 10 } as const;

/** A duration in whole seconds or longer units: `0s`, `48s`, `3m18s`, `2h05m`. */
export function elapsed(ms: number): string {
  return formatDuration(Math.floor(ms / 1_000) * 1_000);
}
