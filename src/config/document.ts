import { extname } from "node:path";
import { isJsonObject, type Json } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { unfitIn } from "../protocol/limits.ts";
import { readJson } from "./json-text.ts";
import type { Located } from "./located.ts";
import { places, type Problem } from "./problem.ts";
import { readText } from "./read-text.ts";
import { readYaml } from "./yaml-text.ts";

/** Most bytes of a configuration, role or answers file. A repository may bring them along, and 1 MiB of YAML already takes seconds. */
export const MAX_CONFIGURATION_BYTES = 1024 * 1024;

/**
 * Makes a problem placed at the value of a JSON pointer, or with `at: "key"` at its key; what the text does not hold is placed at
 * what should hold it.
 */
export type PlaceProblem = (
  pointer: string,
  what: string,
  more?: Pick<Problem, "expected" | "nearest"> & { readonly at?: "key" | "value" },
) => Problem;

/** A file a person wrote, read as plain data, that still knows where each part stands. */
export interface SourceDocument {
  readonly file: string;
  readonly value: Json;
  readonly problem: PlaceProblem;
}

/**
 * Loads a YAML or JSON file. JSON is strict for `.json`; everything else is read as YAML 1.2, which contains it. The first thing
 * that keeps it from being read is the problem. A top-level `$schema` (for editors) is dropped.
 */
export function loadDocument(
  file: string,
  limit_bytes: number,
  scalars: "typed" | "texts" = "typed",
): Result<SourceDocument, Problem> {
  const text = readText(file, limit_bytes);
  return text.ok ? parseDocumentText(file, text.value, scalars) : text;
}

/** Whether a file of that name is read as strict JSON. */
export function isJsonFile(file: string): boolean {
  return [".json", ".jsonc", ".json5"].includes(extname(file).toLowerCase());
}

/** What a text must have that was written with escapes of its own. */
const WHOLE = String.raw`both halves, such as \ud83d\ude00, or the character itself`;

/** The same for a text that is already there; `scalars: "texts"` keeps every value as the text that was written. */
export function parseDocumentText(
  file: string,
  text: string,
  scalars: "typed" | "texts" = "typed",
): Result<SourceDocument, Problem> {
  if (text.trim() === "") return err({ file, pointer: "", what: "it is empty", expected: "YAML or JSON" });
  const place = places(text);
  const read = isJsonFile(file) ? readJson(text, scalars) : readYaml(text, scalars);
  if (!read.ok) {
    const { offset, pointer = "", ...fault } = read.error;
    return err({ file, pointer, place: place(offset), ...fault });
  }
  const { value, locate } = read.value;
  if (value === null) return err({ file, pointer: "", what: "it holds no value", expected: "YAML or JSON" });
  const problem: PlaceProblem = (pointer, what, { at = "value", ...more } = {}) => {
    const offset = offsetOf(locate, pointer, at);
    return { file, pointer: pointer.toWellFormed(), what, place: place(offset), ...more };
  };
  const unfit = unfitIn(value);
  if (unfit) {
    const { pointer, at, what, rule } = unfit;
    return err(problem(pointer, `it ${what}`, { at, ...(rule === "well_formed" ? { expected: WHOLE } : {}) }));
  }
  return ok({ file, value: withoutSchemaKey(value), problem });
}

function offsetOf(locate: Located["locate"], pointer: string, at: "key" | "value"): number {
  const spot = locate(pointer);
  if (spot) return at === "key" ? (spot.key ?? spot.value) : spot.value;
  return pointer === "" ? 0 : offsetOf(locate, pointer.slice(0, pointer.lastIndexOf("/")), at);
}

function withoutSchemaKey(value: Json): Json {
  if (!isJsonObject(value) || typeof value.$schema !== "string") return value;
  const { $schema: _editor, ...rest } = value;
  return rest;
}
