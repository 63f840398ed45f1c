import { formatDuration } from "../lib/durations.ts";
import { isJsonObject, type Json } from "../lib/json.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { RunningTurn } from "../runtime/feed/standing.ts";
import { clipped } from "./display.ts";
import type { Output } from "./terminal.ts";

/** Maximum width of a quotation, in columns. */
const QUOTE_WIDTH = 100;

/** The text of a value on the wire: a string, or an object with a text, label or URI. Empty for anything else. */
export function wordsOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return "";
  const { text, label, uri } = value;
  for (const words of [text, label, uri]) if (typeof words === "string") return words;
  return "";
}

/** The texts of a list on the wire. Empty for anything else. */
export function allWords(value: Json | undefined): string[] {
  return Array.isArray(value) ? (value as Json[]).map(wordsOf).filter((words) => words !== "") : [];
}

/** `1 ticket`, `3 tickets`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `812 B`, `64 kB`, `1.2 GB`. */
export function bytesWords(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const count = bytes / 1000 ** power;
  return `${count.toFixed(count < 10 && power > 0 ? 1 : 0)} ${["B", "kB", "MB", "GB"][power]}`;
}

// In a sentence the program is always "Bosun". A generated id after the command's name is of a session.
const COMMAND = /(?<![\w./-])bosun (?=[a-z]+(?<named> [a-z]-[a-z0-9]{6}\b)?)/g;
const COMMAND_ALONE = new RegExp(`^${COMMAND.source}`);

/** Replaces `bosun …`, as commands are written everywhere, with what is typed at this output, in a command or in a sentence. */
export function localize({ program, anywhere = program }: Pick<Output, "program" | "anywhere">, text: string): string {
  const typed = (_: string, named: string | undefined) => `${named === undefined ? program : anywhere} `;
  // The arguments of a command are not Bosun's words.
  return text.startsWith("bosun ") ? text.replace(COMMAND_ALONE, typed) : text.replace(COMMAND, typed);
}

export function nextLines(output: Pick<Output, "program" | "anywhere">, commands: readonly string[]): string[] {
  return commands.map((command, index) => `${index === 0 ? "next" : "    "}    ${localize(output, command)}`);
}

export function tellNext(output: Output, ...commands: readonly string[]): void {
  for (const line of nextLines(output, commands)) output.line(line);
}

/** Maximum number of running turns that are named; the others are counted. */
export const MAX_NAMED = 8;

/** The running turns with their durations: `build (hand, 4m), docs (hand, 12s)`. Empty if there are none. */
export function runningWords(running: readonly RunningTurn[], now: number): string {
  const names = running.slice(0, MAX_NAMED).map(({ role_id, subject, since }) => {
    const long = since === undefined ? [] : [formatDuration(now - since)];
    return subject === undefined || subject === role_id
      ? `${role_id}${long.map((time) => ` (${time})`).join("")}`
      : `${subject} (${[role_id, ...long].join(", ")})`;
  });
  const others = running.length - names.length;
  return [...names, ...(others > 0 ? [`${others} more`] : [])].join(", ");
}

/** Untrusted text on one line, in quotation marks, cut to `width` columns. */
export function quoted(text: string, width: number = QUOTE_WIDTH): string {
  return `"${clipped(text, width)}"`;
}

/** When agents hear a note: its record says which running turns it is written into. */
export function whenTold({ record: { heard_by = [] } }: UnsealedRecord): string {
  if (heard_by.length === 0) return "comes with the next turn";
  return heard_by.length === 1 ? "told the running turn" : `told ${heard_by.length} running turns`;
}

/** A quoted text on the wire, after a space. Empty if there is none. */
export function said(value: Json | undefined, width?: number): string {
  const words = wordsOf(value);
  return words === "" ? "" : ` ${quoted(words, width)}`;
}
