import type { Presentation } from "../../kernel/presentation.ts";
import type { SessionModel, SpendModel } from "../model/model.ts";
import type { StoryLine } from "./stories.ts";

/** Everything the dashboard shows at one instant. Plain data: `dashboardFrame` draws it. */
export interface Scene {
  readonly model: SessionModel;
  /** How the session's mode presents its tickets; undefined until it is known. */
  readonly presentation?: Presentation | undefined;
  /** In ms since 1970. */
  readonly now: number;
  /** The latest events, oldest first. */
  readonly events: readonly StoryLine[];
  /** A ticket's events and its agents' output, oldest first. */
  readonly story: (ticket_id: string) => readonly StoryLine[];
  /** The command that answers the oldest ask, as it is typed here. */
  readonly answer: string | undefined;
  /** Whether this screen can answer asks and send commands. */
  readonly steers: boolean;
  /** What Ctrl-C does here. */
  readonly ctrl_c: "stops" | "detaches";
  /** Whether `q` detaches from a session that runs in a process of its own. */
  readonly detaches: boolean;
  /** A message from the dashboard itself: the outcome of a command, or a warning. */
  readonly notice: string | undefined;
}

/** The smallest terminal that the dashboard fits. */
export const MIN_SIZE = { columns: 40, rows: 10 } as const;

/** `$4.33`, `$4.33+` if some turns did not report their cost, `$?` if none did. */
export function costWords({ cost_usd, unpriced }: SpendModel): string {
  if (unpriced === 0) return `$${cost_usd.toFixed(2)}`;
  return cost_usd > 0 ? `$${cost_usd.toFixed(2)}+` : "$?";
}

/** `0`, `950`, `41k`, `1.2M`. */
export function thousands(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** `48s`, `3m18s`, `2h05m`, `3d04h`: two units from one minute on. */
export function elapsed(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d${two(Math.floor((s % 86_400) / 3600))}h`;
}
