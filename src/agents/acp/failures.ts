import { type Json, objectOf } from "../../lib/json.ts";
import { type Failure, type FailureCode, failure } from "../../protocol/failure.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import { cut } from "../../protocol/refusal.ts";

const AUTH_REQUIRED = -32_000;
const MESSAGE_CHARACTERS = 500;

/** An agent's error response to a request. */
export interface AgentError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The context of an agent's error: its role, the request, and when to retry after a limit that does not report its end. */
interface Circumstances {
  readonly role_id: string;
  readonly method: string;
  readonly retry_at: Instant;
}

/** Maps an agent's error to a failure. */
export function failureOf({ code, message, data }: AgentError, { role_id, method, retry_at }: Circumstances): Failure {
  const { errorKind, details } = objectOf(data as Json);
  const said = cut(typeof details === "string" ? details : messageIn(message), MESSAGE_CHARACTERS);
  const kind = codeOf(code, errorKind);
  switch (kind) {
    case "rate_limited":
      return failure(kind, `The agent of ${role_id} has reached its rate limit: ${said}`, {
        details: { retry_at },
      });
    case "authentication":
      return failure(kind, `The agent of ${role_id} is not logged in: ${said}`, {
        hint: "Log in with its program, or name the variable of its key in pass_env of the role.",
      });
    default:
      return failure("agent_failed", `The agent of ${role_id} answered ${method} with an error: ${said} (${code}).`, {
        hint: "What it and Bosun said to each other is in the turn's events.ndjson.",
      });
  }
}

/** claude-agent-acp reports a kind; gemini uses the HTTP status of its API as the code. */
function codeOf(code: number, kind: Json | undefined): FailureCode {
  if (code === AUTH_REQUIRED || code === 401 || code === 403 || kind === "authentication_failed")
    return "authentication";
  if (code === 429 || kind === "rate_limit" || kind === "overloaded") return "rate_limited";
  return "agent_failed";
}

/** Gemini passes on its API's response as text. */
function messageIn(text: string): string {
  try {
    const { error } = objectOf(JSON.parse(text) as Json);
    const { message } = objectOf(error);
    return typeof message === "string" ? message : text;
  } catch {
    return text;
  }
}

/** Why a prompt with this stop reason has no answer; undefined if its text is the answer. */
export function stopFailure(role_id: string, reason: Json | undefined): Failure | undefined {
  switch (reason) {
    case "refusal":
      return failure("agent_failed", `The model of ${role_id} refused to answer.`, {
        hint: "Word the task differently, or give it to a role with another model.",
      });
    case "max_tokens":
      return failure("agent_failed", `The model of ${role_id} reached its limit of tokens before it answered.`, {
        hint: "Give it smaller tasks, or raise the limit in the program's own settings.",
      });
    case "max_turn_requests":
      return failure("agent_failed", `The agent of ${role_id} reached its limit of model requests in one turn.`, {
        hint: "Give it smaller tasks, or raise the limit in the program's own settings.",
      });
    case "cancelled":
      return failure("agent_failed", `The agent of ${role_id} says that its turn was cancelled.`);
    default:
      return undefined;
  }
}
