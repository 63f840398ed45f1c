import type { Json, JsonObject } from "../lib/json.ts";

/** The words of a text on the wire, where a plain string may stand for the object that has only that text. */
export function wordsOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "";
  const { text, label, uri } = value as JsonObject;
  for (const words of [text, label, uri]) if (typeof words === "string") return words;
  return "";
}

/** The words of each text in a list; nothing if it is none. */
export function allWords(value: Json | undefined): string[] {
  return Array.isArray(value) ? (value as Json[]).map(wordsOf).filter((words) => words !== "") : [];
}

/** `1 ticket`, `3 tickets`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
