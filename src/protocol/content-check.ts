import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Json, JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { schemaIn } from "./content-schema.ts";
import { MAX_DEPTH, MAX_MEMBERS, parseFile } from "./limits.ts";
import { cut } from "./refusal.ts";

/** What a text lacks to be JSON of its schema, in words; undefined if nothing. */
export type TextCheck = (text: string) => string | undefined;

/** A schema may come with a repository, and these can take for ever on a short text, or on any. They stand in the prompt, and nothing else. */
const NOT_ENFORCED = ["pattern", "format", "uniqueItems"];

/** Without these a check takes time by the size of the schema and of the text. */
const REFUSED = /"(\$(?:ref|dynamicRef|recursiveRef|async)|patternProperties)":/;

const MAX_ERRORS = 5;

/** The checks that were made, by their schemas: making one takes ajv some ms. */
const known = new Map<string, Result<TextCheck, string>>();
const MAX_KNOWN = 200;

/** What a text lacks to be JSON of an `input_schema` or `output_schema`; undefined if nothing, or if that is in words. */
export function lackIn(content: Json | undefined, text: string): string | undefined {
  const schema = schemaIn(content);
  const check = schema && textCheck(schema);
  return check?.ok ? check.value(text) : undefined;
}

/** Makes the check of texts that a JSON Schema describes. Fails with what is wrong with the schema. */
export function textCheck(schema: JsonObject): Result<TextCheck, string> {
  const key = JSON.stringify(schema);
  const made = known.get(key) ?? compiled(schema, key);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, made);
  return made;
}

function compiled(given: JsonObject, text: string): Result<TextCheck, string> {
  const [, keyword] = REFUSED.exec(text) ?? [];
  if (keyword !== undefined) return err(`${keyword} is not supported`);
  const ajv = new Ajv2020({ allErrors: true, ownProperties: true, strict: false, logger: false });
  for (const one of NOT_ENFORCED) ajv.removeKeyword(one);
  try {
    const { $schema: _, ...schema } = given;
    const validate = ajv.compile(schema);
    return ok((content) => lackOf(content, validate));
  } catch (error) {
    return err(cut((error as Error).message, 500));
  }
}

function lackOf(text: string, validate: ValidateFunction): string | undefined {
  const parsed = parseFile(Buffer.from(text), MAX_DEPTH, MAX_MEMBERS);
  if (!parsed.ok) return parsed.error.message.replace("The file", "it");
  if (validate(parsed.value)) return undefined;
  const errors = validate.errors ?? [];
  const rest = errors.length > MAX_ERRORS ? [`and ${errors.length - MAX_ERRORS} more`] : [];
  return cut([...errors.slice(0, MAX_ERRORS).map(words), ...rest].join("; "), 2_000);
}

function words({ instancePath, message = "does not fit", params }: ErrorObject): string {
  const { allowedValues, allowedValue = allowedValues, additionalProperty = allowedValue } = params;
  const which = additionalProperty === undefined ? "" : `: ${JSON.stringify(additionalProperty)}`;
  return `${instancePath || "it"} ${message}${which}`;
}
