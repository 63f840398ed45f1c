import { clipped, wrapped } from "./display.ts";
import type { Output } from "./terminal.ts";

/** Maximum width, in columns. A question and its answer take one row each; a longer answer is shown whole when it is given. */
const WIDEST = 100;

/** The prompt with the answers to several questions, to send or change them. */
export function answersLabel(
  output: Output,
  answers: readonly { readonly text: string; readonly answer: string }[],
): string {
  const width = Math.min(output.width, WIDEST);
  const rows = answers.flatMap(({ text, answer }, index) => {
    const before = `  ${index + 1}  `;
    const room = width - before.length;
    return [before + output.style("dim", clipped(text, room)), `${" ".repeat(before.length)}${clipped(answer, room)}`];
  });
  const how = "Enter sends them, a number changes one, Ctrl-D keeps them for later.";
  return ["", output.style("bold", "Your answers"), ...rows, ...wrapped(how, width, 0), "> "].join("\n");
}
