import type { Failure, FailureCode } from "./failure.ts";
import type { RefusedMessage } from "./generated/types.ts";

/** Why a message was not accepted, in the form of `context.refused[]`. Its message ends with the rule in brackets. */
export type Refusal = RefusedMessage;

/** Maximum length of a refusal's message, in characters (UTF-16 units), as in the schema of `context.refused[]`. */
const MAX_MESSAGE = 20_000;

/**
 * Makes a refusal. `pointer` is a JSON pointer to the wrong value, empty for the whole. The sender's texts are cut to a readable length, and a
 * character cut in half becomes U+FFFD, so that every refusal can be recorded.
 */
export function refusal(payloadType: string, code: FailureCode, pointer: string, message: string): Refusal {
  return {
    payload_type: payloadType.slice(0, 64).toWellFormed(),
    code,
    pointer: pointer.slice(0, 500).toWellFormed(),
    message: cut(message, MAX_MESSAGE),
  };
}

/** Converts a failure of a mode's rules to the refusal of a whole answer. */
export function refusalFrom(payloadType: string, { code, message, hint, details }: Failure): Refusal {
  const pointer = typeof details?.pointer === "string" ? details.pointer : "";
  return refusal(payloadType, code, pointer, hint ? `${message}; ${hint}` : message);
}

/** Cuts a text to `length` characters (UTF-16 units), well formed. */
export function cut(text: string, length: number): string {
  return (text.length <= length ? text : `${text.slice(0, length - 1)}…`).toWellFormed();
}

/** Formats a sender's value for a message: quoted, on one line, at most 60 characters, well formed. */
export function quote(value: unknown): string {
  if (typeof value === "string") return cut(JSON.stringify(value.slice(0, 60).toWellFormed()), 62);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return cut(String(value), 60);
}
