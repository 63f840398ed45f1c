import { isJsonObject, type Json, listOf, objectOf } from "./json.ts";

/** Whether every object of a JSON Schema demands all its properties and allows no others, as providers want of a schema that they keep strictly. */
export function isClosedSchema(schema: Json | undefined): boolean {
  if (!isJsonObject(schema)) return listOf(schema).every(isClosedSchema);
  const { type, additionalProperties, properties, required } = schema;
  const isClosed = type !== "object" || additionalProperties === false;
  const isWhole = Object.keys(objectOf(properties)).every((name) => listOf(required).includes(name));
  return isClosed && isWhole && Object.values(schema).every(isClosedSchema);
}
