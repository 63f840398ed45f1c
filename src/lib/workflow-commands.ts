/** Characters that GitHub's runner skips when it compares texts, and that are therefore no obstacle between those of a command. */
const SKIPPED = "[\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}]*";

/** `::` at the beginning of a line, as far as the runner is concerned. */
const COMMAND = new RegExp(`^([\\s\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}]*:)(?=${SKIPPED}:)`, "u");

/** `##[`, the older form, which counts anywhere in a line. */
const OLDER_COMMAND = new RegExp(`#(?=${SKIPPED}#${SKIPPED}\\[)`, "gu");

/** A text in which GitHub's runner finds no workflow command: a blank stands in each. */
export function inert(text: string): string {
  return text.replace(/[^\n\r]+/g, (line) => line.replace(COMMAND, "$1 ").replace(OLDER_COMMAND, "# "));
}

/** The same for JSON, in which a character is written as its own escape, so that a program reads what it would have read. */
export function inertJson(json: string): string {
  return json.replace(OLDER_COMMAND, "\\u0023");
}
