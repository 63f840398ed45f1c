import { dirname, extname, join } from "node:path";
import type { Json, JsonObject } from "../../lib/json.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { PLACEHOLDER, programNamed } from "../../protocol/playbook/placeholders.ts";

/** The values of a plan file's placeholders. */
interface Values {
  readonly answers: ReadonlyMap<string, string>;
  /** The running program's file. The crew's other programs are beside it, with the same extension. */
  readonly program: string;
}

/**
 * Replaces every placeholder in the texts of a value: `${node}`, `${crew}` (the folder of the crew's programs),
 * `${crew.<program>}` (the file of one of them) and `${answers.<question_id>}`; `$${` becomes `${`. In a `shell` text
 * the values are quoted, so that an answer cannot become a command. `planFindings` must have checked the names.
 */
export function substitute(value: Json, values: Values, quoted = false): Json {
  if (typeof value === "string") {
    return value.replace(PLACEHOLDER, (whole, name: string | undefined) => {
      if (name === undefined) return "${";
      const found = lookUp(name, values);
      if (found === undefined) throw new Error(`${whole} has no value`);
      return quoted ? shellWord(found) : found;
    });
  }
  if (Array.isArray(value)) return (value as Json[]).map((item) => substitute(item, values));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, item]) => [key, substitute(item ?? null, values, key === "shell")]));
}

/** The value of a name; undefined if its question has no answer. */
function lookUp(name: string, values: Values): string | undefined {
  if (name === "node") return process.execPath;
  if (name === "crew") return dirname(values.program);
  if (name.startsWith("answers.")) return values.answers.get(name.slice("answers.".length));
  const program = programNamed(name);
  return program === undefined ? undefined : programBeside(values.program, program);
}

/** The file of one of the crew's programs, given the file of another. */
export function programBeside(program: string, name: string): string {
  return join(dirname(program), name + extname(program));
}
