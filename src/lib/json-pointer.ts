import type { Json, JsonObject } from "./json.ts";

/** The JSON pointer (RFC 6901) to a key or index of the value at `parent`. */
export function pointerTo(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The value at a JSON pointer; undefined if there is none. */
export function at(value: Json, pointer: string): Json | undefined {
  if (pointer === "") return value;
  let current: Json | undefined = value;
  for (const part of pointer.split("/").slice(1)) {
    if (current === null || typeof current !== "object") return undefined;
    const key = part.includes("~") ? part.replaceAll("~1", "/").replaceAll("~0", "~") : part;
    current = Array.isArray(current) ? (current as Json[])[Number(key)] : (current as JsonObject)[key];
  }
  return current;
}
