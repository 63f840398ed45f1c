import type { Failure } from "../../protocol/failure.ts";
import { hanging, safeText, wrappedLines } from "../../ui/display.ts";
import { eventLine } from "../../ui/events.ts";
import type { Output, Terminal } from "../../ui/terminal.ts";
import { localize } from "../../ui/words.ts";

/** Why a command failed, and its exit code. */
export interface Failed extends Pick<Failure, "code" | "message" | "hint" | "details"> {
  readonly exit_code: number;
}

/** Whether a command line asks for JSON, even if the rest of it is invalid. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const words = end < 0 ? argv : argv.slice(0, end);
  return words.some((word, index) => {
    if (word === "--json" || word === "--reporter=json") return true;
    return word === "json" && words[index - 1] === "--reporter";
  });
}

/** Shows what is wrong and where, then what to do next. */
export function tellFailure({ err }: Terminal, { message, hint, code }: Failure): void {
  const [first = "", ...more] = wrappedLines(`Error: ${message}`, err.width, 0);
  for (const line of [first.replace(/^Error:/, err.style("red", "Error:")), ...more]) err.line(line);
  // An error inside a file shows its location and what was expected, so it needs no hint.
  const next =
    hint ?? (code === "configuration" && !message.includes("\n") ? "Correct the name or the file, and try again." : "");
  if (next !== "") for (const line of next.split("\n").flatMap((text) => hintLines(err, text))) err.line(line);
}

/** Wraps a hint, but not the command at its end, because people copy it. */
function hintLines(err: Output, text: string): string[] {
  const [, words = "", command] = /^(.*\S )??(bosun (?:(?!\. )[^`])*)$/.exec(safeText(text)) ?? [];
  if (command === undefined) return wrappedLines(localize(err, text), err.width, INDENT);
  if (words === "") return [`  ${localize(err, command)}`];
  return hanging(words, err.width, INDENT, localize(err, command)).map((line, index) =>
    index === 0 ? `  ${line}` : line,
  );
}

const INDENT = 2;

/** The event for a failure under `--json`. */
export function failedEvent({ out }: Terminal, { code, message, hint, details, exit_code }: Failed): void {
  const next = hint === undefined ? undefined : localize(out, hint);
  out.line(eventLine({ type: "error", code, message, hint: next, details, exit_code }));
}
