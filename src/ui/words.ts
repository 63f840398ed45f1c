import { isJsonObject, type Json } from "../lib/json.ts";
import { clipped } from "./display.ts";
import type { Output } from "./terminal.ts";

/** The columns that what somebody said gets where it is only mentioned. */
const QUOTE_WIDTH = 100;

/** The words of a text on the wire, where a plain string may stand for the object that has only that text. */
export function wordsOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return "";
  const { text, label, uri } = value;
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

// In a sentence the program is always "Bosun".
const COMMAND = /(?<![\w./-])bosun (?=[a-z])/g;

/** Everywhere a command is written as `bosun …`. Here it, or a sentence with commands in it, becomes what is typed at this output. */
export function localize({ program }: Pick<Output, "program">, text: string): string {
  // The arguments of a command are not Bosun's words.
  if (text.startsWith("bosun ")) return program + text.slice("bosun".length);
  return text.replace(COMMAND, () => `${program} `);
}

/** The commands to type next, a line for each. */
export function nextLines(output: Pick<Output, "program">, commands: readonly string[]): string[] {
  return commands.map((command, index) => `${index === 0 ? "next" : "    "}    ${localize(output, command)}`);
}

/** Writes them. */
export function tellNext(output: Output, ...commands: readonly string[]): void {
  for (const line of nextLines(output, commands)) output.line(line);
}

/** Words of foreign origin on one line, in quotation marks, cut to `width` columns. */
export function quoted(text: string, width: number = QUOTE_WIDTH): string {
  return `"${clipped(text, width)}"`;
}

/** The same for the text of a payload, with a blank before it; nothing if there is none. */
export function said(value: Json | undefined, width?: number): string {
  const words = wordsOf(value);
  return words === "" ? "" : ` ${quoted(words, width)}`;
}
