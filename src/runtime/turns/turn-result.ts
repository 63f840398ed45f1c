import type { TurnRequest, TurnResult } from "../../kernel/agent.ts";
import type { Mode } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { validatePayload } from "../../protocol/envelope.ts";
import { type Failure, failure, WIRE_CODES, type WireCode } from "../../protocol/failure.ts";
import { isNotice, type TypedPayload, type Usage } from "../../protocol/payload.ts";
import { cut, refusalFrom } from "../../protocol/refusal.ts";
import { inlineField } from "./attached.ts";
import { priced } from "./priced.ts";
import { toldIn } from "./told.ts";
import type { FactInput } from "../facts.ts";

const MAX_MESSAGE = 20_000;
const MAX_HINT = 2_000;

/** The fact of how a turn ended: its answer if valid, else a `turn_failed`. */
export function factOf(given: TurnResult, request: TurnRequest, mode: Pick<Mode<never>, "attached">): FactInput {
  const { role, stamp, payload } = request;
  const result = checked(given);
  const { answer, exit } = result;
  const { usage: told, ...further } = toldIn(result);
  const usage = priced(told ?? (answer?.payload.usage as Usage | undefined), role);
  const base = {
    subject: stamp.subject,
    turn: stamp,
    ...(exit ? { exit } : {}),
    ...(usage ? { usage } : {}),
    ...further,
  };
  const called = answer && result.failure?.code === "cancelled" ? undefined : result.failure;
  const wrong = called ?? answerTrouble(result, payload.expects);
  const failed = (why: Failure | undefined, refused = result.refused): FactInput => ({
    ...base,
    source: "scheduler",
    payload_type: "turn_failed",
    payload: failedPayload({ ...result, refused }, request, why),
  });
  if (!answer || wrong) return failed(wrong);
  const inlined = inlineField(answer, mode.attached?.[answer.payload_type], request);
  if (!inlined.ok) {
    // Reported like a refused line: without a reason, the agent would name the same file again.
    return failed(inlined.error, [...result.refused, refusalFrom(answer.payload_type, inlined.error)]);
  }
  return {
    ...base,
    source: role.role_id,
    payload_type: answer.payload_type,
    payload: inlined.value,
  };
}

/** The fact that reports only the usage and quota of a run that was cut off; undefined if its program reported neither. */
export function factOfCutOff(result: TurnResult, { role, stamp }: TurnRequest): FactInput | undefined {
  const { usage: told, ...further } = toldIn(result);
  const usage = priced(told, role);
  if (usage === undefined && further.quota === undefined) return undefined;
  return {
    source: "scheduler",
    payload_type: "turn_failed",
    payload: {
      turn_id: stamp.turn_id,
      role_id: role.role_id,
      code: "cancelled",
      message: "The turn was cut off.",
      details: { cut_off: true },
      refused: [],
    },
    subject: stamp.subject,
    turn: stamp,
    ...(usage ? { usage } : {}),
    ...further,
  };
}

/** Drops an answer that does not match its schema. The wire has already checked answers, but not those of in-process agents. */
function checked(result: TurnResult): TurnResult {
  const { answer, ...rest } = result;
  if (!answer) return result;
  const { payload_type } = answer;
  const valid = validatePayload(payload_type, answer.payload);
  if (valid.ok) return { ...rest, answer: { payload_type, payload: valid.value } };
  const { code, message, pointer } = valid.error;
  const wrong = failure(code as WireCode, message, { details: { pointer } });
  return { ...rest, failure: result.failure ?? wrong, refused: [...result.refused, valid.error] };
}

/** What is wrong with an answer. The wire has already checked `expects`, but not for in-process agents. */
function answerTrouble({ answer }: TurnResult, expects: readonly string[]): Failure | undefined {
  if (!answer) return failure("no_answer", "The turn ended without an answer.");
  if (isNotice(answer as TypedPayload))
    return failure("no_answer", "The turn ended with a notice in the place of an answer.");
  if (expects.includes(answer.payload_type)) return undefined;
  return failure(
    "not_permitted",
    `"${answer.payload_type}" does not answer this turn, which expects ${expects.join(", ")}.`,
  );
}

/** The `turn_failed` payload of a turn without a valid answer. */
function failedPayload(result: TurnResult, { stamp, role }: TurnRequest, wrong: Failure | undefined): JsonObject {
  const code: WireCode = WIRE_CODES.find((known) => known === wrong?.code) ?? "agent_failed";
  const retry_at =
    result.answer?.payload_type === "error"
      ? (result.answer.payload.details as JsonObject | undefined)?.retry_at
      : undefined;
  const details = { ...wrong?.details, ...(retry_at === undefined ? {} : { retry_at }) };
  return {
    turn_id: stamp.turn_id,
    role_id: role.role_id,
    code,
    // A program's message may have any length.
    message: cut(wrong?.message.toWellFormed() ?? "The turn failed.", MAX_MESSAGE),
    ...(wrong?.hint === undefined ? {} : { resolution_hint: cut(wrong.hint.toWellFormed(), MAX_HINT) }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    refused: result.refused,
    ...(result.answer ? { answer: { payload_type: result.answer.payload_type, payload: result.answer.payload } } : {}),
  };
}
