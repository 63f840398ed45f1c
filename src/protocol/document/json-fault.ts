import type { Finding } from "./problem.ts";

/** Why a text cannot be parsed, and the offset at which parsing fails, in UTF-16 units. */
export interface Fault extends Pick<Finding, "what" | "expected"> {
  readonly offset: number;
  readonly pointer?: string;
}

/** What is common and no JSON, by its first characters. */
const MISTAKES: readonly (readonly [begins: RegExp, about: Pick<Fault, "what" | "expected">])[] = [
  [/^(?:\/[/*]|#)/, { what: "JSON has no comments", expected: "no comments, or a .yaml file, where # begins one" }],
  [/^'/, { what: "JSON has no single quotes", expected: "double quotes" }],
  [/^[\r\n]/, { what: "this string is not closed on its line", expected: 'a closing "' }],
];

/** Returns the fault that JSON.parse finds, in our words for common mistakes and in its own for others; undefined if it finds none. */
export function jsonFault(text: string): Fault | undefined {
  const message = jsonError(text);
  if (message === undefined) return undefined;
  const position = / at position (\d+)/.exec(message)?.[1];
  const isToken = message.startsWith("Unexpected token");
  const offset = position !== undefined ? Number(position) : isToken ? unexpectedToken(text) : text.length;
  const rest = text.slice(offset, offset + 60);
  const [, mistake] = MISTAKES.find(([begins]) => begins.test(rest)) ?? [];
  if (mistake) return { offset, ...mistake };
  if (/^[\]}]/.test(rest) && /,\s*$/.test(text.slice(Math.max(0, offset - 200), offset))) {
    return { offset: text.lastIndexOf(",", offset), what: "JSON has no comma after the last entry" };
  }
  const isWord = isToken || /^Expected (?:property|double-quoted)/.test(message);
  const word = isWord ? /^[A-Za-z_$][\w$-]*/.exec(rest)?.[0] : undefined;
  const expected = "true, false, null, a number, or double quotes around strings and keys";
  if (word !== undefined) return { offset, what: `${word} is not JSON here`, expected };
  return { offset, what: uncapitalized(message.replace(/(?:, (?:\.{3})?"| in JSON| at position).*/s, "")) };
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

/** Lowercases the first letter of a parser's message, so that it can follow a colon. */
export function uncapitalized(sentence: string): string {
  return /^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence;
}
