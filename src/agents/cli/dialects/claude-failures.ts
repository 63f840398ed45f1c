import type { TurnRequest } from "../../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, textOf } from "../../../lib/json.ts";
import { type Failure, failure } from "../../../protocol/failure.ts";
import { milliseconds } from "../../../protocol/timestamp.ts";
import { type Complaint, complaintIn } from "../../causes/complaint.ts";
import { causeOf, failureOf, failureOnStderr, type Program } from "../../causes/failures.ts";
import type { Row } from "../../causes/rows.ts";
import { nameOf } from "../outcome.ts";
import type { RunEnd } from "../process.ts";
import type { ClaudeLimits } from "./claude-limits.ts";

/** What only Claude Code says. */
const ROWS: readonly Row[] = [
  { cause: "flag", words: /unknown option|--json-schema is not|argument '.*' is invalid|cannot be used with root/ },
];

/** How a Claude Code process ended without an answer. */
export interface Unanswered {
  readonly request: TurnRequest;
  /** In ms since 1970. */
  readonly now: number;
  readonly end: RunEnd;
  readonly result: JsonObject | undefined;
  /** Claude Code's own name for the server's last failure. */
  readonly error: Json | undefined;
  readonly limits: ClaudeLimits;
  readonly stderr_tail: string;
}

/** Why a process gave no answer. Undefined if its exit code is enough, or if it succeeded and its answer was refused. */
export function claudeFailure(unanswered: Unanswered): Failure | undefined {
  const { request, now, end, result, stderr_tail } = unanswered;
  const program: Program = {
    who: nameOf(request),
    now,
    rows: ROWS,
    hints: {
      login: "Start claude as the user who runs Bosun and use /login, or set ANTHROPIC_API_KEY. Then release the role.",
      requests: "Give it smaller tasks, or add --max-turns=N to the role's cli_command.",
    },
  };
  if (result !== undefined) {
    return result.is_error === true ? failureOf(complaintOf(result, unanswered), program) : undefined;
  }
  if (end.exit?.code !== 0) return failureOnStderr(stderr_tail, program);
  return failure("no_answer", `${program.who} exited with code 0 and gave no result.`, {
    hint: "The file events.ndjson of the turn holds everything that it said.",
  });
}

/** Claude Code's message if the conversation to continue does not exist or is full, so that the turn needs a new one. */
export function lostConversation(unanswered: Unanswered): string | undefined {
  const { result } = unanswered;
  if (result?.is_error !== true) return undefined;
  const complaint = complaintOf(result, unanswered);
  const [words = ""] = complaint.words;
  return words.startsWith("No conversation found") || causeOf(complaint) === "context" ? `${words}.` : undefined;
}

function complaintOf(result: JsonObject, { now, error, limits }: Unanswered): Complaint {
  const { subtype, terminal_reason, stop_reason, api_error, api_error_status, errors } = result;
  const said = textOf(listOf(errors)[0]) || (textOf(result.result).trimStart().split("\n", 1)[0] ?? "");
  const kinds = [error, api_error, subtype, terminal_reason, stop_reason].map((kind) => ({ kind }));
  const complaint = complaintIn([...kinds, { api_error_status, message: said }], now);
  const { resets_at, wait_ms } = limits.told();
  const wait = wait_ms === undefined || !complaint.numbers.includes(429) ? undefined : now + wait_ms;
  const reset = resets_at === undefined ? undefined : Math.max(now, milliseconds(resets_at));
  return { ...complaint, retry_at: reset ?? complaint.retry_at ?? wait };
}
