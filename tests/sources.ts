import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { withoutComments } from "./imports.ts";

export const ROOT = resolve(import.meta.dirname, "..");

export interface Source {
  /** Relative to `src/`, with slashes. */
  readonly name: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
}

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.includes("/generated/") && !file.includes("/node_modules/"))
    .toSorted();
}

/** The files of `src/`. */
export const SOURCES: readonly Source[] = filesBelow(join(ROOT, "src")).map((file) => {
  const text = readFileSync(file, "utf8");
  return { name: relative(join(ROOT, "src"), file), text, code: withoutComments(text) };
});

/** Entries found in the files but missing from the list, and the other way round. */
export function difference(
  found: ReadonlyMap<string, readonly string[]>,
  known: Readonly<Record<string, readonly string[]>>,
) {
  const lines = (entries: Iterable<readonly [string, readonly string[]]>) =>
    new Set([...entries].flatMap(([name, words]) => words.map((word) => `${name}: ${word}`)));
  const [there, listed] = [lines(found), lines(Object.entries(known))];
  return {
    added: [...there].filter((line) => !listed.has(line)),
    gone: [...listed].filter((line) => !there.has(line)),
  };
}
