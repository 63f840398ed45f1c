import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorObject } from "ajv";
import type { Json, JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { nearest } from "../lib/nearest.ts";
import { validators } from "../protocol/generated/validators.js";
import type { PlaceProblem } from "./document.ts";
import { shipped } from "./installation.ts";
import type { Place, Problem } from "./problem.ts";

/** The files people write that have a schema. */
export type SchemaName = "answers" | "plan_file" | "roles" | "scheduler_config";

/** A value with more parts than this is told only its first problem: to collect all takes ajv time that grows with their square. */
const MAX_PARTS = 20_000;

/**
 * Every way in which a value breaks its schema, placed by `problem`; empty if it fits. The generated validators decide; only
 * when something is wrong are the schemas compiled again, to find everything that is wrong and not just the first of it.
 */
export async function checkSchema(schema: SchemaName, value: Json, problem: PlaceProblem): Promise<Problem[]> {
  const fits = validators[schema];
  if (fits(value)) return [];
  const errors = countParts(value) > MAX_PARTS ? (fits.errors ?? []) : await allErrors(schema, value);
  return telling(errors)
    .map((error) => schemaProblem(error, problem))
    .sort((one, other) => comparePlaces(one.place, other.place));
}

async function allErrors(schema: SchemaName, value: Json): Promise<ErrorObject[]> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false });
  for (const file of schemaFiles()) ajv.addSchema(readSchema(file), file);
  const validate = ajv.getSchema(`${schema}.schema.json`);
  if (validate === undefined) throw new Error(`There is no schema ${schema}.`);
  void validate(value);
  return validate.errors ?? [];
}

function countParts(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((count, part) => count + countParts(part as Json), 1);
}

function comparePlaces(one: Place | undefined, other: Place | undefined): number {
  return (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0);
}

function schemaFiles(): string[] {
  return readdirSync(shipped("schemas"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".schema.json"),
  );
}

function readSchema(file: string): JsonObject {
  return JSON.parse(readFileSync(join(shipped("schemas"), file), "utf8")) as JsonObject;
}

/**
 * The errors worth telling. Of a choice between shapes only those of the shape that was meant are kept; of a misspelt key only
 * that it is unknown, not that the one meant is missing. Looked up by place, since a long file can have thousands.
 */
function telling(errors: readonly ErrorObject[]): ErrorObject[] {
  const at = Map.groupBy(errors, (error) => error.instancePath);
  const above = new Set(errors.flatMap((error) => placesAbove(error.instancePath)));
  const told = errors.filter((error) => {
    if (error.keyword === "if") return false;
    const beside = at.get(error.instancePath) ?? [];
    if (error.keyword === "required" && isMisspelt(error, beside)) return false;
    const choice = beside.find((candidate) => candidate.keyword === "anyOf");
    if (choice === undefined) return true;
    if (isChoiceOfKeys(choice))
      return error === choice || !neededKeys(choice).includes(error.params.missingProperty as string);
    if (error.keyword === "type") return false;
    // An error of a shape whose kind of value fits says more than that no shape fits.
    const meant = above.has(error.instancePath) || beside.some((other) => !["type", "anyOf"].includes(other.keyword));
    return error !== choice || !meant;
  });
  const identity = ({ instancePath, keyword, params }: ErrorObject) =>
    `${instancePath} ${keyword} ${JSON.stringify(params)}`;
  return [...new Map(told.map((error) => [identity(error), error])).values()];
}

