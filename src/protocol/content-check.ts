import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { schemaIn } from "./content-schema.ts";
import { MAX_DEPTH, MAX_MEMBERS, parseFile } from "./limits.ts";
import { cut } from "./refusal.ts";
import { fileFindings } from "./schema-errors.ts";

/** What a text lacks to be JSON of its schema, in words; undefined if nothing. */
export type TextCheck = (text: string) => string | undefined;

/** A schema of a role may come with a repository, and these can take for ever on a short text, or on any. They stand in the prompt, and nothing else. */
const NOT_ENFORCED = ["pattern", "format", "uniqueItems"];

/** Without these a check takes time by the size of the schema and of the text. */
const REFUSED = /"(\$(?:ref|dynamicRef|recursiveRef|async)|patternProperties)":/;

/** An agent reads them in its next prompt. */
const MAX_ERRORS = 10;

/** The checks that were made, by their schemas: making one takes ajv some ms. */
const known = new Map<string, Result<TextCheck, string>>();
const MAX_KNOWN = 200;

/** What a text lacks to be JSON of an `input_schema` or `output_schema`; undefined if nothing, or if that is in words. */
export function lackIn(content: Json | undefined, text: string): string | undefined {
  const schema = schemaIn(content);
  const check = schema && textCheck(schema);
  return check?.ok ? check.value(text) : undefined;
}

/** Makes the check of texts that a JSON Schema of any draft describes, all of it if the person gave it. Fails with what is wrong with the schema. */
export function textCheck(schema: JsonObject, { isPersons = false } = {}): Result<TextCheck, string> {
  const text = JSON.stringify(schema);
  const key = `${isPersons} ${text}`;
  const made = known.get(key) ?? (isPersons ? undefined : refused(text)) ?? compiled(schema, isPersons);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, made);
  return made;
}

function refused(text: string): Result<never, string> | undefined {
  const [, keyword] = REFUSED.exec(text) ?? [];
  return keyword === undefined ? undefined : err(`${keyword} is not supported`);
}

function compiled(schema: JsonObject, isPersons: boolean): Result<TextCheck, string> {
  const ajv = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false, logger: false });
  for (const one of isPersons ? [] : NOT_ENFORCED) ajv.removeKeyword(one);
  try {
    // Another draft's name is unknown to ajv, and an asynchronous check would always pass.
    const { $schema: _draft, $async: _later, ...own } = schema;
    const validate = ajv.compile(own);
    return ok((text) => lackOf(text, validate));
  } catch (error) {
    return err(cut((error as Error).message, 500));
  }
}

function lackOf(text: string, validate: ValidateFunction): string | undefined {
  const parsed = parseFile(Buffer.from(text), MAX_DEPTH, MAX_MEMBERS);
  if (!parsed.ok) return parsed.error.message.replace("The file", "it");
  if (validate(parsed.value)) return undefined;
  const findings = fileFindings(validate.errors ?? []);
  const shown = findings
    .slice(0, MAX_ERRORS)
    .map(({ what, pointer }) => (pointer === "" ? what.replace("the file", "it") : `${what} (at ${pointer} in it)`));
  const rest = findings.length > MAX_ERRORS ? [`and ${findings.length - MAX_ERRORS} more`] : [];
  return cut([...shown, ...rest].join("; "), 2_000);
}
