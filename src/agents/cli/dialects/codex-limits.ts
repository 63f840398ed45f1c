import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import type { QuotaWindow } from "../../../protocol/record.ts";
import { instant } from "../../../protocol/timestamp.ts";

const DAY_MINUTES = 1_440;

/** The rate-limit windows of a subscription, as codex reports them. An API key has none. */
export function windowsIn({ limitId, limitName, primary, secondary }: JsonObject): QuotaWindow[] {
  // The limit of a single model has its own id.
  const about = textOf(limitId) === "codex" ? "" : textOf(limitName) || textOf(limitId);
  return [primary, secondary].flatMap((window) => {
    const { usedPercent, windowDurationMins: minutes, resetsAt } = objectOf(window);
    if (typeof usedPercent !== "number" || typeof minutes !== "number" || typeof resetsAt !== "number") return [];
    const name = `${lengthOf(minutes)} ${about}`.trim();
    return [{ name, used_percent: Math.min(100, Math.max(0, usedPercent)), resets_at: instant(resetsAt * 1_000) }];
  });
}

function lengthOf(minutes: number): string {
  if (minutes === 7 * DAY_MINUTES) return "week";
  return minutes % DAY_MINUTES === 0 ? `${minutes / DAY_MINUTES}d` : `${Math.round(minutes / 60)}h`;
}
