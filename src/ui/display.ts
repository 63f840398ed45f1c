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

/**
 * What must never reach a terminal as it is: control characters, and everything that is invisible or turns the reading direction
 * around (format, tag, filler and separator characters).
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Of those, the line break, and the two selectors that only choose how an emoji is drawn. */
const HARMLESS = new Set(["\n", "\uFE0E", "\uFE0F"]);

/** Marks that are piled on a character beyond this many are taken off, since a pile covers the lines above. */
const PILED_MARKS = /(\p{M}{4})\p{M}+/gu;

/**
 * Text of whatever origin, made safe for a terminal, in lines: escape sequences are taken out, a tab becomes a blank, and every
 * other character that could move a cursor, hide, or reorder is written out as `\u{202e}`. Every text that Bosun did not write
 * itself goes through here, and through nothing else.
 */
export function safeText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .toWellFormed()
    .replace(SEQUENCES, "")
    .replaceAll("\r\n", "\n")
    .replaceAll("\t", "  ")
    .replace(PILED_MARKS, "$1")
    .replace(UNSAFE, escaped);
}

/** The same on one line: line breaks and runs of blanks become one blank. */
export function safeLine(text: string): string {
  return safeText(text).replace(/\s+/gu, " ").trim();
}

/** One line, cut with an ellipsis to at most `width` terminal columns. */
export function clipped(text: string, width: number): string {
  const line = safeLine(text);
  if (widthOf(line) <= width) return line;
  let kept = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    const wide = widthOf(segment);
    if (used + wide > width - 1) break;
    kept += segment;
    used += wide;
  }
  return `${kept.trimEnd()}…`;
}

/** Text as lines of at most `width` columns with `indent` blanks before each, broken between words; a longer word stays whole. */
export function wrapped(text: string, width: number, indent: number): string[] {
  const before = " ".repeat(indent);
  const lines: string[] = [];
  let line = "";
  for (const word of safeLine(text).split(" ")) {
    const longer = line === "" ? before + word : `${line} ${word}`;
    if (line !== "" && widthOf(longer) > width) {
      lines.push(line);
      line = before + word;
    } else line = longer;
  }
  return [...lines, line];
}

/**
 * A value as one line of JSON that is the same to a program and harmless to a terminal: what `safeText` would write out stands as
 * JSON's own escapes.
 */
export function safeJson(value: unknown): string {
  return safeQuoted(JSON.stringify(value));
}

/** The same for a text of JSON or YAML in lines; in YAML, whatever holds such a character must stand in double quotes. */
export function safeQuoted(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character === "\n"
      ? character
      : Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
        ).join(""),
  );
}

/** Whether a text would not reach a terminal as it is, but for its line breaks. */
export function isUnsafe(text: string): boolean {
  return text.replaceAll("\n", "").search(UNSAFE) >= 0;
}

/** How many terminal columns a line takes. */
export function widthOf(line: string): number {
  if (PLAIN.test(line)) return line.length;
  let width = 0;
  for (const character of line.replace(SEQUENCES, "")) {
    if (!NO_WIDTH.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

const NO_WIDTH = /\p{M}/u;

const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;

function escaped(character: string): string {
  if (HARMLESS.has(character)) return character;
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
