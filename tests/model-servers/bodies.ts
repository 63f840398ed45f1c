import { createHash } from "node:crypto";
import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";

/** A short name for a text. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** The value of a JSON text, or nothing if it is none. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** An object from a JSON text; empty if it is none. */
export function parsedObject(text: Json | undefined): JsonObject {
  return objectOf(parsed(textOf(text)));
}

/** All text of a content: a string, or parts in any protocol's form, or an object that holds one. */
export function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return listOf(value)
      .map(textOf)
      .filter((text) => text !== "")
      .join("\n");
  if (!isJsonObject(value)) return "";
  return textOf(value.text ?? value.content ?? value.output);
}

/** A text in pieces, as a model streams it. */
export function words(text: string): string[] {
  return text.match(/.{1,80}/gs) ?? [];
}
