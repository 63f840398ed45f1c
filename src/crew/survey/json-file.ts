import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { Repository } from "./repository.ts";

/** A JSON file of the work tree as a value and as text, for the lines that findings point at. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  readonly value: JsonObject;
  /** Why the text is no JSON; the value is then empty. */
  readonly broken?: string;
}

/** Reads a JSON file below the root, of any size; undefined when it is not there. */
export async function readJson(repository: Repository, path: string): Promise<JsonFile | undefined> {
  let text: string;
  try {
    text = (await readFile(join(repository.root, path), "utf8")).replace(/^\uFEFF/, "");
  } catch {
    return undefined;
  }
  try {
    return { path, text, value: objectOf(JSON.parse(text) as Json) };
  } catch (error) {
    return { path, text, value: {}, broken: (error as Error).message };
  }
}

/** The line, from 1, where `wanted` first stands in the text at or after `from`; undefined when it does not. */
export function lineAt(text: string, wanted: string, from = 0): number | undefined {
  const index = text.indexOf(wanted, from);
  if (index < 0) return undefined;
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}
