import type { Json, JsonObject } from "../lib/json.ts";
import { didYouMean } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { tooLongToStart } from "./command-size.ts";
import type { DocumentByName } from "./generated/types.ts";
import { type Validator, validators } from "./generated/validators.js";
import {
  type AgentPayloadType,
  isAgentPayloadType,
  isPayloadType,
  type Payload,
  PAYLOAD_TYPES,
  type PayloadType,
  type TypedPayload,
} from "./payload.ts";
import { understood } from "./leniency.ts";
import { firstViolation, refusalOfUnfit } from "./limits.ts";
import { quote, type Refusal, refusal } from "./refusal.ts";
import { refusalOf } from "./schema-errors.ts";
import { instant, parseInstant } from "./timestamp.ts";

/** An envelope with a valid header and an unchecked payload. */
export type Header = Omit<DocumentByName["envelope"], "payload_type"> & { readonly payload_type: PayloadType };

/** A valid message; narrows in a `switch` on `payload_type`. */
export type Envelope<K extends PayloadType = PayloadType> = Omit<Header, "payload_type" | "payload"> & TypedPayload<K>;

/** The facts of a turn that the scheduler knows from its channel; an agent's envelope is compared with them. */
export interface Channel {
  readonly session_id: string;
  readonly role_id: string;
  readonly turn_id: string;
  /** The ticket of the turn, if it has one. */
  readonly subject?: string;
}

/** Checks the seven fields, but not the payload. Returns the header with its timestamp in UTC. */
export function validateHeader(value: unknown): Result<Header, Refusal> {
  const claimed = claimedType(value);
  const failed = firstError(validators.envelope, value, claimed);
  if (failed !== undefined) return err(failed);
  const header = value as DocumentByName["envelope"];
  if (!isPayloadType(header.payload_type)) return err(unknownType(header.payload_type));
  const timestamp = parseInstant(header.timestamp);
  if (!timestamp.ok)
    return err(refusal(claimed, "validation_failed", "/timestamp", `${timestamp.error.message} [instant]`));
  return ok({ ...header, payload_type: header.payload_type, timestamp: timestamp.value });
}

/** Checks a payload against the schema of its type. Returns it as it is understood, with its times in UTC. Pointers are relative to the payload. */
export function validatePayload<K extends PayloadType>(type: K, payload: unknown): Result<Payload<K>, Refusal> {
  return checkPayload(type, payload, "");
}

/** Like `validatePayload`, for a payload that did not arrive as a line, such as a person's message: also applies the rules of `parseLine`. */
export function validateMessage<K extends PayloadType>(type: K, payload: unknown): Result<Payload<K>, Refusal> {
  const unfit = firstViolation(payload);
  return unfit === undefined ? validatePayload(type, payload) : err(refusalOfUnfit(type, "validation_failed", unfit));
}

/** Checks the header and the payload. Pointers are relative to the envelope. */
export function validateEnvelope(value: unknown): Result<Envelope, Refusal> {
  const header = validateHeader(value);
  if (!header.ok) return header;
  const payload = checkPayload(header.value.payload_type, header.value.payload, "/payload");
  if (!payload.ok) return payload;
  return ok({ ...header.value, payload: payload.value } as Envelope);
}

/**
 * Checks an agent's envelope. One that contradicts the channel is `not_permitted`, as is a type that no agent may send; anything malformed is
 * `validation_failed`. The rights and `expects` determine whether the type answers the turn.
 */
export function acceptAnswer(value: JsonObject, channel: Channel): Result<TypedPayload<AgentPayloadType>, Refusal> {
  // The scheduler records its own time, so an agent without a clock may omit the timestamp.
  const { timestamp = null } = value;
  const header = validateHeader(timestamp === null ? { ...value, timestamp: instant(0) } : value);
  if (!header.ok) return header;
  const { payload_type, payload } = header.value;
  const claims = [
    ["/session_id", header.value.session_id, channel.session_id],
    ["/source", header.value.source, channel.role_id],
    ["/target", header.value.target, "scheduler"],
    ["/payload/turn_id", payload["turn_id"], channel.turn_id],
    ["/payload/ticket_id", payload["ticket_id"], channel.subject],
  ] as const;
  for (const [pointer, claimed, actual] of claims) {
    if (claimed === undefined || claimed === null || claimed === actual) continue;
    const belongs = actual === undefined ? "this turn has none: omit it" : `in this turn it is ${quote(actual)}`;
    const message = `${pointer} is ${quote(claimed)}, but ${belongs}. [identity]`;
    return err(refusal(payload_type, "not_permitted", pointer, message));
  }
  if (!isAgentPayloadType(payload_type)) {
    const message = `No agent may send ${quote(payload_type)}. [identity]`;
    return err(refusal(payload_type, "not_permitted", "/payload_type", message));
  }
  const checked = checkPayload(payload_type, payload, "/payload");
  if (!checked.ok) return checked;
  return ok({ payload_type, payload: checked.value } as TypedPayload<AgentPayloadType>);
}

function checkPayload<K extends PayloadType>(type: K, payload: unknown, within: string): Result<Payload<K>, Refusal> {
  const validate: Validator = validators[type];
  // Most payloads are valid as written. The second check finds what is still wrong.
  if (validate(payload)) return startable(type, payload as Payload<K>, within);
  const { value, written } = understood(type, payload as Json);
  const failed = firstError(validate, value, type, (pointer) => within + written(pointer));
  return failed === undefined ? startable(type, value as Payload<K>, within) : err(failed);
}

/** The messages whose commands are run. */
const WITH_COMMANDS: ReadonlySet<PayloadType> = new Set(["plan", "instruction", "instruction_proposal"]);

function startable<K extends PayloadType>(type: K, payload: Payload<K>, within: string): Result<Payload<K>, Refusal> {
  const long = WITH_COMMANDS.has(type) ? tooLongToStart(payload) : undefined;
  if (long === undefined) return inUtc(type, payload, within);
  const pointer = within + long.pointer;
  return err(refusal(type, "validation_failed", pointer, `${pointer}: ${long.what}; ${long.expected}. [size]`));
}

function firstError(
  validate: Validator,
  value: unknown,
  type: string,
  place?: (pointer: string) => string,
): Refusal | undefined {
  if (validate(value)) return undefined;
  const errors = validate.errors ?? [];
  // Release the errors: they hold the value, which may be large.
  validate.errors = null;
  return refusalOf(type, errors, place);
}

function claimedType(value: unknown): string {
  const type = typeof value === "object" && value !== null ? (value as JsonObject)["payload_type"] : undefined;
  return typeof type === "string" ? type : "";
}

function unknownType(type: string): Refusal {
  const question = didYouMean(type, PAYLOAD_TYPES);
  const message = `/payload_type ${quote(type)} is not a known payload type.${question} [payload_type]`;
  return refusal(type, "validation_failed", "/payload_type", message);
}

// `error.details.retry_at` is the only time in agents' payloads; the schema requires UTC for the others.
function inUtc<K extends PayloadType>(type: K, payload: Payload<K>, within: string): Result<Payload<K>, Refusal> {
  if (type !== "error") return ok(payload);
  const error = payload as Payload<"error">;
  const written = error.details?.retry_at;
  if (written === undefined) return ok(payload);
  const time = parseInstant(written);
  if (!time.ok) {
    return err(refusal(type, "validation_failed", `${within}/details/retry_at`, `${time.error.message} [instant]`));
  }
  return ok({ ...error, details: { ...error.details, retry_at: time.value } } as Payload<K>);
}
