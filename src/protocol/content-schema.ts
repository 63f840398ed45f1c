import { isJsonObject, type Json, type JsonObject, parsedJson } from "../lib/json.ts";

/** An object with none of these says nothing about a value: it is an example, and stands in the prompt like words. */
const KEYWORDS = ["type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "not", "$ref"];

/** The JSON Schema in an `input_schema` or `output_schema`, which may be its text; undefined if that is in words. */
export function schemaIn(content: Json | undefined): JsonObject | undefined {
  const value = typeof content === "string" ? parsedJson(content) : content;
  return isJsonObject(value) && KEYWORDS.some((keyword) => Object.hasOwn(value, keyword)) ? value : undefined;
}
