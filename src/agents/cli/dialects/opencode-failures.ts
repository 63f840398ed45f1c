import { type Json, type JsonObject, objectOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { cut } from "../../../protocol/refusal.ts";
import { type Instant, later } from "../../../protocol/timestamp.ts";

/** How long to wait for a limit that does not report its end, in ms. */
const UNTOLD_LIMIT_MS = 60_000;
const MESSAGE_CHARACTERS = 500;

/** When the request was recorded, and how long ago that is. */
interface Time {
  readonly at: Instant;
  readonly elapsed_ms: number;
}

/** Maps an `error` event of opencode to a failure, by its name and the status of the model's server. */
export function opencodeFailure({ name, data }: JsonObject, role_id: string, { at, elapsed_ms }: Time): Failure {
  const { message, statusCode, responseHeaders } = objectOf(data);
  const kind = typeof name === "string" ? name : "an error";
  const said = cut(typeof message === "string" ? message : kind, MESSAGE_CHARACTERS);
  if (statusCode === 401 || statusCode === 403 || name === "ProviderAuthError") {
    return failure("authentication", `opencode of ${role_id} is not logged in at its model's server: ${said}`, {
      hint: "Run opencode auth login, or name the variable of the key in pass_env of the role.",
    });
  }
  if (statusCode === 429 || statusCode === 529) {
    const wait_ms = waitIn(objectOf(responseHeaders)) ?? UNTOLD_LIMIT_MS;
    return failure("rate_limited", `opencode of ${role_id} has reached the limit of its model's server: ${said}`, {
      details: { retry_at: later(at, elapsed_ms + wait_ms) },
    });
  }
  return failure("agent_failed", `opencode of ${role_id} ended with ${kind}: ${said}`, { hint: hintFor(name) });
}

function hintFor(name: Json | undefined): string {
  switch (name) {
    case "ContentFilterError":
      return "The model's server refused. Word the task differently, or give it to a role with another model.";
    case "ContextOverflowError":
      return "The conversation is longer than the model can read. Give it smaller tasks, or a lower max_conversation_tokens.";
    case "MessageOutputLengthError":
      return "Give it smaller tasks, or raise limit.output of the model in opencode's configuration.";
    default:
      return "Try opencode run in a terminal with the same model; its log is below ~/.local/share/opencode/log.";
  }
}

/** The header is in seconds. */
function waitIn(headers: JsonObject): number | undefined {
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}
