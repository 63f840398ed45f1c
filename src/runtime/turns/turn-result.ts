import type { TurnRequest, TurnResult } from "../../kernel/agent.ts";
import type { Mode, TurnStamp } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Failure, failure, WIRE_CODES, type WireCode } from "../../protocol/failure.ts";
import { isNotice, type TypedPayload, type Usage } from "../../protocol/payload.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import { inlineField } from "./attached.ts";
import type { FactInput } from "../facts.ts";

/** How the turn ended, as the fact that goes into the record: the answer if it can stand, else what failed. */
export function factOf(result: TurnResult, request: TurnRequest, mode: Pick<Mode<never>, "attached">): FactInput {
  const { role, stamp, payload } = request;
  const { answer, exit } = result;
  const usage = answer?.payload.usage as Usage | undefined;
  const base = { subject: stamp.subject, turn: stamp, ...(exit ? { exit } : {}), ...(usage ? { usage } : {}) };
  const called = answer && result.failure?.code === "cancelled" ? undefined : result.failure;
  const wrong = called ?? answerTrouble(result, payload.expects);
  const failed = (why: Failure | undefined, refused = result.refused): FactInput => ({
    ...base,
    source: "scheduler",
    payload_type: "turn_failed",
    payload: failedPayload({ ...result, refused }, stamp, why),
  });
  if (!answer || wrong) return failed(wrong);
  const inlined = inlineField(answer, mode.attached?.[answer.payload_type], payload);
  if (!inlined.ok) {
    // The agent is told like one whose line was refused: asked again with nothing said, it would name the same file.
    return failed(inlined.error, [...result.refused, refusalFrom(answer.payload_type, inlined.error)]);
  }
  return {
    ...base,
    source: role.role_id,
    payload_type: answer.payload_type,
    payload: inlined.value,
  };
}

/** An agent in this process can answer with anything; one behind the wire was held to `expects` already. */
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

/** The `turn_failed` payload of a turn that brought no answer that can stand. */
function failedPayload(result: TurnResult, stamp: TurnStamp, wrong: Failure | undefined): JsonObject {
  const code: WireCode = WIRE_CODES.find((known) => known === wrong?.code) ?? "agent_failed";
  const retry_at =
    result.answer?.payload_type === "error"
      ? (result.answer.payload.details as JsonObject | undefined)?.retry_at
      : undefined;
  const details = { ...wrong?.details, ...(retry_at === undefined ? {} : { retry_at }) };
  return {
    turn_id: stamp.turn_id,
    code,
    message: wrong?.message ?? "The turn failed.",
    ...(wrong?.hint === undefined ? {} : { resolution_hint: wrong.hint }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    refused: result.refused,
    ...(result.answer ? { answer: { payload_type: result.answer.payload_type, payload: result.answer.payload } } : {}),
  };
}
