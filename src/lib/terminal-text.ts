/** Most texts match this and do not need the classes below, which take several ms to compile. */
const PLAIN = /^[\n -~]*$/;

const ESC = "\u001B";
const BELL = "\u0007";

/**
 * Whole escape sequences: those that end with a letter, those that contain a text, and the short ones. Each ends at the next control
 * character, so hostile text takes linear time, unlike with Node's `stripVTControlCharacters`.
 */
const SEQUENCES = new RegExp(
  [
    `(?:${ESC}\\[|\\u009B)[0-?]*[ -/]*[@-~]`,
    `(?:${ESC}[\\]PX^_]|[\\u0090\\u0098\\u009D-\\u009F])[^\\p{Cc}]*(?:${BELL}|${ESC}\\\\|\\u009C)`,
    `${ESC}[ -/]*[0-OQ-WYZ\\\\\\x60-~]`,
  ].join("|"),
  "gu",
);

/** A joiner between two emoji. It hides nothing, since both are visible whether joined or not. */
const JOINED =
  "\\u200D(?<=\\p{Extended_Pictographic}[\\uFE0E\\uFE0F\\p{Emoji_Modifier}]?\\u200D)(?=\\p{Extended_Pictographic})";

/**
 * Runs of characters that must never reach a terminal: control characters, including line breaks, and everything that is invisible or changes
 * the reading direction (format, tag, filler and separator characters). The two selectors and the joiner that only choose how an emoji is
 * drawn are safe.
 */
const UNSAFE = `(?:(?![\\uFE0E\\uFE0F]|${JOINED})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}])+`;
const UNSAFE_RUNS = new RegExp(UNSAFE, "gu");
const UNSAFE_IN_LINES = new RegExp(`(?!\\n)${UNSAFE}`, "u");

/** Whether a text is only printable ASCII and line breaks: safe anywhere, and each line is as wide as it is long. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/** Removes whole escape sequences. The rest of incomplete ones is unsafe. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCES, "");
}

/** Replaces each run of characters that are unsafe on a terminal, including line breaks and tabs. */
export function replaceUnsafe(text: string, put: (run: string) => string): string {
  return isPlain(text) && !text.includes("\n") ? text : text.replace(UNSAFE_RUNS, put);
}

export function replaceEachUnsafe(text: string, put: (character: string) => string): string {
  return replaceUnsafe(text, (run) => Array.from(run, put).join(""));
}

/** Whether a text has unsafe characters other than line breaks. */
export function isUnsafe(text: string): boolean {
  return !isPlain(text) && UNSAFE_IN_LINES.test(text);
}

/** Escapes a character for JSON, and for YAML in double quotes. */
export function jsonEscaped(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
