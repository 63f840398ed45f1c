import type { ErrorObject } from "ajv";
import { pointerTo } from "../lib/json-pointer.ts";
import { nearest } from "../lib/nearest.ts";
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

/** The refusal that a failed validator's errors amount to: the one error that tells most, in a sentence with its rule. */
export function refusalOf(payloadType: string, errors: readonly ErrorObject[], within = ""): Refusal {
  const error = mostTelling(errors);
  const pointer = within + pointerOf(error);
  const place = pointer === "" ? "The message" : cut(pointer, 200);
  const sentence = `${place} ${describe(error, errors)} [${error.keyword}]`;
  return refusal(payloadType, "validation_failed", pointer, sentence);
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

// Of a choice of shapes the sender meant the one whose error lies deepest, or is not about the type. Where two tie, the choice is told.
function mostTelling(errors: readonly ErrorObject[]): ErrorObject {
  const branches = errors.filter((error) => error.keyword !== "anyOf" && error.keyword !== "if");
  const [first, second] = branches.toSorted((a, b) => weight(b) - weight(a));
  if (first === undefined) throw new Error("A validator failed without saying why.");
  const choice = errors.find((error) => error.keyword === "anyOf" && error.instancePath === first.instancePath);
  const tied = second !== undefined && weight(first) === weight(second);
  return tied && choice !== undefined ? choice : first;
}

function weight(error: ErrorObject): number {
  return error.instancePath.split("/").length * 2 + (error.keyword === "type" ? 0 : 1);
}

function pointerOf(error: ErrorObject): string {
  const key = error.params["missingProperty"] ?? error.params["additionalProperty"];
  return typeof key === "string" ? pointerTo(error.instancePath, key) : error.instancePath;
}

function describe(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const parameters = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "required":
      return missing(String(parameters["missingProperty"]), error);
    case "additionalProperties":
      return unknownKey(String(parameters["additionalProperty"]), error);
    case "type":
      return `must be ${list([error.schema].flat().map(typeName))}, not ${kindOf(error.data)}.`;
    case "enum":
      return oneOf(error);
    case "const":
      return `must be ${JSON.stringify(error.schema)}, not ${quote(error.data)}.`;
    case "pattern":
      return `must match ${String(error.schema)}; ${quote(error.data)} does not.`;
    case "maxLength":
      return `must have at most ${String(error.schema)} characters.`;
    case "minLength":
    case "minItems":
      return "must not be empty.";
    case "maxItems":
      return `must have at most ${String(error.schema)} entries.`;
    case "minProperties":
    case "maxProperties":
      return `must have ${error.keyword === "minProperties" ? "at least" : "at most"} ${count(error)} of its fields: ${known(error).join(", ")}.`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return `must be ${String(parameters["comparison"])} ${String(error.schema)}, not ${quote(error.data)}.`;
    case "anyOf":
      return noBranch(errors.filter((branch) => branch.instancePath === error.instancePath));
    default:
      return `breaks the rule ${JSON.stringify(error.schema)}.`;
  }
}

function missing(key: string, error: ErrorObject): string {
  // The first few: comparing every key of a hostile object would take long.
  const strangers = Object.keys(error.data as object)
    .slice(0, 50)
    .filter((name) => !known(error).includes(name));
  const meant = nearest(key, strangers);
  return meant === undefined
    ? "is missing."
    : `is missing; ${quote(meant)} is not a field here: did you mean ${quote(key)}?`;
}

function unknownKey(key: string, error: ErrorObject): string {
  const meant = nearest(key, known(error));
  if (meant !== undefined) return `is not a known field: did you mean ${quote(meant)}?`;
  return `is not a known field; known here: ${known(error).join(", ")}.`;
}

function oneOf(error: ErrorObject): string {
  const allowed = (error.schema as unknown[]).map(String);
  const meant = typeof error.data === "string" ? nearest(error.data, allowed) : undefined;
  const question = meant === undefined ? "" : ` Did you mean ${quote(meant)}?`;
  return `must be ${list(allowed.map((name) => JSON.stringify(name)))}, not ${quote(error.data)}.${question}`;
}

function noBranch(errors: readonly ErrorObject[]): string {
  const [first] = errors.filter(({ keyword }) => keyword !== "anyOf").toSorted((a, b) => weight(b) - weight(a));
  const branches = errors.filter((error) => error.keyword === first?.keyword);
  if (first?.keyword === "required") {
    return `needs ${list(branches.map((error) => quote(error.params["missingProperty"])))}.`;
  }
  return `must be ${list(branches.map((error) => typeName(error.schema)))}, not ${kindOf(first?.data)}.`;
}

function known(error: ErrorObject): string[] {
  const schema = error.parentSchema as { properties?: object } | undefined;
  return Object.keys(schema?.properties ?? {}).filter((name) => name !== "metadata");
}

function count(error: ErrorObject): string {
  return error.schema === 1 ? "one" : String(error.schema);
}

function typeName(type: unknown): string {
  if (type === "array") return "a list";
  if (type === "null") return "null";
  return type === "object" || type === "integer" ? `an ${type}` : `a ${String(type)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeName(typeof value);
}

function list(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
}
