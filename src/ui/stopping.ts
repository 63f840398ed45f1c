import { formatDuration } from "../lib/durations.ts";
import type { SessionEvent } from "../runtime/bus.ts";
import type { Opening } from "./reporter.ts";
import { counted } from "./words.ts";

/** The message that a signal or a person stops the session, with what Ctrl-C does next. Undefined for other reasons to stop. */
export function stoppingWords(
  { reason, running }: Extract<SessionEvent, { kind: "stopping" }>,
  opening: Pick<Opening, "kill_grace_s" | "elsewhere"> | undefined,
): string | undefined {
  if (reason !== "signal") return undefined;
  const grace_s = opening?.kill_grace_s ?? 0;
  const grace = grace_s === 0 ? "" : ` (${formatDuration(grace_s * 1000)})`;
  const asked = running === 0 ? "no agent is running" : `asked ${counted(running, "agent")} to end${grace}`;
  if (opening?.elsewhere?.ctrl_c === "detaches") return `Stopping: ${asked}.`;
  return `Stopping: ${asked}. Press Ctrl-C again to ${running === 0 ? "end at once" : "kill them"}.`;
}
