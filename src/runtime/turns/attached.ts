import { createHash } from "node:crypto";
import { closeSync, readFileSync } from "node:fs";
import type { Answer, TurnRequest } from "../../kernel/agent.ts";
import { sizeOf } from "../../kernel/cut.ts";
import type { AttachedField } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { validatePayload } from "../../protocol/envelope.ts";
import type { Failure } from "../../protocol/failure.ts";
import { MAX_DEPTH, MAX_FILE_MEMBERS, MAX_PAYLOAD_BYTES, parseFile } from "../../protocol/limits.ts";
import { disagreement, openReferenced, type Referenced, unreadable, wrong } from "./referenced-file.ts";

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
): Result<JsonObject, Failure> {
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
): Result<Buffer, Failure> {
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
  const hex = createHash("sha256").update(bytes).digest("hex");
  const disagrees = disagreement(reference, hex, bytes.length);
  return disagrees ? wrong(reference.uri, disagrees) : ok(bytes);
}
