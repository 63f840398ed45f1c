import type { Failure, FailureCode } from "./failure.ts";
import type { RefusedMessage } from "./generated/types.ts";

/** Why a message was not accepted, in the form that is put again as `context.refused[]`. The message ends with the rule in brackets. */
export type Refusal = RefusedMessage;

/** The most characters (UTF-16 units) of a refusal's message; the schema of `context.refused[]` takes no longer ones. */
const MAX_MESSAGE = 20_000;

/**
 * Makes a refusal. `pointer` is a JSON pointer to what is wrong, empty for the whole; what the sender chose is cut to a readable
 * length. Whatever it is made of, it can be recorded: where a text was cut in the middle of a character stands U+FFFD.
 */
export function refusal(payloadType: string, code: FailureCode, pointer: string, message: string): Refusal {
  return {
    payload_type: payloadType.slice(0, 64).toWellFormed(),
    code,
    pointer: pointer.slice(0, 500).toWellFormed(),
    message: cut(message, MAX_MESSAGE),
  };
}

/** The refusal of a whole answer by the rules of a mode, for the reason and with the hint that they give. */
export function refusalFrom(payloadType: string, { code, message, hint, details }: Failure): Refusal {
  const pointer = typeof details?.pointer === "string" ? details.pointer : "";
  return refusal(payloadType, code, pointer, hint ? `${message}; ${hint}` : message);
}

/** A text of at most `length` characters (UTF-16 units), well formed wherever it is cut. */
export function cut(text: string, length: number): string {
  return (text.length <= length ? text : `${text.slice(0, length - 1)}…`).toWellFormed();
}

/** A piece of what somebody sent as it may stand in a message: quoted, on one line, at most 60 characters, well formed. */
export function quote(value: unknown): string {
  if (typeof value === "string") return cut(JSON.stringify(value.slice(0, 60).toWellFormed()), 62);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return cut(String(value), 60);
}
