import type { TurnRequest } from "../../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, textOf } from "../../../lib/json.ts";
import { type Failure, type FailureCode, failure } from "../../../protocol/failure.ts";
import type { Instant } from "../../../protocol/timestamp.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";

/** How a Claude Code process ended without an answer. */
export interface Unanswered {
  readonly request: TurnRequest;
  readonly end: RunEnd;
  readonly result: JsonObject | undefined;
  /** Claude Code's own name for the server's last failure. */
  readonly error: Json | undefined;
  readonly retry_at: Instant;
  readonly stderr_tail: string;
}

/** Claude Code's message if the conversation to continue does not exist or is full, so that the turn needs a new one. */
export function lostConversation(result: JsonObject | undefined): string | undefined {
  if (result?.terminal_reason === "prompt_too_long") return firstLine(textOf(result.result));
  const said = listOf(result?.errors)
    .map(textOf)
    .find((error) => error.startsWith("No conversation found"));
  return said === undefined ? undefined : `${said}.`;
}

/** Why a process gave no answer. Undefined if its exit code is enough, or if it succeeded and its answer was refused. */
export function claudeFailure(unanswered: Unanswered): Failure | undefined {
  const { result } = unanswered;
  if (result === undefined) return failureOfStart(unanswered);
  if (result.is_error !== true) return undefined;
  return failureOfLimit(unanswered, result) ?? failureOfServer(unanswered, result);
}

/** Failures before it worked. */
function failureOfStart({ request, end, stderr_tail }: Unanswered): Failure | undefined {
  const who = nameOf(request);
  const said = lastLine(stderr_tail);
  const details = { stderr_tail };
  if (/unknown option|--json-schema is not|argument '.*' is invalid/.test(stderr_tail)) {
    return failure("environment", `${who} does not know a flag that Bosun uses: ${said}`, {
      hint: "Update it (claude update), or correct the flags in the role's cli_command. docs/agents/claude.md names the versions.",
      details,
    });
  }
  if (/cannot be used with root/.test(stderr_tail)) {
    return failure("configuration", `${who} does not skip its permissions for root: ${said}`, {
      hint: "Take the flag out of the role's cli_command and name what it may do in its permissions, or run as another user.",
      details,
    });
  }
  if (end.exit?.code !== 0) return undefined;
  return failure("no_answer", `${who} exited with code 0 and gave no result.`, {
    hint: "The file events.ndjson of the turn holds everything that it said.",
    details,
  });
}

/** Limits of the turn. */
function failureOfLimit({ request }: Unanswered, result: JsonObject): Failure | undefined {
  const who = nameOf(request);
  const said = textOf(listOf(result.errors)[0]);
  switch (result.subtype) {
    case "error_max_turns":
      return failure("agent_failed", `${who} did not finish within its limit of requests to the model: ${said}.`, {
        hint: "Give it smaller tasks, or add --max-turns=N to the role's cli_command.",
        details: { reason: "max_turns" },
      });
    case "error_max_budget_usd":
      return failure("budget_exhausted", `${who} has used what this turn may cost: ${said}.`, {
        hint: "Raise the budget of the session or the role.",
        details: { cost_usd: result.total_cost_usd },
      });
    case "error_max_structured_output_retries":
      return failure("validation_failed", `${who} gave no answer that fits the schema: ${said}`, {
        hint: "Name another model in the role, or make the task simpler.",
      });
    case "error_during_execution":
      return failure("agent_failed", `${who} was interrupted: ${said}`, { details: { reason: "interrupted" } });
    default:
      return undefined;
  }
}

/** Failures of the server, or of the connection to it. */
function failureOfServer({ request, error, retry_at }: Unanswered, result: JsonObject): Failure {
  const who = nameOf(request);
  const { api_error_status: status, stop_reason, terminal_reason } = result;
  const said = firstLine(textOf(result.result));
  const failed = (code: FailureCode, message: string, hint: string, details: JsonObject = {}) =>
    failure(code, `${who} ${message}: ${said}`, {
      hint,
      details: { ...details, ...(typeof status === "number" ? { status } : {}) },
    });
  if (error === "billing_error") {
    return failed("rate_limited", "has no credit", "Add credit to the account, then release the role.");
  }
  if (error === "authentication_failed" || /not logged in|run \/login/i.test(said)) {
    return failed(
      "authentication",
      "has no login that counts",
      "Start claude as the user who runs Bosun and use /login, or set ANTHROPIC_API_KEY.",
    );
  }
  if (status === 429 || status === 529) {
    const message = status === 429 ? "has reached a limit of its account" : "met a server that is overloaded";
    return failed("rate_limited", message, `The role goes on by itself at ${retry_at}.`, { retry_at });
  }
  if (stop_reason === "refusal") {
    return failed("agent_failed", "was refused by its model", "Word the task differently, or name another model.", {
      reason: "refusal",
    });
  }
  if (terminal_reason === "prompt_too_long") {
    return failed(
      "agent_failed",
      "was given more than its context holds",
      "Give it smaller tasks, or let the role begin a fresh conversation each time.",
      { reason: "context_overflow" },
    );
  }
  if (error === "model_not_found") {
    return failed("agent_failed", "has no such model", "Correct the role's model.", { reason: "model" });
  }
  return failed(
    "agent_failed",
    "could not finish",
    "If the server is to blame, retry later. A server of your own is named by ANTHROPIC_BASE_URL in pass_env or env of the role.",
  );
}

function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0] ?? "";
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
