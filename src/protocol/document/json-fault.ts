import { nearest } from "../../lib/nearest.ts";
import type { Finding } from "./problem.ts";

/** Why a text cannot be parsed, and the offset at which parsing fails, in UTF-16 units. */
export interface Fault extends Pick<Finding, "what" | "expected" | "nearest"> {
  readonly offset: number;
  readonly pointer?: string;
}

/** Returns the fault that JSON.parse finds, in our words for common mistakes and in its own for others; undefined if it finds none. */
export function jsonFault(text: string): Fault | undefined {
  const message = jsonError(text);
  if (message === undefined) return undefined;
  const position = / at position (\d+)/.exec(message)?.[1];
  const isToken = message.startsWith("Unexpected token");
  const offset = position !== undefined ? Number(position) : isToken ? unexpectedToken(text) : text.length;
  const isWord = isToken || /^Expected (?:property|double-quoted)/.test(message);
  const mistake = commonMistake(text, offset) ?? (isWord ? unquotedWord(text, offset) : undefined);
  const words = message.replace(/(?:, (?:\.{3})?"| in JSON| at position).*/s, "");
  return { offset, ...(mistake ?? { what: uncapitalized(words) }) };
}

function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * The offset of the word with the first unexpected token. JSON.parse does not report it, so this searches for the shortest prefix with that error.
 */
function unexpectedToken(text: string): number {
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (jsonError(text.slice(0, middle))?.startsWith("Unexpected token") === true) high = middle;
    else low = middle + 1;
  }
  const word = /[\w$-]*$/.exec(text.slice(Math.max(0, low - 61), low - 1))?.[0] ?? "";
  return low - 1 - word.length;
}

function commonMistake(text: string, offset: number): (Partial<Fault> & Pick<Fault, "what">) | undefined {
  const rest = text.slice(offset, offset + 2);
  if (/^(?:\/[/*]|#)/.test(rest)) {
    return { what: "JSON has no comments", expected: "no comments, or a .yaml file, where # begins one" };
  }
  if (rest.startsWith("'")) return { what: "JSON has no single quotes", expected: "double quotes" };
  if (/^[\r\n]/.test(rest)) return { what: "this string is not closed on its line", expected: 'a closing "' };
  const isAfterComma = /,\s*$/.test(text.slice(Math.max(0, offset - 200), offset));
  if (!isAfterComma || !/^[\]}]/.test(rest)) return undefined;
  return { offset: text.lastIndexOf(",", offset), what: "JSON has no comma after the last entry" };
}

function unquotedWord(text: string, offset: number): Omit<Fault, "offset"> | undefined {
  const word = /^[A-Za-z_$][\w$-]*/.exec(text.slice(offset, offset + 60))?.[0];
  if (word === undefined) return undefined;
  const expected = "double quotes around strings and keys";
  return { what: `${word} is not a JSON value`, expected, nearest: nearest(word, ["true", "false", "null"]) };
}

/** Lowercases the first letter of a parser's message, so that it can follow a colon. */
export function uncapitalized(sentence: string): string {
  return /^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence;
}
