import { ProviderError, type ProviderErrorKind } from "../../harness/provider.ts";
import { TokenBudgetError } from "../../harness/usage.ts";
import type { TurnRequest } from "../../kernel/agent.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { diskFailure } from "../../protocol/disk-failure.ts";
import type { Refusal } from "../../protocol/refusal.ts";
import type { CauseName } from "../causes/causes.ts";
import { type Complaint, complaintIn } from "../causes/complaint.ts";
import { causeOf, failureFor } from "../causes/failures.ts";

/** What a kind means unless its words or numbers say more. `empty` has a code of its own. */
const CAUSE_OF: Readonly<Record<Exclude<ProviderErrorKind, "empty">, CauseName>> = {
  rateLimited: "limit",
  authentication: "login",
  overflow: "context",
  model: "model",
  request: "unknown",
  server: "outage",
  network: "outage",
  length: "length",
  refusal: "refusal",
};

/** The kinds that say all: the words around them could be a model's own. */
const CERTAIN: ReadonlySet<ProviderErrorKind> = new Set(["overflow", "model", "network", "length", "refusal"]);

/** The failure of a turn that threw this. `now` is in ms since 1970. */
export function failureOf(thrown: unknown, request: TurnRequest, now: number): Failure {
  const who = modelName(request);
  if (thrown instanceof ProviderError) return failureOfProvider(thrown, request, now);
  if (thrown instanceof TokenBudgetError)
    return failureFor("budget", { kinds: [], words: [thrown.message], numbers: [] }, { who, now });
  const { code, path = "" } = thrown as NodeJS.ErrnoException;
  // Errors of tools are told to the model.
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return diskFailure("The conversation cannot be kept", path, code);
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return failure("agent_failed", `${who} could not finish: ${why}`, {
    hint: "The turn's events.ndjson, beside the log, holds all that it said.",
  });
}

/** The failure of a turn whose answers were all refused. */
export function unanswered(request: TurnRequest, last: Refusal, tries: number): Failure {
  const code = last.code === "validation_failed" || last.code === "not_permitted" ? last.code : "malformed_output";
  const what = `${modelName(request)} gave no answer that could be accepted. The last was refused: ${last.message}`;
  const hint = `It was asked ${tries} times. Another model, or a clearer task, may help; every refused answer is in the log.`;
  return failure(code, what, { hint, details: { pointer: last.pointer } });
}

/** The failure of a turn that was ended, by a limit or by the session. */
export function stopFailure(cause: string, request: TurnRequest, spoke: boolean): Failure {
  const { timeout_ms, idle_timeout_ms } = request;
  const who = modelName(request);
  if (cause === "timeout")
    return failure("timeout", `${who} did not finish within ${timeout_ms / 1000} s and was ended.`, {
      hint: "Raise timeout_s of the role, or give it smaller tasks.",
    });
  if (cause === "idle_timeout")
    return failure("idle_timeout", `${who} said nothing more for ${idle_timeout_ms / 1000} s and was ended.`, {
      hint: "Raise idle_timeout_s of the role.",
      details: { spoke },
    });
  return failure("cancelled", `The turn of ${who} was cancelled.`);
}

/** A provider's error, by the table of causes. */
function failureOfProvider(error: ProviderError, request: TurnRequest, now: number): Failure {
  const { kind, message, details } = error;
  const { role } = request;
  const who = modelName(request);
  if (kind === "empty")
    return failure("no_answer", `${who} answered nothing: ${message}`, {
      hint: "Another model, or a clearer task, may help.",
    });
  const { retryAfterMs, status } = details;
  const told: Complaint = {
    ...complaintIn(message, now),
    kinds: details.code === undefined ? [] : [details.code.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase()],
    numbers: status === undefined ? [] : [status],
    ...(retryAfterMs === undefined ? {} : { retry_at: now + retryAfterMs }),
  };
  const cause = (CERTAIN.has(kind) ? undefined : causeOf(told)) ?? CAUSE_OF[kind];
  const key = role.api_key_env ?? "its key";
  return failureFor(cause, told, {
    who,
    now,
    hints: {
      login: `Set ${key} to a key that the server accepts, and resume.`,
      length: "Give it smaller tasks, or raise max_output_tokens of the role.",
      model: "Correct model, provider or base_url of the role.",
      unknown: /response_format|json_schema|schema/i.test(message)
        ? 'Its server may hold no answer to a schema: set structured_output of the role to "json" or "none".'
        : "The message is the provider's. Correct what it names in the role.",
    },
  });
}

/** A role and its model, as the subject of a sentence. */
function modelName({ role: { role_id, provider, model, base_url } }: TurnRequest): string {
  const at = base_url === undefined ? "" : ` at ${base_url}`;
  return `Role ${role_id} (${provider}/${model}${at})`;
}
