import type { ErrorObject } from "ajv";
import { parseDuration } from "../lib/durations.ts";
import type { JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { nearest } from "../lib/nearest.ts";
import type { Finding } from "./document/problem.ts";
import { cut, quote, type Refusal, refusal } from "./refusal.ts";

/** A violation of a schema. `what` is a predicate, such as "is missing"; the rule is ajv's keyword. */
interface SchemaFinding extends Finding {
  readonly rule: string;
}

/** Maps a pointer to the place where the sender wrote the value. */
type PointerMap = (pointer: string) => string;

/** The refusal of a message that failed validation: one sentence about the first error, with its rule. */
export function refusalOf(type: string, errors: readonly ErrorObject[], place: PointerMap = asRead): Refusal {
  const [finding] = schemaFindings(errors);
  if (finding === undefined) throw new Error("A validator failed without saying why.");
  const { what, nearest: meant, expected, rule } = finding;
  const pointer = place(finding.pointer);
  const subject = pointer === "" ? "The message" : cut(pointer, 200);
  const advice = meant !== undefined ? `: did you mean ${quote(meant)}?` : expected ? `; expected ${expected}.` : ".";
  return refusal(type, "validation_failed", pointer, `${subject} ${what}${advice} [${rule}]`);
}

/** Converts a validator's errors to findings in a file, where the position shows which value each is about. */
export function fileFindings(errors: readonly ErrorObject[], place: PointerMap = asRead): Finding[] {
  return schemaFindings(errors).map(({ rule: _rule, what, ...finding }) => {
    const pointer = place(finding.pointer);
    return { ...finding, pointer, what: `${subject(pointer)} ${what}` };
  });
}

function asRead(pointer: string): string {
  return pointer;
}

/** Names the value at a pointer in a sentence: by its key, or its number in the list. */
function subject(pointer: string): string {
  const last = pointer
    .slice(pointer.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  if (pointer === "") return "the file";
  return /^\d+$/.test(last) ? `entry ${Number(last) + 1}` : quote(last);
}

/**
 * Selects the errors worth reporting, at least one. If a value fits none of several shapes, only the errors of the intended shape are kept. A
 * misspelt key is reported as unknown, and the intended key is not reported as missing.
 */
function schemaFindings(errors: readonly ErrorObject[]): SchemaFinding[] {
  // Grouped once, because a long file can have thousands of errors.
  const at = Map.groupBy(errors, (error) => error.instancePath);
  const above = new Set(errors.flatMap((error) => pointersAbove(error.instancePath)));
  const told = errors.filter((error) => {
    const { keyword, instancePath } = error;
    const beside = at.get(instancePath) ?? [];
    const choices = beside.filter((other) => other.keyword === "anyOf");
    const ofKeys = choices.find(isChoiceOfKeys);
    const ofShapes = choices.find((choice) => choice !== ofKeys);
    if (keyword === "if" || (isOfAnotherShape(error) && ofShapes !== undefined)) return false;
    if (keyword === "required" && isMisspelt(error, beside)) return false;
    if (keyword === "required" && ofKeys !== undefined) return !neededKeys(ofKeys).includes(missingKey(error));
    // An error inside a shape whose type fits says more than that no shape fits.
    const isMeant = (other: ErrorObject) => !isOfAnotherShape(other) && other !== ofShapes;
    return error !== ofShapes || !(above.has(instancePath) || beside.some(isMeant));
  });
  const findings = told.map((error) => ({ rule: error.keyword, ...findingOf(error) }));
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

/** Whether the value has another type than this shape, so that the shape was not intended. */
function isOfAnotherShape({ keyword, data }: ErrorObject): boolean {
  return keyword === "type" || (keyword === "enum" && typeof data === "object");
}

function pointersAbove(pointer: string): string[] {
  const parts = pointer.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Whether a choice is only about which key must be present, as in "an id or a part of the text". */
function isChoiceOfKeys(choice: ErrorObject): boolean {
  return (choice.schema as JsonObject[]).every((branch) => Object.keys(branch).join() === "required");
}

function neededKeys(choice: ErrorObject): string[] {
  return (choice.schema as { required?: string[] }[]).flatMap((branch) => branch.required ?? []);
}

function missingKey({ params }: ErrorObject): string {
  return String(params["missingProperty"]);
}

function unknownKey({ params }: ErrorObject): string {
  return String(params["additionalProperty"]);
}

function isMisspelt(missing: ErrorObject, beside: readonly ErrorObject[]): boolean {
  return beside.some(
    (error) =>
      error.keyword === "additionalProperties" && nearest(unknownKey(error), knownKeys(error)) === missingKey(missing),
  );
}

function knownKeys({ parentSchema }: ErrorObject): string[] {
  const { properties = {} } = (parentSchema ?? {}) as { properties?: object };
  return Object.keys(properties).filter((key) => key !== "metadata");
}

function findingOf(error: ErrorObject): Finding {
  const { instancePath: pointer, keyword, data } = error;
  switch (keyword) {
    case "required":
      return { pointer: pointerTo(pointer, missingKey(error)), what: "is missing", ...misspelling(error) };
    case "additionalProperties": {
      const key = unknownKey(error);
      const meant = nearest(key, knownKeys(error));
      const known = meant === undefined ? { expected: alternatives(knownKeys(error)) } : { nearest: meant };
      return { pointer: pointerTo(pointer, key), at: "key", what: "is not a known key", ...known };
    }
    case "enum": {
      const allowed = (error.schema as unknown[]).map(String);
      const meant = typeof data === "string" ? nearest(data, allowed) : undefined;
      const what = `must be ${alternatives(allowed.map((value) => JSON.stringify(value)))}, not ${quote(data)}`;
      return { pointer, what, nearest: meant };
    }
    default: {
      const finding = { pointer, what: `must ${requirement(error)}`, expected: meantBy(error) };
      return wantsText(error) ? { ...finding, unquoted: true } : finding;
    }
  }
}

const BOUNDS = { minimum: "at least", maximum: "at most", exclusiveMinimum: "more than" };

/** What a value must be or have and, for most rules, what it is instead. */
function requirement(error: ErrorObject): string {
  const { instancePath, keyword, data, schema } = error;
  switch (keyword) {
    case "type":
      return `be ${alternatives([schema].flat().map(typeName))}${unit(instancePath)}, not ${typeOf(data)}`;
    case "anyOf":
      return isChoiceOfKeys(error)
        ? `have the key ${alternatives(neededKeys(error).map(quote))}`
        : `be ${alternatives(branchTypes(error))}, not ${typeOf(data)}`;
    case "const":
      return `be ${JSON.stringify(schema)}, not ${quote(data)}`;
    case "not":
      return `not have both ${(schema as { readonly required: string[] }).required.join(" and ")}`;
    case "pattern":
      return `${patternWords(String(schema))}, not ${quote(data)}`;
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return `be ${BOUNDS[keyword]} ${String(schema)}, not ${quote(data)}`;
    case "minLength":
    case "minItems":
      return schema === 1 ? "not be empty" : `have at least ${size(error)}`;
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return `have at most ${size(error)}`;
    case "minProperties":
      return `have at least ${size(error)} of ${knownKeys(error).join(", ")}`;
    default:
      return `keep the rule ${keyword}: ${JSON.stringify(schema)}`;
  }
}

/** For a missing key, the unknown key that was probably meant. Only the first keys are compared, because the value may be hostile. */
function misspelling(error: ErrorObject): Pick<Finding, "expected"> {
  const known = knownKeys(error);
  const first = Object.keys(error.data as object).slice(0, 50);
  const unknown = first.filter((key) => !known.includes(key));
  const written = nearest(missingKey(error), unknown);
  return written === undefined ? {} : { expected: `${missingKey(error)} instead of the unknown key ${quote(written)}` };
}

function size({ keyword, schema }: ErrorObject): string {
  const noun = keyword.endsWith("Length") ? "character" : keyword.endsWith("Items") ? "entry" : "key";
  if (schema === 1) return `one ${noun}`;
  return `${String(schema)} ${noun === "entry" ? "entries" : `${noun}s`}`;
}

/** The types that a choice allows. In all our schemas, a branch that refers to another schema is an object. */
function branchTypes(choice: ErrorObject): string[] {
  const branches = choice.schema as { type?: string | string[] }[];
  return [...new Set(branches.flatMap((branch) => branch.type ?? "object").map(typeName))];
}

/** Describes a pattern in words if it is that of an id. */
function patternWords(pattern: string): string {
  const most = /^\^\[A-Za-z0-9\]\[A-Za-z0-9\._-\]\{0,(\d+)\}\$$/.exec(pattern)?.[1];
  if (most === undefined) return pattern === String.raw`\S` ? "have more than blanks" : `match ${pattern}`;
  return `be at most ${Number(most) + 1} letters, digits, ".", "_" and "-" that begin with a letter or digit`;
}

/** The unit of a number, from the suffix of its key. */
function unit(pointer: string): string {
  if (pointer.endsWith("_ms")) return " of milliseconds";
  return pointer.endsWith("_s") ? " of seconds" : "";
}

/** What a string in its place probably stands for: a list, which is most often a command line, seconds, or a switch of YAML 1.1. */
function meantBy({ keyword, schema, data, instancePath }: ErrorObject): string | undefined {
  if (keyword !== "type" || typeof data !== "string" || data.length > 60) return undefined;
  if (schema === "array") return JSON.stringify(data.split(/\s+/)).replaceAll(",", ", ");
  const duration = instancePath.endsWith("_s") ? parseDuration(data) : undefined;
  if (duration?.ok) return String(duration.value / 1000);
  return schema === "boolean" ? { yes: "true", on: "true", no: "false", off: "false" }[data.toLowerCase()] : undefined;
}

/** Whether a string may stand where a number, a boolean or null stands. */
function wantsText(error: ErrorObject): boolean {
  const { keyword, schema, data } = error;
  if (typeof data === "string" || (typeof data === "object" && data !== null)) return false;
  return keyword === "anyOf"
    ? branchTypes(error).includes("a string")
    : keyword === "type" && [schema].flat().includes("string");
}

function typeName(type: unknown): string {
  if (type === "array") return "a list";
  if (type === "null") return "null";
  return type === "object" || type === "integer" ? `an ${type}` : `a ${String(type)}`;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeName(typeof value);
}

function alternatives(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
}