function placesAbove(pointer: string): string[] {
  const parts = pointer.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Whether a choice is only about which key must be there, as in "an id or a part of the text". */
function isChoiceOfKeys(choice: ErrorObject): boolean {
  return (choice.schema as JsonObject[]).every((branch) => Object.keys(branch).join() === "required");
}

function neededKeys(choice: ErrorObject): string[] {
  return (choice.schema as { required?: string[] }[]).flatMap((branch) => branch.required ?? []);
}

function isMisspelt(missing: ErrorObject, beside: readonly ErrorObject[]): boolean {
  return beside.some(
    (error) => error.keyword === "additionalProperties" && nearestKey(error) === missing.params.missingProperty,
  );
}

function schemaProblem(error: ErrorObject, problem: PlaceProblem): Problem {
  const { instancePath: pointer, params, data } = error;
  const value = shown(data as Json);
  const limit = String(params.limit);
  switch (error.keyword) {
    case "additionalProperties": {
      const name = String(params.additionalProperty);
      const inner = pointerTo(pointer, name);
      const what = `${owner(error)} has no key ${JSON.stringify(name)}`;
      const meant = nearestKey(error);
      return problem(inner, what, {
        at: "key",
        ...(meant === undefined ? { expected: known(error) } : { nearest: meant }),
      });
    }
    case "required":
      return problem(pointer, `${owner(error)} needs the key ${JSON.stringify(params.missingProperty)}`, {
        expected: inSchema(error),
      });
    case "anyOf":
      if (isChoiceOfKeys(error)) return problem(pointer, `${owner(error)} needs the key ${listed(neededKeys(error))}`);
      return problem(pointer, `${value} is not right here`, { expected: alternatives(error) });
    case "type":
      return problem(pointer, `${value} is not right here`, {
        expected: listed([params.type].flat().map(kind)) + unit(pointer) + sketch(error),
      });
    case "enum": {
      const allowed = (params.allowedValues as Json[]).map(String);
      const meant = typeof data === "string" ? nearest(data, allowed) : undefined;
      return problem(pointer, `${value} is not right here`, { expected: listed(allowed), nearest: meant });
    }
    case "minimum":
      return problem(pointer, `${value} is too small`, { expected: `${limit} or more` });
    case "exclusiveMinimum":
      return problem(pointer, `${value} is too small`, { expected: `more than ${limit}` });
    case "maximum":
      return problem(pointer, `${value} is too large`, { expected: `${limit} or less` });
    case "minLength":
      return problem(pointer, data === "" ? "this text is empty" : `${value} is too short`, {
        expected: `at least ${counted(limit, "character")}`,
      });
    case "maxLength":
      return problem(pointer, "this text is too long", { expected: `at most ${counted(limit, "character")}` });
    case "minItems":
      return problem(pointer, "this list is too short", { expected: `at least ${counted(limit, "entry")}` });
    case "maxItems":
      return problem(pointer, "this list is too long", { expected: `at most ${counted(limit, "entry")}` });
    case "minProperties":
      return problem(pointer, `${owner(error)} needs at least ${counted(limit, "key")}`, { expected: known(error) });
    case "maxProperties":
      return problem(pointer, `${owner(error)} has at most ${counted(limit, "key")}`);
    case "pattern":
      return problem(pointer, `${value} is not right here`, { expected: patternWords(String(params.pattern)) });
    default:
      return problem(pointer, `${value} is not right here: it ${error.message ?? "breaks the schema"}`);
  }
}

/** What the schema says of a missing key, where it says anything. */
function inSchema({ parentSchema, params }: ErrorObject): string | undefined {
  const { properties } = (parentSchema ?? {}) as { properties?: { [key: string]: { description?: string } } };
  return properties?.[String(params.missingProperty)]?.description?.replace(/\.$/, "");
}

function nearestKey(error: ErrorObject): string | undefined {
  return nearest(String(error.params.additionalProperty), knownKeys(error));
}

function knownKeys(error: ErrorObject): string[] {
  return Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {});
}

function known(error: ErrorObject): string {
  return listed(knownKeys(error).filter((key) => key !== "metadata"));
}

/** What a mapping is called, from its schema's title: "a role", "an answer entry". */
function owner(error: ErrorObject): string {
  const title = (error.parentSchema as { title?: string } | undefined)?.title?.toLowerCase().replace(/ object$/, "");
  if (title === undefined) return "this mapping";
  return /^[aeiou]/.test(title) ? `an ${title}` : `a ${title}`;
}

/** The kinds of value a choice allows; a branch that refers to another schema is a mapping in all of ours. */
function alternatives(error: ErrorObject): string {
  const branches = error.schema as { type?: string }[];
  return listed([...new Set(branches.map((branch) => kind(branch.type ?? "object")))]);
}

/** What a number measures, by the ending of its key. */
function unit(pointer: string): string {
  if (pointer.endsWith("_ms")) return " of milliseconds";
  return pointer.endsWith("_s") ? " of seconds" : "";
}

/** A text where a list belongs is most often a command line: how it is written as a list. */
function sketch({ params, data }: ErrorObject): string {
  if (params.type !== "array" || typeof data !== "string" || data.length > 60) return "";
  return `, such as ${JSON.stringify(data.split(/\s+/)).replaceAll(",", ", ")}`;
}

function kind(type: string): string {
  const words: Record<string, string> = {
    string: "a text",
    object: "a mapping (key: value)",
    array: "a list",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    null: "nothing",
  };
  return words[type] ?? type;
}

function patternWords(pattern: string): string {
  const identifier = /^\^\[A-Za-z0-9\]\[A-Za-z0-9\._-\]\{0,(\d+)\}\$$/.exec(pattern);
  if (identifier)
    return `letters, digits, ".", "_" and "-", first a letter or digit, at most ${Number(identifier[1]) + 1}`;
  return `what matches ${pattern}`;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function counted(count: string, noun: string): string {
  const plural = noun.endsWith("ry") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${count} ${count === "1" ? noun : plural}`;
}

/** A value for a message, cut to what fits into a line. */
function shown(value: Json): string {
  if (value === null) return "an empty value";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…"`;
}
