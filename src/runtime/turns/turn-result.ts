import { hash } from "node:crypto";
import { closeSync, readFileSync } from "node:fs";
import type { Answer, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { sizeOf } from "../../kernel/cut.ts";
import type { AttachedField, Mode } from "../../kernel/mode.ts";
import { defined, type JsonObject, objectOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { validatePayload } from "../../protocol/envelope.ts";
import { type Failure, failure, type Fallible, WIRE_CODES, type WireCode } from "../../protocol/failure.ts";
import { MAX_DEPTH, MAX_FILE_MEMBERS, MAX_PAYLOAD_BYTES, parseFile } from "../../protocol/limits.ts";
import { isNotice, type TypedPayload, type Usage } from "../../protocol/payload.ts";
import { cut, refusalFrom } from "../../protocol/refusal.ts";
import { priced, toldIn } from "./reported.ts";
import { disagreement, openReferenced, type Referenced, unreadable, wrong } from "./referenced-file.ts";
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
  const base = { subject: stamp.subject, turn: stamp, exit, usage, ...further };
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
  return { ...base, source: role.role_id, payload_type: answer.payload_type, payload: inlined.value };
}

/** The fact that reports only the usage, quota and changed files of a run that was cut off; undefined if there are none. */
export function factOfCutOff(result: TurnResult, { role, stamp }: TurnRequest): FactInput | undefined {
  const { usage: told, ...further } = toldIn(result);
  const usage = priced(told, role);
  if ((usage ?? further.quota ?? further.changed_files) === undefined) return undefined;
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
    usage,
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
  const { answer } = result;
  const told = answer?.payload_type === "error" ? objectOf(answer.payload.details) : {};
  const details = { ...wrong?.details, ...defined({ retry_at: told["retry_at"] }) };
  return {
    turn_id: stamp.turn_id,
    role_id: role.role_id,
    code,
    // A program's message may have any length.
    message: cut(wrong?.message.toWellFormed() ?? "The turn failed.", MAX_MESSAGE),
    ...defined({ resolution_hint: wrong?.hint && cut(wrong.hint.toWellFormed(), MAX_HINT) }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    refused: result.refused,
    ...(answer ? { answer: { ...answer } } : {}),
  };
}

/** Maximum size of a file that may replace a field of an answer, in bytes: all of it goes into the record. */
const MAX_ATTACHED_BYTES = MAX_PAYLOAD_BYTES;

/**
 * Inlines the field that an answer brings as a file, if its mode allows one, so that the record holds the whole answer. Fails with
 * `validation_failed`.
 */
export function inlineField(
  answer: Answer,
  attached: AttachedField | undefined,
  request: Pick<TurnRequest, "payload" | "session_id">,
): Fallible<JsonObject> {
  if (!attached) return ok(answer.payload);
  const reference = answer.payload[attached.reference] as Referenced | undefined;
  if (reference === undefined || answer.payload[attached.field] !== undefined) return ok(answer.payload);
  const read = readReferenced(reference, request);
  if (!read.ok) return read;
  // A file is checked like a line. Its value becomes a field of the payload, one level deeper.
  const parsed = parseFile(read.value, MAX_DEPTH - 1, MAX_FILE_MEMBERS);
  if (!parsed.ok) return wrong(reference.uri, parsed.error.message);
  const content = parsed.value;
  const { [attached.reference]: _, ...rest } = answer.payload;
  const field = Array.isArray(content) ? content : (content as JsonObject | null)?.[attached.field];
  const checked = validatePayload(answer.payload_type, { ...rest, [attached.field]: field });
  if (!checked.ok) return wrong(reference.uri, checked.error.message);
  const payload = checked.value as unknown as JsonObject;
  // The record can be longer than the file: canonical numbers may be longer, and the answer has other fields.
  if (sizeOf(payload, MAX_PAYLOAD_BYTES) > MAX_PAYLOAD_BYTES)
    return wrong(reference.uri, `the answer would exceed the ${MAX_PAYLOAD_BYTES} bytes of a record`);
  return ok(payload);
}

/** Reads a referenced file, if its digest and size agree. */
function readReferenced(
  reference: Referenced,
  { payload, session_id }: Pick<TurnRequest, "payload" | "session_id">,
): Fallible<Buffer> {
  const opened = openReferenced(reference.uri, { ...payload, session_id }, MAX_ATTACHED_BYTES);
  if (!opened.ok) return opened;
  let bytes: Buffer;
  try {
    bytes = readFileSync(opened.value.descriptor);
  } catch (error) {
    return unreadable(reference.uri, error);
  } finally {
    closeSync(opened.value.descriptor);
  }
  const disagrees = disagreement(reference, hash("sha256", bytes), bytes.length);
  return disagrees ? wrong(reference.uri, disagrees) : ok(bytes);
}
