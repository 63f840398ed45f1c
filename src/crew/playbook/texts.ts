import { dirname, extname, join } from "node:path";
import type { Json, JsonObject } from "../../lib/json.ts";
import { PLACEHOLDER, programNamed } from "../../protocol/playbook/placeholders.ts";

/** What the placeholders of a plan file stand for. */
interface Values {
  readonly answers: ReadonlyMap<string, string>;
  /** The running program's file: its neighbours are the crew, under the same extension. */
  readonly program: string;
}

/**
 * The value with every placeholder in its texts replaced: `${node}`, `${crew}` (the crew's directory), `${crew.<program>}` (the file of
 * one of its programs), `${answers.<question_id>}`; `$${` is a literal `${`. In a `shell` text the values come quoted for `sh`, so that an
 * answer can never become a command. Names must have been checked by `planFindings` first; an unknown one here is a bug.
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

/** What a name stands for; undefined when its question has no answer yet. */
function lookUp(name: string, values: Values): string | undefined {
  if (name === "node") return process.execPath;
  if (name === "crew") return dirname(values.program);
  if (name.startsWith("answers.")) return values.answers.get(name.slice("answers.".length));
  const program = programNamed(name);
  return program === undefined ? undefined : programBeside(values.program, program);
}

/** The file of the crew's program with this name, beside another of them. */
export function programBeside(program: string, name: string): string {
  return join(dirname(program), name + extname(program));
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
