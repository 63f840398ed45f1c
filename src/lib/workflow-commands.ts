/** Characters that GitHub's runner ignores when it compares text, so they may stand between those of a command. */
const SKIPPED = "[\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}]*";

/** `::` at the beginning of a line, as the runner sees it. */
const COMMAND = new RegExp(`^([\\s\\p{Cc}\\p{Cf}\\p{M}\\p{Default_Ignorable_Code_Point}]*:)(?=${SKIPPED}:)`, "u");

/** `##[`, the older form, which the runner recognises anywhere in a line. */
const OLDER_COMMAND = new RegExp(`#(?=${SKIPPED}#${SKIPPED}\\[)`, "gu");

/** Inserts a space into each workflow command, so that GitHub's runner finds none in the text. */
export function inert(text: string): string {
  return text.replace(/[^\n\r]+/g, (line) => line.replace(COMMAND, "$1 ").replace(OLDER_COMMAND, "# "));
}

/** The same for JSON: writes a character as its escape instead, so that a program reads the same value. */
export function inertJson(json: string): string {
  return json.replace(OLDER_COMMAND, "\\u0023");
}
