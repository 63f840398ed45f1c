import { createHash } from "node:crypto";
import { closeSync, readFileSync } from "node:fs";
import type { Answer } from "../../kernel/agent.ts";
import { sizeOf } from "../../kernel/cut.ts";
import type { AttachedField } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { validatePayload } from "../../protocol/envelope.ts";
import type { Failure } from "../../protocol/failure.ts";
import { MAX_DEPTH, MAX_PAYLOAD_BYTES, parseFile } from "../../protocol/limits.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { disagreement, openReferenced, type Referenced, unreadable, wrong } from "./referenced-file.ts";

/** The largest file that may stand for a field of an answer, in bytes: all of it goes into the record. */
const MAX_ATTACHED_BYTES = MAX_PAYLOAD_BYTES;

/** An answer may bring one of its fields as a file, if its mode says so; the record holds the field, so that it needs no other. */
export function inlineField(
  answer: Answer,
  attached: AttachedField | undefined,
  request: PayloadByType["turn_request"],
): Result<JsonObject, Failure> {
  if (!attached) return ok(answer.payload);
  const reference = answer.payload[attached.reference] as Referenced | undefined;
  if (reference === undefined || answer.payload[attached.field] !== undefined) return ok(answer.payload);
  const read = readReferenced(reference, request);
  if (!read.ok) return read;
  // A file is as little to be trusted as a line. In the record its value stands in an object, as what a line holds does.
  const parsed = parseFile(read.value, MAX_DEPTH - 1);
  if (!parsed.ok) return wrong(reference.uri, parsed.error.message);
  const content = parsed.value;
  const { [attached.reference]: _, ...rest } = answer.payload;
  const field = Array.isArray(content) ? content : (content as JsonObject | null)?.[attached.field];
  const checked = validatePayload(answer.payload_type, { ...rest, [attached.field]: field });
  if (!checked.ok) return wrong(reference.uri, checked.error.message);
  const payload = checked.value as unknown as JsonObject;
  // Numbers may be longer in the record than they are in the file, and the answer has fields of its own.
  if (sizeOf(payload, MAX_PAYLOAD_BYTES) > MAX_PAYLOAD_BYTES)
    return wrong(reference.uri, `with it the answer has more than the ${MAX_PAYLOAD_BYTES} bytes that a record takes`);
  return ok(payload);
}

/** The file that a reference names, if it is what the reference says of it. */
function readReferenced(reference: Referenced, request: PayloadByType["turn_request"]): Result<Buffer, Failure> {
  const opened = openReferenced(reference.uri, request, MAX_ATTACHED_BYTES);
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
