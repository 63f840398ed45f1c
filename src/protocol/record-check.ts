import { validators as stored } from "./generated/record-validators.js";
import { type Validator, validators } from "./generated/validators.js";
import { isPayloadType } from "./payload.ts";
import type { UnsealedRecord } from "./record.ts";

/**
 * Returns where a record breaks `schemas/record.schema.json` before it is sealed, and which rule; undefined if it is valid. With `header`, its
 * payload is not checked.
 */
export function recordFault(record: UnsealedRecord, checks: "all" | "header" = "all"): string | undefined {
  const { payload_type, payload } = record;
  const wrong = faultOf(stored.record, record);
  if (wrong !== undefined || checks === "header" || !isPayloadType(payload_type)) return wrong;
  const inside = faultOf(payload_type === "turn_request" ? stored.turn_request : validators[payload_type], payload);
  return inside === undefined ? undefined : `/payload${inside}`;
}

function faultOf(validate: Validator, value: unknown): string | undefined {
  if (validate(value)) return undefined;
  const [error] = validate.errors ?? [];
  // Release the errors: they may hold the value, which may be large.
  validate.errors = null;
  return `${error?.instancePath} [${error?.keyword}]`;
}
