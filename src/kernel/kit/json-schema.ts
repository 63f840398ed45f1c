import { Ajv2020 } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { MAX_MEMBERS, parseFile } from "../../protocol/limits.ts";
import { fileFindings } from "../../protocol/schema-errors.ts";
import { wrongAt } from "../step.ts";

/** A record holds a value that an agent wrote as text some levels deep, of 64. */
const MAX_LEVELS = 50;
/** The agent reads them in its next prompt. */
const SHOWN_FINDINGS = 10;

/** Another draft's name is unknown to ajv, and an asynchronous check would always pass. */
const LEFT_OUT = ["$schema", "$async"];

/** Makes a check from a JSON Schema of any draft whose keywords 2020-12 has. The error says why it is none. */
export function checkOf(schema: JsonObject): Result<(value: Json) => readonly Finding[], string> {
  try {
    const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false, logger: false });
    const validate = ajv.compile(Object.fromEntries(Object.entries(schema).filter(([key]) => !LEFT_OUT.includes(key))));
    return ok((value) => (validate(value) ? [] : fileFindings(validate.errors ?? [])));
  } catch (error) {
    return err((error as Error).message);
  }
}

/** The JSON in a text field, bare or in one fence, if it fits a schema. The failure, about `pointer`, says what does not. */
export function valueFitting(text: string, schema: JsonObject, pointer: string): Fallible<Json> {
  const field = pointer.slice(1);
  const hint = `the ${field} is JSON that fits the schema, and nothing else`;
  const bare = /^```\w*\n(.*)\n```$/s.exec(text.trim())?.[1] ?? text;
  const parsed = parseFile(Buffer.from(bare), MAX_LEVELS, MAX_MEMBERS, field);
  if (!parsed.ok) return err(wrongAt(pointer, parsed.error.message, hint));
  const value = parsed.value as Json;
  const check = checkOf(schema);
  const findings = check.ok ? check.value(value) : [];
  if (findings.length === 0) return ok(value);
  const shown = findings
    .slice(0, SHOWN_FINDINGS)
    .map(({ what, pointer: place }) => (place === "" ? what.replace("the file", "it") : `${what} (at ${place} in it)`));
  return err(wrongAt(pointer, `the ${field} does not fit the schema: ${shown.join("; ")}`, hint));
}
