import type { TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { type Failure, type FailureCode, failure } from "../../protocol/failure.ts";
import type { Usage } from "../../protocol/payload.ts";
import { cut, type Refusal } from "../../protocol/refusal.ts";
import type { Exit } from "../../protocol/record.ts";
import { sumOf } from "../usage.ts";
import type { ReadOutput } from "./dialects/dialect.ts";
import type { RunEnd, RunLimits } from "./process.ts";

const LAST_ERROR_CHARACTERS = 500;

/** What was heard in a run, and the end of its stderr. */
export interface RunOutput extends ReadOutput {
  readonly stderr_tail: string;
  /** A variable named on stderr that the scheduler has and the program was not given. */
  readonly missed_variable?: string | undefined;
}

/** A turn's result, from its run's end and output. Each kind of failure has its own code and message. */
export function turnResult(request: TurnRequest, limits: RunLimits, end: RunEnd, output: RunOutput): TurnResult {
  const { answer, refused, usage, conversation, quota } = output;
  const failed = failureOf(request, limits, end, output);
  return { refused, ...defined({ answer, failure: failed, exit: end.exit, usage, conversation, quota }) };
}

/** The result of a turn's second process, with the usage of the first added. */
export function withUsageOf(first: TurnResult, second: TurnResult): TurnResult {
  const usage = bothOf(first.usage, second.usage);
  const conversation = second.conversation ?? first.conversation;
  const quota = second.quota ?? first.quota;
  return { ...second, ...defined({ usage, conversation, quota }) };
}

/** Adds two usages. If one reported nothing, the other's tokens count, without cost. */
function bothOf(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (first !== undefined && second !== undefined) return sumOf([first, second]);
  const { cost_usd: _, ...tokens } = first ?? second ?? {};
  return first === second ? undefined : tokens;
}

/** The result of a turn that was cancelled before its program started. */
export function cancelledTurn(request: TurnRequest): TurnResult {
  return {
    failure: failure("cancelled", `The turn of ${nameOf(request)} was cancelled before it began.`),
    refused: [],
  };
}

function failureOf(request: TurnRequest, limits: RunLimits, end: RunEnd, output: RunOutput): Failure | undefined {
  const who = nameOf(request);
  const more = (hint?: string, extra: JsonObject = {}) => ({ hint, details: detailsOf(end, output, extra) });
  switch (end.cause) {
    case "exited":
      if (output.answer !== undefined && output.exitCounts !== true) return undefined;
      return output.failure ?? exitFailure(request, end, output);
    case "answered":
      return output.answer === undefined ? (output.failure ?? unanswered(request, end, output)) : undefined;
    case "output_limit":
      // Output after the answer does not invalidate it.
      if (output.answer !== undefined) return undefined;
      return failure(
        "output_limit",
        `${who} printed more than ${limits.max_output_bytes} bytes and was ended.`,
        more("Make the program print less, have it write files and send artifact_ref, or raise max_output_bytes."),
      );
    case "timeout":
      return failure(
        "timeout",
        `${who} did not finish within ${seconds(limits.timeout_ms)} and was ended.${lastError(output)}`,
        more("Raise timeout_s of the role, or give it smaller tasks."),
      );
    case "idle_timeout":
      return failure(
        "idle_timeout",
        end.spoke
          ? `${who} printed nothing more for ${seconds(limits.idle_timeout_ms)} and was ended.${lastError(output)}`
          : `${who} printed nothing at all within ${seconds(limits.idle_timeout_ms)} and was ended.`,
        more("Have the program report progress, or raise idle_timeout_s of the role.", { spoke: end.spoke }),
      );
    case "cancelled":
      return failure("cancelled", `The turn of ${who} was cancelled and its processes ended.`, more());
    case "not_recorded":
      return failure(
        "internal",
        `The start of ${who} could not be recorded, so it was given no work and was ended.`,
        more("See the session's own failure for the reason, then resume the session."),
      );
  }
}

function lastError({ last_error }: RunOutput): string {
  return last_error === undefined ? "" : ` The last error it told: ${cut(last_error, LAST_ERROR_CHARACTERS)}`;
}

function exitFailure(request: TurnRequest, end: RunEnd, output: RunOutput): Failure | undefined {
  const { code = null, signal = null } = end.exit ?? {};
  if (code === 0) return output.answer === undefined ? unanswered(request, end, output) : undefined;
  const what = `${nameOf(request)} ${exitWords({ code, signal })}.`;
  return failure("agent_failed", what, { hint: exitHint(request, code, output), details: detailsOf(end, output) });
}

function unanswered(request: TurnRequest, end: RunEnd, output: RunOutput): Failure {
  const who = nameOf(request);
  const last = output.refused.at(-1);
  if (last === undefined) {
    const hint = speaksEnvelopes(request)
      ? `It must print one line of JSON, an envelope of one of these types: ${request.payload.expects.join(", ")}.`
      : "What it said stands in the events.ndjson of the turn, beside the log.";
    const what = `${who} exited with code 0 without printing an answer.`;
    return failure("no_answer", what, { hint, details: detailsOf(end, output) });
  }
  const what = `${who} gave no answer that could be accepted. The last was refused: ${last.message}`;
  const hint = speaksEnvelopes(request)
    ? "Print the answer as one line of JSON that fits its schema; every refused line is in the log."
    : "It was asked twice. Another model, or a clearer task, may help; every refused answer is in the log.";
  return failure(refusedCode(last), what, { hint, details: detailsOf(end, output, { pointer: last.pointer }) });
}

function speaksEnvelopes({ role }: TurnRequest): boolean {
  return (role.dialect ?? "envelope") === "envelope";
}

/** How a program ended, to follow its name. */
export function exitWords({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was ended by signal ${signal}`;
}

function refusedCode({ code }: Refusal): FailureCode {
  return code === "validation_failed" || code === "not_permitted" || code === "output_limit"
    ? code
    : "malformed_output";
}

function exitHint(
  { role }: TurnRequest,
  code: number | null,
  { stderr_tail, missed_variable }: RunOutput,
): string | undefined {
  if (missed_variable !== undefined) {
    return `Agents do not see ${missed_variable}. Add it to pass_env of the role ${role.role_id}, or use --pass-env ${missed_variable}.`;
  }
  if (code === 127) return "A program that it calls is not installed, or not on the PATH.";
  return stderr_tail === "" ? "It wrote nothing to stderr; try its command in a terminal." : undefined;
}

function detailsOf(end: RunEnd, output: RunOutput, extra: JsonObject = {}): JsonObject {
  const known = {
    exit_code: end.exit?.code ?? undefined,
    signal: end.exit?.signal ?? undefined,
    outlived_kill: end.exit === undefined || undefined,
    stderr_tail: output.stderr_tail || undefined,
  };
  return { ...defined(known), ...extra };
}

/** A role and its program, as the subject of a sentence. */
export function nameOf({ role }: TurnRequest): string {
  const program = role.cli_command?.[0];
  return program === undefined ? `Role ${role.role_id}` : `Role ${role.role_id} (${program})`;
}

function seconds(milliseconds: number): string {
  return `${milliseconds / 1_000} s`;
}
