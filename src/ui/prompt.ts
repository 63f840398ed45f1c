import { once } from "node:events";
import { createInterface } from "node:readline";
import { setImmediate, setTimeout } from "node:timers/promises";
import { answerTo, isCounted, isFreeText } from "../config/picked-option.ts";
import { clipped, hanging, wrapped, wrappedLines } from "./display.ts";
import type { Output, Terminal } from "./terminal.ts";
import { TypedLine } from "./typed-line.ts";
import type { OpenQuestion } from "./waiting.ts";

/** What a person typed; `left` if they pressed Esc or Ctrl-D, or the question was withdrawn. */
export type Typed = { readonly kind: "text"; readonly text: string } | { readonly kind: "left" };

/** The position among the questions that are asked together. */
export interface Position {
  readonly number: number;
  readonly of: number;
}

/** A terminal is quiet when nothing has been typed for this long, in ms. A terminal in line mode hands over one line at a time. */
const QUIET_MS = 30;

/** Minimum number of screen rows that a prompt leaves for typing. */
const MIN_TYPING_ROWS = 3;

/**
 * Asks for one line, below everything that is written to the terminal meanwhile. Input typed before the prompt appears is discarded: an idle Enter
 * answers nothing. Line breaks of a paste belong to the answer. Ctrl-C reaches the process as SIGINT, which the terminal itself does not send while a
 * line is edited, unless it leaves only the prompt.
 */
export async function promptLine(terminal: Terminal, label: string, signal: AbortSignal): Promise<Typed> {
  const { input, err, isDumb } = terminal;
  const line = !isDumb && input.isTTY ? new TypedLine(terminal, shortened(label, err)) : undefined;
  await discardTyped(input, signal);
  const text = line ? await line.typed(signal) : await plainLine(terminal, label, signal);
  return text === undefined ? { kind: "left" } : { kind: "text", text: text.trim() };
}

/** Without cursor movements, only the terminal itself can edit a line. */
async function plainLine({ input, err }: Terminal, label: string, signal: AbortSignal): Promise<string | undefined> {
  input.pause();
  if (signal.aborted || input.readableEnded) return undefined;
  const lines = createInterface({ input, output: err.stream, terminal: false, signal });
  lines.setPrompt(shortened(label, err));
  lines.prompt();
  const [text] = (await Promise.race([once(lines, "line"), once(lines, "close")])) as [string?];
  lines.close();
  if (text === undefined) err.stream.write("\n");
  return text;
}

/** Discards what was typed so far: reads until the terminal is quiet. */
async function discardTyped(input: NodeJS.ReadStream, signal: AbortSignal): Promise<void> {
  let isQuiet = false;
  const hear = () => {
    isQuiet = false;
  };
  input.on("data", hear).resume();
  while (!isQuiet && !signal.aborted && !input.readableEnded) {
    isQuiet = true;
    await setTimeout(QUIET_MS);
    // After a stall of this process, timers come before the input that has arrived meanwhile.
    await setImmediate();
  }
  input.off("data", hear);
}

/** A label that leaves room to type on the screen: if it is too tall, all lines but the last are written above. */
function shortened(label: string, output: Output): string {
  const lines = label.split("\n");
  if (lines.length + MIN_TYPING_ROWS <= (output.stream.rows || Number.POSITIVE_INFINITY)) return label;
  for (const one of lines.slice(0, -1)) output.line(one);
  return lines.at(-1) ?? "";
}

/**
 * Asks an agent's question and shows the answer. Enter takes the default, a number picks an option, anything else is the answer. Asks again if there
 * is no default, or no option with that number.
 */
export async function promptQuestion(
  terminal: Terminal,
  question: OpenQuestion,
  place: Position,
  signal: AbortSignal,
): Promise<Typed> {
  const { err } = terminal;
  let label = [...questionLines(err, question, place), "> "].join("\n");
  for (;;) {
    const typed = await promptLine(terminal, label, signal);
    label = "> ";
    if (typed.kind === "left") return typed;
    const words = typed.text === "" ? question.default : typed.text;
    if (words === undefined) {
      err.line("  There is no default: type an answer, or press Ctrl-D to leave it open.");
      continue;
    }
    const answer = answerTo(question, words);
    if (answer.ok) {
      for (const line of wrapped(`${question.question_id}: ${answer.value}`, err.width, 2))
        err.line(err.style("dim", line));
      if (isFreeText(question, answer.value))
        for (const line of wrapped(BESIDES, err.width, 2)) err.line(err.style("yellow", line));
      return { kind: "text", text: answer.value };
    }
    const { message, hint = "" } = answer.error;
    for (const line of wrapped(`${message} ${hint}`, err.width, 2)) err.line(line);
  }
}

/** Shown for an answer that is accepted although it is none of the options. */
export const BESIDES = "This is none of the options; it is taken as your own answer.";

function questionLines(output: Output, question: OpenQuestion, place: Position): string[] {
  const about = question.ticket_id === undefined ? "" : `  (about ${question.ticket_id})`;
  const { width } = output;
  const usual = question.default;
  return [
    "",
    output.style("bold", `Question ${place.number} of ${place.of}${about}`),
    ...wrappedLines(question.text, width, 2),
    ...(question.why === undefined
      ? []
      : wrapped(`why: ${question.why}`, width, 2).map((line) => output.style("dim", line))),
    ...optionLines(question, output),
    ...(usual === undefined || question.options.includes(usual)
      ? []
      : wrapped(`suggested (Enter): ${usual}`, width, 2)),
  ];
}

function optionLines(question: OpenQuestion, output: Output): string[] {
  const counts = isCounted(question.options);
  return question.options.flatMap((option, index) => {
    const before = `  ${counts ? index + 1 : "-"}  `;
    const mark = option === question.default ? "  (suggested: Enter)" : "";
    const [first = "", ...more] = hanging(option, output.width - mark.length, before.length);
    const lines = [before + first, ...more];
    if (mark !== "") lines.push(`${lines.pop()}${output.style("dim", mark)}`);
    return lines;
  });
}

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
