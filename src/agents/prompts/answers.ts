import type { Answer } from "../../kernel/agent.ts";
import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { validatePayload } from "../../protocol/envelope.ts";
import { ANSWER_SCHEMAS } from "../../protocol/generated/answers.ts";
import { firstViolation, membersFor, parseLine, refusalOfUnfit } from "../../protocol/limits.ts";
import {
  isNotice,
  isPayloadType,
  type PayloadByType,
  type PayloadType,
  type TypedPayload,
} from "../../protocol/payload.ts";
import { quote, type Refusal, refusal } from "../../protocol/refusal.ts";

type Choices = NonNullable<PayloadByType["turn_request"]["choices"]>;

/** Maximum number of objects in a text that are tried, and of unpaired braces. */
const MAX_OBJECTS = 100;
const MAX_UNPAIRED = 20;
/** No further object is tried after so many characters, and none is sought after eight times as many of the text, counted again for each brace. */
const MAX_TRIED = 1024 * 1024;

/**
 * The schema of the answer to a turn: an object with the payload type, and a member for each type that may answer, all null but one. Uses only the
 * part of JSON Schema that every provider supports. The `choices` of the request are the only texts at their places.
 */
export function answerSchema(expects: readonly string[], choices: Choices = {}): JsonObject {
  const types = answersTo(expects);
  const members = types.map((type): [string, Json] => {
    const schema = Object.entries(choices).reduce(narrowed, ANSWER_SCHEMAS[type] ?? {});
    return [type, { anyOf: [schema, { type: "null" }] }];
  });
  return {
    type: "object",
    properties: {
      payload_type: { description: "Which member holds the answer; the others are null.", type: "string", enum: types },
      ...Object.fromEntries(members),
    },
    required: ["payload_type", ...types],
    additionalProperties: false,
  };
}

/** The schema of the answer to this turn. A report on a proposal completes nothing. */
export function schemaOf({ expects, choices, message }: PayloadByType["turn_request"]): JsonObject {
  const isProposal = message.payload_type === "instruction_proposal";
  return answerSchema(expects, { ...(isProposal && { "/status": ["proposal", "blocked", "error"] }), ...choices });
}

/** A schema with one of these texts at the place of a pointer; the same schema if it has no such place. */
function narrowed(schema: JsonObject, [pointer, texts]: [pointer: string, texts: readonly string[]]): JsonObject {
  const [, key = "", rest = ""] = /^\/([^/]*)(.*)$/s.exec(pointer) ?? [];
  const { anyOf, items } = schema;
  if (anyOf) return { ...schema, anyOf: listOf(anyOf).map((one) => narrowed(objectOf(one), [pointer, texts])) };
  if (key === "*" && items) return { ...schema, items: narrowed(objectOf(items), [rest, texts]) };
  const properties = objectOf(schema["properties"]);
  if (!Object.hasOwn(properties, key)) return schema;
  const place = objectOf(properties[key]);
  return {
    ...schema,
    properties: { ...properties, [key]: rest ? narrowed(place, [rest, texts]) : oneOf(texts, place) },
  };
}

function oneOf(texts: readonly string[], { description, type, anyOf }: JsonObject): JsonObject {
  const told = description === undefined ? {} : { description };
  const choice = { type: "string", enum: texts };
  const isNullable = anyOf !== undefined || listOf(type).includes("null");
  return { ...told, ...(isNullable ? { anyOf: [choice, { type: "null" }] } : choice) };
}

/** Reads an answer in the form of `answerSchema`, or one with its content in `payload`. Null members count as absent. */
export function readAnswer(value: unknown, expects: readonly string[]): Result<Answer, Refusal> {
  const types = answersTo(expects);
  if (!isJsonObject(value)) return malformed("The answer is no JSON object.", types);
  const unfit = firstViolation(value);
  if (unfit !== undefined) return err(refusalOfUnfit("", "malformed_output", unfit));
  const type = value["payload_type"] ?? onlyMember(value, types);
  if (typeof type !== "string") return malformed("The answer has no payload_type.", types);
  const expected = types.find((one) => one === type);
  if (expected === undefined) {
    const message = `${quote(type)} does not answer this turn. It expects one of: ${types.join(", ")}. [expects]`;
    return err(refusal(type, "not_permitted", "/payload_type", message));
  }
  const written = value[expected] ?? value["payload"];
  if (!isJsonObject(written)) {
    const message = `The payload_type is ${expected}, but the member ${quote(expected)} is no object. [object]`;
    return err(refusal(expected, "malformed_output", `/${expected}`, message));
  }
  const payload = validatePayload(expected, withoutNulls(written));
  if (!payload.ok) return payload;
  if (isNotice({ payload_type: expected, payload: payload.value } as TypedPayload)) {
    const message = 'The status "progress" ends no turn: report how the work ended. [expects]';
    return err(refusal(expected, "validation_failed", "/status", message));
  }
  return ok({ payload_type: expected, payload: payload.value });
}

/** The last JSON object in a model's text that is an answer, bare or fenced. If none is, the refusal of the last that could be one. */
export function answerIn(text: string, expects: readonly string[]): Result<Answer, Refusal> {
  const types = answersTo(expects);
  let refused: Refusal | undefined;
  let tried = 0;
  for (const object of objectsIn(text).reverse()) {
    if (tried > MAX_TRIED) break;
    tried += object.length;
    const parsed = parseLine(Buffer.from(object), membersFor(expects));
    const read = parsed.ok ? readAnswer(parsed.value, expects) : parsed;
    if (read.ok) return read;
    // Of an object with a type, more can be said.
    if (refused === undefined || (refused.payload_type === "" && read.error.payload_type !== "")) refused = read.error;
  }
  return refused ? err(refused) : malformed("There is no JSON object in the answer.", types);
}

/** The types that may answer a turn; `error` always may. */
export function answersTo(expects: readonly string[]): PayloadType[] {
  const types = new Set([...expects.filter((type) => type !== "error"), "error"]);
  return [...types].filter(isPayloadType).filter((type) => Object.hasOwn(ANSWER_SCHEMAS, type));
}

function onlyMember(value: JsonObject, types: readonly PayloadType[]): string | undefined {
  const given = types.filter((type) => isJsonObject(value[type]));
  return given.length === 1 ? given[0] : undefined;
}

function malformed(what: string, types: readonly PayloadType[]): Result<never, Refusal> {
  const form = `Answer with {"payload_type": T, T: {…}}, T being one of: ${types.join(", ")}.`;
  return err(refusal("", "malformed_output", "", `${what} ${form} [answer]`));
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item as Json));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(members.map(([key, inner = null]) => [key, withoutNulls(inner)]));
}

/** The outermost pairs of braces, in order, provided that the quotation marks between them are paired. */
function objectsIn(text: string): string[] {
  const objects: string[] = [];
  let unpaired = 0;
  let searched = 0;
  for (let at = text.indexOf("{"); at >= 0 && unpaired < MAX_UNPAIRED && searched < 8 * MAX_TRIED; ) {
    const end = closingBrace(text, at);
    searched += (end ?? text.length) - at;
    if (end === undefined) unpaired += 1;
    else objects.push(text.slice(at, end + 1));
    at = text.indexOf("{", (end ?? at) + 1);
  }
  return objects.slice(-MAX_OBJECTS);
}

function closingBrace(text: string, start: number): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quoted && character === "\\") at += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === "{") depth += 1;
    else if (!quoted && character === "}") {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return undefined;
}
