import { type JsonObject, objectOf } from "../../../lib/json.ts";
import type { QuotaWindow } from "../../../protocol/record.ts";
import { type Instant, instant, later, milliseconds } from "../../../protocol/timestamp.ts";

/** How long a role is held when the server is busy but does not report until when, in ms. */
const BUSY_MS = 60_000;

const WINDOWS: Readonly<Record<string, string>> = { five_hour: "5h", seven_day: "week" };

/** The rate-limit windows of a subscription, and the last reported wait. */
export class ClaudeLimits {
  #info: JsonObject = {};
  #wait_ms = 0;

  /** Takes the `rate_limit_info` of an event. */
  heard(info: JsonObject): void {
    this.#info = info;
  }

  retried({ retry_delay_ms }: JsonObject): void {
    this.#wait_ms = typeof retry_delay_ms === "number" ? retry_delay_ms : 0;
  }

  /** When to retry after a limit: when the last exhausted window resets, or after a fixed time if that is unknown. */
  retryAt(now: Instant): Instant {
    const resets = this.#windows().flatMap(([, { status, resetsAt }]) =>
      status === "rejected" && typeof resetsAt === "number" ? [resetsAt * 1_000] : [],
    );
    if (resets.length === 0) return later(now, Math.max(BUSY_MS, this.#wait_ms));
    return instant(Math.max(milliseconds(now), ...resets));
  }

  quota(): readonly QuotaWindow[] | undefined {
    const told = this.#windows().flatMap(([type, { utilization, resetsAt }]) =>
      typeof utilization === "number" && typeof resetsAt === "number"
        ? [{ name: nameOf(type), used_percent: percent(utilization), resets_at: instant(resetsAt * 1_000) }]
        : [],
    );
    return told.length === 0 ? undefined : told;
  }

  /** Older versions report one window, newer ones all. */
  #windows(): [string, JsonObject][] {
    const { rateLimitType: type, unifiedWindows } = this.#info;
    const one: [string, JsonObject][] = typeof type === "string" ? [[type, this.#info]] : [];
    const all = Object.entries(objectOf(unifiedWindows)).map(([name, window]): [string, JsonObject] => [
      name,
      objectOf(window),
    ]);
    return [...new Map([...one, ...all])];
  }
}

/** Renames `seven_day_opus` to `week opus`. */
function nameOf(type: string): string {
  const [length = type] = Object.keys(WINDOWS).filter((known) => type.startsWith(known));
  return `${WINDOWS[length] ?? length}${type.slice(length.length)}`.replaceAll("_", " ");
}

function percent(utilization: number): number {
  return Math.min(100, Math.max(0, Math.round(utilization * 1_000) / 10));
}
