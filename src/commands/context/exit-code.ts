import type { LedgerFigures } from "../../kernel/ledger.ts";
import type { Failure, FailureCode, Fallible } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import {
  EXIT_BUSY,
  EXIT_ENVIRONMENT,
  EXIT_INTERNAL,
  EXIT_INTERRUPTED,
  EXIT_LIMIT,
  EXIT_PERSON_NEEDED,
  EXIT_TIMED_OUT,
  EXIT_USAGE,
  EXIT_VERIFICATION,
  exitCodeOf,
} from "../../runtime/exit.ts";
import { hanging, safeText, wrappedLines } from "../../ui/display.ts";
import { eventLine } from "../../ui/events.ts";
import type { Output, Terminal } from "../../ui/terminal.ts";
import { localize } from "../../ui/words.ts";

/** The exit code of a failed command. Agents' failures never end a command: they map to 70, a bug. `wait` has its own `timeout`; `checks_failed` refuses a person's approval. */
export const EXIT_CODE_OF: Readonly<Record<FailureCode, number>> = {
  usage: EXIT_USAGE,
  not_found: EXIT_USAGE,
  validation_failed: EXIT_USAGE,
  not_permitted: EXIT_USAGE,
  checks_failed: EXIT_USAGE,
  configuration: EXIT_ENVIRONMENT,
  environment: EXIT_ENVIRONMENT,
  unavailable: EXIT_ENVIRONMENT,
  trust: EXIT_ENVIRONMENT,
  storage: EXIT_ENVIRONMENT,
  storage_full: EXIT_ENVIRONMENT,
  newer_database: EXIT_ENVIRONMENT,
  invalid_plan: EXIT_ENVIRONMENT,
  conflict: EXIT_ENVIRONMENT,
  authentication: EXIT_ENVIRONMENT,
  person_needed: EXIT_PERSON_NEEDED,
  limit: EXIT_LIMIT,
  budget_exhausted: EXIT_LIMIT,
  rate_limited: EXIT_LIMIT,
  verification_failed: EXIT_VERIFICATION,
  busy: EXIT_BUSY,
  stale_lease: EXIT_BUSY,
  interrupted: EXIT_INTERRUPTED,
  cancelled: EXIT_INTERRUPTED,
  timeout: EXIT_TIMED_OUT,
  idle_timeout: EXIT_INTERNAL,
  agent_failed: EXIT_INTERNAL,
  no_answer: EXIT_INTERNAL,
  malformed_output: EXIT_INTERNAL,
  output_limit: EXIT_INTERNAL,
  internal: EXIT_INTERNAL,
};

/** The exit code of a command that ran a session. */
export function exitCodeAfter(end: Fallible<SessionEnd>, { stopped }: LedgerFigures): number {
  return end.ok ? exitCodeOf(end.value, stopped?.signal) : EXIT_CODE_OF[end.error.code];
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

export function failedEvent({ out }: Terminal, { code, message, hint, details }: Failure, exit_code: number): void {
  const next = hint === undefined ? undefined : localize(out, hint);
  out.line(eventLine({ type: "error", code, message, hint: next, details, exit_code }));
}
