import { wrapped } from "./display.ts";
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
  const title = ["", terminal.err.style("bold", heading)];
  let label = [...title, ...choices.map((choice, index) => `  ${index + 1}  ${choice.label}`), "> "].join("\n");
  for (;;) {
    const typed = await promptLine(terminal, label, signal);
    label = "> ";
    if (typed.kind === "left") return undefined;
    const choice = choices[Number(typed.text) - 1];
    if (choice) return choice.key;
    terminal.err.line(`  Type a number from 1 to ${choices.length}, or press Ctrl-D to leave it open.`);
  }
}

/** Asks yes or no; Enter means `usual`. Returns false if the person left. */
export async function promptYes(
  terminal: Terminal,
  question: string,
  usual: "yes" | "no",
  signal: AbortSignal,
): Promise<boolean> {
  const { err } = terminal;
  const choices = usual === "yes" ? "[Y/n]" : "[y/N]";
  let label = [...wrapped(`${question} ${choices}`, err.width, 0), "> "].join("\n");
  for (;;) {
    const typed = await promptLine(terminal, label, signal);
    label = "> ";
    if (typed.kind === "left") return false;
    const word = typed.text === "" ? usual : typed.text.toLowerCase();
    if (["y", "yes"].includes(word)) return true;
    if (["n", "no"].includes(word)) return false;
    err.line("  Type y or n.");
  }
}
