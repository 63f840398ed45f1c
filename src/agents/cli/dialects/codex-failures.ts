import type { TurnRequest } from "../../../kernel/agent.ts";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { instant, type Instant } from "../../../protocol/timestamp.ts";
import { nameOf } from "../outcome.ts";

/** How long a role is held for a limit whose end codex does not report, in ms. Asking again costs nothing. */
const UNTOLD_LIMIT_MS = 60_000;

const MISSING_VARIABLE = /Missing environment variable: `([^`]+)`/;
const LOGIN = /status 40[13] |unauthorized|not logged in|(?:log|sign) ?in again|could not be refreshed/i;
const BILLING = /quota exceeded|insufficient_quota|status 402 /i;
const LIMIT = /usage limit|rate limit|429 Too Many Requests|try again (?:at|in) /i;
const OVERFLOW = /context window|context_length_exceeded/i;
const UNTRUSTED = /not inside a trusted directory/i;
const UNKNOWN_THREAD = /no rollout found for thread id|thread not found/i;
const UNKNOWN_FLAG = /^error: (?:unexpected argument|unrecognized subcommand|invalid value) .*/m;

/** Whether codex has lost the conversation, or its context is full, so that the turn needs a new one. */
export function isLost(words: string): boolean {
  return UNKNOWN_THREAD.test(words) || OVERFLOW.test(words);
}

/** Maps codex's message to a failure by its words: its events carry no code. `now` is in milliseconds. */
export function codexFailure(request: TurnRequest, said: string, now: number): Failure {
  const words = innerMessage(said);
  const who = nameOf(request);
  const { role_id } = request.role;
  const variable = MISSING_VARIABLE.exec(words)?.[1];
  if (variable !== undefined) {
    return failure("authentication", `${who} misses the variable ${variable}, which its provider's env_key names.`, {
      hint: `Set ${variable} where Bosun runs, and add it to pass_env of the role ${role_id}, or use --pass-env ${variable}.`,
    });
  }
  if (LOGIN.test(words)) {
    return failure("authentication", `${who} is not allowed to use its model: ${words}`, {
      hint: `Run codex login, or check the key of its provider and pass_env of the role ${role_id}.`,
    });
  }
  if (BILLING.test(words)) {
    return failure("rate_limited", `${who} has no credit: ${words}`, {
      hint: "Add credit to the account, then release the role.",
    });
  }
  if (LIMIT.test(words)) {
    const retry_at = endOfLimit(words, now) ?? instant(now + UNTOLD_LIMIT_MS);
    return failure("rate_limited", `${who} has reached a limit of its account: ${words}`, {
      hint: `The role goes on by itself at ${retry_at}.`,
      details: { retry_at },
    });
  }
  if (UNTRUSTED.test(words)) {
    return failure("trust", `${who} does not trust the workspace: ${words}`, {
      hint: "Run codex in the workspace once and trust it.",
    });
  }
  const flag = UNKNOWN_FLAG.exec(words)?.[0];
  if (flag !== undefined) {
    return failure("environment", `${who} does not know a flag that it is given: ${flag}`, {
      hint: `Update codex, and check the flags in cli_command of the role ${role_id}. docs/agents/codex.md names the version.`,
    });
  }
  return failure("agent_failed", `${who} could not finish: ${words}`, agentFailure(words, role_id));
}

/** Parses the end of a limit: "try again in 11.054s", "in 3 days 4 hours", "at 7:05 PM" or "at Nov 29th, 2026 8:11 AM", local time. */
export function endOfLimit(words: string, now: number): Instant | undefined {
  const span = /try again in ((?:\d+(?:\.\d+)? ?(?:days?|hours?|minutes?|seconds?|ms|[dhms])[ ,]*)+)/i.exec(words)?.[1];
  if (span !== undefined) return instant(now + lengthOf(span));
  const told = /try again at (?:(\w{3} \d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}:\d{2} [AP]M)/i.exec(words);
  if (told === null) return undefined;
  const [, day, year, time] = told;
  const date = day === undefined ? new Date(now).toDateString() : `${day}, ${year}`;
  const minute = Date.parse(`${date} ${time}`);
  // The minute is rounded down: the limit ends within it.
  return Number.isNaN(minute) ? undefined : instant(minute + 60_000);
}

function lengthOf(span: string): number {
  const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
  const parts = [...span.matchAll(/(\d+(?:\.\d+)?) ?(ms|[dhms])/gi)];
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (units[unit.toLowerCase()] ?? 0), 0);
}

/** The message in the body of a refused request, which codex passes on unchanged. */
function innerMessage(said: string): string {
  const text = said.trim();
  if (!text.startsWith("{")) return text;
  try {
    const body = JSON.parse(text) as Json;
    const { message } = objectOf(isJsonObject(body) ? body["error"] : undefined);
    return typeof message === "string" && message !== "" ? message : text;
  } catch {
    return text;
  }
}

function agentFailure(words: string, role_id: string): { readonly hint: string; readonly details?: JsonObject } {
  if (OVERFLOW.test(words)) {
    const hint = "Give it smaller tasks, or a model with a larger context.";
    return { hint, details: { reason: "context_overflow" } };
  }
  if (/max_output_tokens/.test(words)) {
    return { hint: "Its answer was cut off. Give it smaller tasks.", details: { reason: "max_tokens" } };
  }
  if (/status 404 /.test(words)) {
    const hint = `Correct model of the role ${role_id}, or the provider in codex's config.toml.`;
    return { hint, details: { reason: "model" } };
  }
  return {
    hint: "If the server is to blame, retry later. The turn's events.ndjson, beside the log, holds all it said.",
  };
}
