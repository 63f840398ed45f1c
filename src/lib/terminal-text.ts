/**
 * What is safe and one column wide each, line breaks apart. Most texts are that, and then the classes below, which take a short command
 * several ms to compile, need not be looked at.
 */
const PLAIN = /^[\n -~]*$/;

const ESC = "\u001B";
const BELL = "\u0007";

/**
 * Whole escape sequences: those that end with a letter, those that carry a text, and the short ones. Each part stops at the next
 * control character. So hostile text takes time in proportion to its length, which is not so with Node's own
 * `stripVTControlCharacters`.
 */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009B)[0-?]*[ -/]*[@-~]`,
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009D-\\u009F])[^\\p{Cc}]*(?:${BELL}|${ESC}\\\\|\\u009C)`,
    `${ESC}[ -/]*[0-OQ-WYZ\\\\\\x60-~]`,
  ].join("|"),
  "gu",
);

/** A joiner that makes one picture of two emoji. It hides nothing: what it stands between is seen, joined or not. */
const JOINED =
  "\\u200D(?<=\\p{Extended_Pictographic}[\\uFE0E\\uFE0F\\p{Emoji_Modifier}]?\\u200D)(?=\\p{Extended_Pictographic})";

/**
 * Runs of what must never reach a terminal as it is: control characters, line breaks among them, and everything that is invisible
 * or turns the reading direction around (format, tag, filler and separator characters). Not the two selectors and the joiner that
 * only choose how an emoji is drawn.
 */
const UNSAFE = `(?:(?![\\uFE0E\\uFE0F]|${JOINED})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}])+`;
const UNSAFE_RUNS = new RegExp(UNSAFE, "gu");
const UNSAFE_IN_LINES = new RegExp(`(?!\\n)${UNSAFE}`, "u");

/** Whether a text is ASCII without control characters, line breaks apart: safe anywhere, and as wide as it is long. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** Text without whole escape sequences; what is left of others is unsafe. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCES, "");
}

/** Text with something else in the place of every run of characters that are unsafe on a terminal, line breaks and tabs too. */
export function replaceUnsafe(text: string, put: (run: string) => string): string {
  return isPlain(text) && !text.includes("\n") ? text : text.replace(UNSAFE_RUNS, put);
}

/** The same, character by character. */
export function replaceEachUnsafe(text: string, put: (character: string) => string): string {
  return replaceUnsafe(text, (run) => Array.from(run, put).join(""));
}

/** Whether a text would not be safe on a terminal, but for its line breaks. */
export function isUnsafe(text: string): boolean {
  return !isPlain(text) && UNSAFE_IN_LINES.test(text);
}

/** A character as JSON, and YAML in double quotes, can write any. */
export function jsonEscaped(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
