import type { Presentation } from "../../kernel/presentation.ts";
import type { SessionModel, SpendModel } from "../model/model.ts";
import type { StoryLine } from "./stories.ts";

/** Everything the dashboard shows at one instant. Plain data: `dashboardFrame` draws it. */
export interface Scene {
  readonly model: SessionModel;
  /** What the session's mode calls its tickets and what they state; undefined until it is known. */
  readonly presentation?: Presentation | undefined;
  /** Now, in ms since 1970. */
  readonly now: number;
  /** What happened last, oldest first. */
  readonly events: readonly StoryLine[];
  /** What happened to a ticket and what its agents printed, oldest first. */
  readonly story: (ticket_id: string) => readonly StoryLine[];
  /** The command that answers what waits longest, as it is typed here. */
  readonly answer: string | undefined;
  /** Whether this screen can answer and steer. */
  readonly steers: boolean;
  /** What Ctrl-C does here. */
  readonly ctrl_c: "stops" | "detaches";
  /** Whether `q` leaves the session running in a process of its own. */
  readonly detaches: boolean;
  /** A message of the dashboard itself: what a command led to, or a warning. */
  readonly notice: string | undefined;
}

/** The smallest terminal that the dashboard fits. */
export const MIN_SIZE = { columns: 40, rows: 10 } as const;

/** `$4.33`, `$4.33+` if some turns did not tell their cost, `$?` if none did. */
export function costWords({ cost_usd, unpriced }: SpendModel): string {
  if (unpriced === 0) return `$${cost_usd.toFixed(2)}`;
  return cost_usd > 0 ? `$${cost_usd.toFixed(2)}+` : "$?";
}

/** `0`, `950`, `41k`, `1.2M`. */
export function thousands(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** `48s`, `3m18s`, `2h05m`, `3d04h`: always two units once there is more than one. */
export function elapsed(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86_400)}d${two(Math.floor((s % 86_400) / 3600))}h`;
}
