import { type JsonObject, objectOf } from "../../../lib/json.ts";
import type { QuotaWindow } from "../../../protocol/record.ts";
import { type Instant, instant } from "../../../protocol/timestamp.ts";

/** How long Claude Code waits at most before its first retry, in ms, if the server does not say. The wait doubles with each retry. */
const LONGEST_OWN_WAIT_MS = 625;

const WINDOWS: Readonly<Record<string, string>> = { five_hour: "5h", seven_day: "week" };

/** The rate-limit windows of a subscription, and the last wait that the server told. */
export class ClaudeLimits {
  #info: JsonObject = {};
  /** How long the server told Claude Code to wait before its last try. */
  #wait_ms: number | undefined;

  /** Takes the `rate_limit_info` of an event. */
  heard(info: JsonObject): void {
    this.#info = info;
  }

  retried({ attempt, retry_delay_ms }: JsonObject): void {
    const own = LONGEST_OWN_WAIT_MS * 2 ** (Number(attempt) - 1);
    if (typeof retry_delay_ms === "number" && retry_delay_ms > own) this.#wait_ms = retry_delay_ms;
  }

  /** When the last exhausted window resets, and how long the server told Claude Code to wait. */
  told(): { readonly resets_at?: Instant; readonly wait_ms?: number | undefined } {
    const resets = this.#windows().flatMap(([, { status, resetsAt }]) =>
      status === "rejected" && typeof resetsAt === "number" ? [resetsAt * 1_000] : [],
    );
    if (resets.length === 0) return { wait_ms: this.#wait_ms };
    return { resets_at: instant(Math.max(...resets)), wait_ms: this.#wait_ms };
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
    const one = typeof type === "string" ? [[type, this.#info] as const] : [];
    const all = Object.entries(objectOf(unifiedWindows)).map(([name, window]) => [name, objectOf(window)] as const);
    return [...new Map([...one, ...all])];
  }
}

/** The line for a request to the model that is retried. */
export function retryLine({ attempt, max_retries, retry_delay_ms, error_status }: JsonObject): string {
  const wait = typeof retry_delay_ms === "number" ? `${Math.ceil(retry_delay_ms / 1_000)} s` : "a moment";
  const why = typeof error_status === "number" ? `the server answered ${error_status}` : "the server did not answer";
  return `${why}; tries again in ${wait} (${Number(attempt)} of ${Number(max_retries)})`;
}

/** Renames `seven_day_opus` to `week opus`. */
function nameOf(type: string): string {
  const [length = type] = Object.keys(WINDOWS).filter((known) => type.startsWith(known));
  return `${WINDOWS[length] ?? length}${type.slice(length.length)}`.replaceAll("_", " ");
}

function percent(utilization: number): number {
  return Math.min(100, Math.max(0, Math.round(utilization * 1_000) / 10));
}
