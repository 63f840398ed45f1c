import { isJsonObject, type Json } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { firstViolation, type Unfit } from "../limits.ts";
import { type Located, type Scalars, readLocated } from "./located-value.ts";
import type { Finding, Problem, SourcePosition } from "./problem.ts";
import { positionsIn } from "./source-text.ts";

/** A file that a person wrote, parsed into plain data, with the position of each part. */
export interface SourceDocument {
  readonly file: string;
  readonly value: Json;
  /** The position of the value at a JSON pointer, or of its key; if the text lacks the value, the position of its parent. */
  readonly position: (pointer: string, at?: "key" | "value") => SourcePosition;
  readonly problem: (finding: Finding) => Problem;
}

const EXPECTED: { readonly [R in Unfit["rule"]]?: string } = {
  finite: "quotes, if it is a text",
  well_formed: String.raw`both halves, such as \ud83d\ude00, or the character itself`,
};

/** Whether a file of this name is read as strict JSON. */
export function isJsonFile(file: string): boolean {
  return /\.(?:json|jsonc|json5)$/i.test(file);
}

/**
 * Parses a text as strict JSON if the file's name says so, else as YAML 1.2, which contains JSON. Fails with the first problem that prevents it. A
 * top-level `$schema` (for editors) is dropped.
 */
export function parseDocument(file: string, text: string, scalars: Scalars = "typed"): Result<SourceDocument, Problem> {
  if (text.trim() === "") return err({ file, pointer: "", what: "the file is empty", expected: "YAML or JSON" });
  const positionOf = positionsIn(text);
  const read = readLocated(text, isJsonFile(file) ? "json" : "yaml", scalars);
  if (!read.ok) {
    const { offset, pointer = "", ...fault } = read.error;
    return err({ file, pointer: pointer.toWellFormed(), position: positionOf(offset), ...fault });
  }
  const { value, locate } = read.value;
  if (value === null) return err({ file, pointer: "", what: "the file has no content", expected: "YAML or JSON" });
  const position = (pointer: string, at?: "key" | "value") => positionOf(offsetOf(locate, pointer, at));
  const problem = ({ pointer, at, unquoted, ...about }: Finding) => {
    const place = position(pointer, at);
    const written = unquoted && /^[\w.+~-]+(?![\w.+~-]|\s*:)/.exec(place.source.slice(place.column - 1))?.[0];
    const quotes = written && { expected: `the text in quotes: "${written}"` };
    return { file, pointer: pointer.toWellFormed(), position: place, ...about, ...quotes };
  };
  const unfit = firstViolation(value);
  if (unfit) {
    const { pointer, at, what, rule } = unfit;
    return err(problem({ pointer, at, what: `this ${what}`, expected: EXPECTED[rule] }));
  }
  return ok({ file, value: withoutSchemaKey(value), position, problem });
}

function offsetOf(locate: Located["locate"], pointer: string, at: "key" | "value" | undefined): number {
  const place = locate(pointer);
  if (place) return at === "key" ? (place.key ?? place.value) : place.value;
  return pointer === "" ? 0 : offsetOf(locate, pointer.slice(0, pointer.lastIndexOf("/")), at);
}

function withoutSchemaKey(value: Json): Json {
  if (!isJsonObject(value) || typeof value.$schema !== "string") return value;
  const { $schema: _editor, ...rest } = value;
  return rest;
}
