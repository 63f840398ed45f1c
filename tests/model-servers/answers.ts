import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";

/** A value with null for each required member that it lacks, as a model answers a strict schema. */
export function fitted(value: Json, schema: Json | undefined): Json {
  if (!isJsonObject(schema)) return value;
  const branch = branchFor(value, schema);
  if (Array.isArray(value)) return value.map((item: Json) => fitted(item, branch.items));
  if (!isJsonObject(value)) return value;
  const properties = objectOf(branch.properties);
  const missing = (listOf(branch.required) as string[]).filter((name) => value[name] === undefined);
  return {
    ...Object.fromEntries(Object.entries(value).map(([name, inner = null]) => [name, fitted(inner, properties[name])])),
    ...Object.fromEntries(missing.map((name) => [name, null])),
  };
}

/** The part of a schema that a value is written for. */
function branchFor(value: Json, schema: JsonObject): JsonObject {
  const branches = listOf(schema.anyOf ?? schema.oneOf).map(objectOf);
  if (branches.length === 0) return schema;
  const fits = branches.filter(({ type, properties }) => {
    if (Array.isArray(value)) return type === "array";
    if (!isJsonObject(value)) return type === typeof value;
    return type === "object" && Object.keys(value).every((name) => Object.hasOwn(objectOf(properties), name));
  });
  return fits[0] ?? {};
}
