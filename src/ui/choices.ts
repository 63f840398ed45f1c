import { wrapped, wrappedLines } from "./display.ts";
import { promptLine } from "./prompt.ts";
import type { Terminal } from "./terminal.ts";

/** An option; the caller gets its `key`. */
export interface Choice<K extends string> {
  readonly key: K;
  readonly label: string;
}

/** Asks for one of the choices, by number, below a heading. Returns undefined if the person left. */
export async function promptChoice<K extends string>(
  terminal: Terminal,
  heading: string,
  choices: readonly Choice<K>[],
  signal: AbortSignal,
): Promise<K | undefined> {
  const { err } = terminal;
  const lines = ["", ...wrappedLines(heading, err.width, 0).map((line) => err.style("bold", line))];
  for (const [index, { label }] of choices.entries()) {
    const [first = "", ...more] = wrappedLines(label, err.width, 5);
    lines.push(`  ${index + 1}  ${first.trimStart()}`, ...more);
  }
  const complaint = `Type a number from 1 to ${choices.length}, or press Ctrl-D to leave it open.`;
  return promptUntil(terminal, lines, (text) => choices[Number(text) - 1]?.key, complaint, signal);
}

/** Asks yes or no; Enter means `usual`. Returns false if the person left. */
export async function promptYes(
  terminal: Terminal,
  question: string,
  usual: "yes" | "no",
  signal: AbortSignal,
): Promise<boolean> {
  const lines = wrapped(`${question} ${usual === "yes" ? "[Y/n]" : "[y/N]"}`, terminal.err.width, 0);
  const words: Readonly<Record<string, boolean>> = { "": usual === "yes", y: true, yes: true, n: false, no: false };
  const answer = await promptUntil(terminal, lines, (text) => words[text.toLowerCase()], "Type y or n.", signal);
  return answer ?? false;
}

/** Prompts below these lines until the typed text means something. Returns undefined if the person left. */
async function promptUntil<T>(
  terminal: Terminal,
  lines: readonly string[],
  meaning: (text: string) => T | undefined,
  complaint: string,
  signal: AbortSignal,
): Promise<T | undefined> {
  let label = [...lines, "> "].join("\n");
  for (;;) {
    const typed = await promptLine(terminal, label, signal);
    if (typed.kind === "left") return undefined;
    const meant = meaning(typed.text);
    if (meant !== undefined) return meant;
    terminal.err.line(`  ${complaint}`);
    label = "> ";
  }
}
