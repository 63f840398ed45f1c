import type { Json, JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { textCheck } from "../../protocol/content-check.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { MAX_MEMBERS, parseFile } from "../../protocol/limits.ts";
import { wrongAt } from "../step.ts";

/** A record holds a value that an agent wrote as text some levels deep, of 64. */
const MAX_LEVELS = 50;

/** The JSON in a text field, bare or in one fence, if it fits the schema that a person gave. The failure, about `pointer`, says what does not. */
export function valueFitting(text: string, schema: JsonObject, pointer: string): Fallible<Json> {
  const field = pointer.slice(1);
  const hint = `the ${field} is JSON that fits the schema, and nothing else`;
  const value = valueIn(text, pointer, hint);
  const check = textCheck(schema, { isPersons: true });
  const lack = value.ok && check.ok ? check.value(bareOf(text)) : undefined;
  return lack === undefined ? value : err(wrongAt(pointer, `the ${field} does not fit the schema: ${lack}`, hint));
}

/** The JSON in a text field, bare or in one fence. */
export function valueIn(text: string, pointer: string, hint: string): Fallible<Json> {
  const parsed = parseFile(Buffer.from(bareOf(text)), MAX_LEVELS, MAX_MEMBERS, pointer.slice(1));
  return parsed.ok ? ok(parsed.value as Json) : err(wrongAt(pointer, parsed.error.message, hint));
}

function bareOf(text: string): string {
  return /^```\w*\n(.*)\n```$/s.exec(text.trim())?.[1] ?? text;
}
