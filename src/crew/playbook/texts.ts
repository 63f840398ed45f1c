import { existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Path } from "./shape.ts";

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}/g;

/** What the placeholders of a plan file stand for. */
interface Values {
  readonly answers: ReadonlyMap<string, string>;
  /** The running program's file: its neighbours are the crew, under the same extension. */
  readonly program: string;
}

/**
 * The value with every placeholder in its texts replaced: `${node}`, `${crew}` (the crew's directory), `${crew.<program>}` (the file of
 * one of its programs), `${answers.<question_id>}`; `$${` is a literal `${`. In a `shell` text the values come quoted for `sh`, so that an
 * answer can never become a command. Names must have been checked by `placeholders` first; an unknown one here is a bug.
 */
export function substitute(value: Json, values: Values, quoted = false): Json {
  if (typeof value === "string") {
    return value.replace(PLACEHOLDER, (whole, name: string | undefined) => {
      if (name === undefined) return "${";
      const found = lookUp(name, values);
      if (found === undefined) throw new Error(`${whole} stands for nothing`);
      return quoted ? shellQuoted(found) : found;
    });
  }
  if (Array.isArray(value)) return (value as Json[]).map((item) => substitute(item, values));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, item]) => [key, substitute(item ?? null, values, key === "shell")]));
}

/** Every placeholder of a value, with where it stands; `in_quotes` when a `shell` text has put quotes of its own around it. */
export function placeholders(value: Json, path: Path): { path: Path; name: string; in_quotes: boolean }[] {
  if (typeof value === "string") {
    return [...value.matchAll(PLACEHOLDER)]
      .filter((match) => match[1] !== undefined)
      .map((match) => ({
        path,
        name: match[1] ?? "",
        in_quotes: path.at(-1) === "shell" && endsInQuotes(value.slice(0, match.index)),
      }));
  }
  if (Array.isArray(value)) return (value as Json[]).flatMap((item, index) => placeholders(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => placeholders(item ?? null, [...path, key]));
}

/** What a name stands for; undefined when it is unknown, or when its question has no answer yet. */
export function lookUp(name: string, values: Values): string | undefined {
  if (name === "node") return process.execPath;
  if (name === "crew") return dirname(values.program);
  if (name.startsWith("answers.")) return values.answers.get(name.slice("answers.".length));
  const program = /^crew\.([a-z][a-z-]*)$/.exec(name)?.[1];
  if (program === undefined) return undefined;
  const file = join(dirname(values.program), program + extname(values.program));
  return existsSync(file) ? file : undefined;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function endsInQuotes(before: string): boolean {
  let quote: string | undefined;
  for (let index = 0; index < before.length; index += 1) {
    const character = before[index];
    if (character === "\\" && quote !== "'") index += 1;
    else if (quote === undefined && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = undefined;
  }
  return quote !== undefined;
}
