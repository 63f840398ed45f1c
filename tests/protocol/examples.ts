import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import { err, ok, type Result } from "../../src/lib/result.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import type { DocumentByName, PayloadByType } from "../../src/protocol/payload.ts";
import type { Refusal } from "../../src/protocol/refusal.ts";
import { refusalOf } from "../../src/protocol/schema-errors.ts";

export interface SchemaFile {
  readonly name: string;
  readonly path: string;
  readonly schema: JsonObject & { readonly examples?: readonly Json[] };
}

const folder = join(import.meta.dirname, "../../schemas");

/** Every schema file that is written by hand and has a validator of its own, with its examples. */
export const schemaFiles: SchemaFile[] = [folder, join(folder, "payloads")].flatMap((directory) =>
  readdirSync(directory)
    .filter((name) => /(?<!^common|^record)\.schema\.json$/.test(name))
    .sort()
    .map((name) => ({
      name: basename(name, ".schema.json"),
      path: join(directory, name),
      schema: JSON.parse(readFileSync(join(directory, name), "utf8")) as SchemaFile["schema"],
    })),
);

/** Checks a value by the schema of that name, payload or document, as it is written. */
export function validate(name: string, value: unknown): Result<unknown, Refusal> {
  const validator = validators[name as keyof (DocumentByName & PayloadByType)];
  return validator(value) ? ok(value) : err(refusalOf(name, validator.errors ?? []));
}

/** Every object in a value, with its JSON pointer. */
export function* objectsIn(value: Json | undefined, pointer = ""): Generator<[pointer: string, object: JsonObject]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [pointer, value as JsonObject];
  for (const [key, inner] of Object.entries(value)) yield* objectsIn(inner as Json, `${pointer}/${key}`);
}

/** A copy of `value` with the object at `pointer` replaced by what `change` makes of it. */
export function changed(value: Json, pointer: string, change: (object: JsonObject) => JsonObject): Json {
  if (pointer === "") return change(value as JsonObject);
  const [, key = "", ...rest] = pointer.split("/");
  const inner = (value as JsonObject)[key] as Json;
  const replaced = changed(inner, rest.map((part) => `/${part}`).join(""), change);
  if (Array.isArray(value)) return value.with(Number(key), replaced) as Json;
  return { ...(value as JsonObject), [key]: replaced };
}
