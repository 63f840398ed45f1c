/** Any value that JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type JsonObject = { readonly [key: string]: Json | undefined };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value in a text of JSON; undefined if it is none. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The object in a text of JSON; undefined if it is none. */
export function parsedObject(text: string): JsonObject | undefined {
  const value = parsedJson(text);
  return isJsonObject(value) ? value : undefined;
}

/** The value if it is an object, else an empty object. */
export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value if it is a list, else an empty list. */
export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The members that are not undefined, for an object whose optional members may be absent, but not undefined. Called for every fact. */
export function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const known: Partial<T> = {};
  for (const name in members) if (members[name] !== undefined) known[name] = members[name];
  return known as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** The value if it is a number, else 0. */
export function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

/** Whether the value is a whole number from 0 up. */
export function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** The value if it is a count, else 0. */
export function countOf(value: Json | undefined): number {
  return isCount(value) ? value : 0;
}

/** The value if it is a text, else an empty text. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The text of a string or of an object with a `text`; empty for other values. */
export function textWithin(value: Json | undefined): string {
  return typeof value === "string" ? value : textOf(objectOf(value).text);
}

/** The value, which nobody can change any more. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const member of Object.values(Object.freeze(value))) frozen(member);
  return value;
}
