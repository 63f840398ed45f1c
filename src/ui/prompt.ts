import { createInterface } from "node:readline";
import { answerTo, isCounted } from "../config/picked-option.ts";
import { widthOf } from "../lib/terminal-text.ts";
import { hanging, safeLine, safeText, wrapped } from "./display.ts";
import type { Output, Terminal } from "./terminal.ts";
import type { OpenQuestion } from "./waiting.ts";

/** What a person typed; `left` when they closed the input (Ctrl-D) or the question was taken away. */
export type Typed = { readonly kind: "text"; readonly text: string } | { readonly kind: "left" };

/** One of a few things to choose from; `key` is what the caller gets. */
export interface Choice<K extends string> {
  readonly key: K;
  readonly label: string;
}

/** Which of the questions that are asked together it is. */
export interface Place {
  readonly number: number;
  readonly of: number;
}

/** Nothing typed for so long, in ms, and what was typed before is read; the terminal gives one line at a time. */
const QUIET_MS = 30;

/** What follows a line so soon was not typed but pasted, in ms. */
const PASTED_WITHIN_MS = 50;

/** Throws away what was typed before anything was asked: an idle Enter is no answer to a question that nobody had seen. */
export async function discardTyped({ input }: Terminal): Promise<void> {
  await new Promise<void>((resolve) => {
    const silence = startSilence(QUIET_MS, done);
    function done(): void {
      silence.stop();
      input.off("data", silence.breakOff).off("end", done).pause();
      resolve();
    }
    input.on("data", silence.breakOff).on("end", done).resume();
  });
}

/**
 * Calls back when nothing has broken it off for so long. Timers come before input where a process stood still: it looks at what was typed
 * meanwhile, and only then it was silent.
 */
function startSilence(ms: number, callback: () => void): { readonly breakOff: () => void; readonly stop: () => void } {
  let looked: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    looked = setImmediate(callback);
  }, ms);
  return {
    breakOff: () => {
      clearImmediate(looked);
      timer.refresh();
    },
    stop: () => {
      clearImmediate(looked);
      clearTimeout(timer);
    },
  };
}

/**
 * Asks for one line; lines that come at once were pasted, and are one text: they do not answer what is asked next, too. Ctrl-C is passed
 * on to the process as SIGINT, since the terminal no longer does it while a line is edited.
 */
export function promptLine({ input, err, isDumb }: Terminal, label: string, signal: AbortSignal): Promise<Typed> {
  if (signal.aborted || input.readableEnded) return Promise.resolve({ kind: "left" });
  const typed: string[] = [];
  // What nobody ended is ended here: what is told next does not belong to it.
  let isWhole = false;
  const endLine = () => {
    if (!isWhole) err.line();
    isWhole = true;
  };
  // Without cursor movements a line can only be edited by the terminal itself.
  const lines = createInterface({ input, output: err.stream, terminal: !isDumb });
  return new Promise<Typed>((resolve) => {
    let pasting: ReturnType<typeof startSilence> | undefined;
    const pasted = () => {
      // The end of a paste may have no line feed, and is then sent with Enter.
      if (lines.line === "") lines.close();
    };
    const take = () => lines.close();
    signal.addEventListener("abort", take);
    lines.on("SIGINT", () => {
      endLine();
      process.emit("SIGINT", "SIGINT");
    });
    lines.on("close", () => {
      pasting?.stop();
      isWhole ||= typed.length > 0 && lines.line === "";
      endLine();
      signal.removeEventListener("abort", take);
      const isAnswer = typed.length > 0 && !signal.aborted;
      resolve(isAnswer ? { kind: "text", text: typed.join("\n").trim() } : { kind: "left" });
    });
    lines.on("line", (line) => {
      typed.push(line);
      if (pasting) pasting.breakOff();
      else pasting = startSilence(PASTED_WITHIN_MS, pasted);
    });
    lines.setPrompt(label);
    lines.prompt();
  });
}

/**
 * Asks a question of an agent: Enter takes the default, a number picks an option, anything else is the answer, which is shown as it
 * was taken. Asks again while there is nothing to take, and for a number that no option has.
 */
export async function promptQuestion(
  terminal: Terminal,
  question: OpenQuestion,
  place: Place,
  signal: AbortSignal,
): Promise<Typed> {
  const { err } = terminal;
  showQuestion(err, question, place);
  for (;;) {
    const typed = await promptLine(terminal, "> ", signal);
    if (typed.kind === "left") return typed;
    const words = typed.text === "" ? question.default : typed.text;
    if (words === undefined) {
      err.line("  There is no default: type an answer, or Ctrl-D to leave it open.");
      continue;
    }
    const answer = answerTo(question, words);
    if (answer.ok) {
      err.line(err.style("dim", `  ${safeLine(question.question_id)}: ${safeLine(answer.value)}`));
      return { kind: "text", text: answer.value };
    }
    const { message, hint = "" } = answer.error;
    err.line(`  ${safeLine(message)} ${hint}`);
  }
}

/** The question as it was written where that fits; what is longer than a line is broken between words. */
function showQuestion(err: Output, question: OpenQuestion, place: Place): void {
  const about = question.ticket_id === undefined ? "" : `  (about ${question.ticket_id})`;
  err.line();
  err.line(err.style("bold", `Question ${place.number} of ${place.of}${about}`));
  for (const line of safeText(question.text).split("\n")) {
    const isWhole = widthOf(`  ${line}`) <= err.width;
    for (const part of isWhole ? [`  ${line}`] : wrapped(line, err.width, 2)) err.line(part);
  }
  if (question.why !== undefined)
    for (const line of wrapped(`why: ${question.why}`, err.width, 2)) err.line(err.style("dim", line));
  const counts = isCounted(question.options);
  for (const [index, option] of question.options.entries()) {
    const before = `  ${counts ? index + 1 : "-"}  `;
    const mark = option === question.default ? "  (default)" : "";
    const [first = "", ...more] = hanging(option, err.width - mark.length, before.length);
    const lines = [before + first, ...more];
    const last = lines.pop();
    for (const line of lines) err.line(line);
    err.line(mark === "" ? last : last + err.style("dim", mark));
  }
  if (question.default !== undefined && !question.options.includes(question.default)) {
    for (const line of wrapped(`Enter: ${question.default}`, err.width, 2)) err.line(line);
  }
}

/** Asks for one of the choices, by its number; undefined if the person left. */
export async function promptChoice<K extends string>(
  terminal: Terminal,
  choices: readonly Choice<K>[],
  signal: AbortSignal,
): Promise<K | undefined> {
  for (const [index, { label }] of choices.entries()) terminal.err.line(`  ${index + 1}  ${label}`);
  for (;;) {
    const typed = await promptLine(terminal, "> ", signal);
    if (typed.kind === "left") return undefined;
    const choice = choices[Number(typed.text) - 1];
    if (choice) return choice.key;
    terminal.err.line(`  Type a number from 1 to ${choices.length}, or Ctrl-D to leave it open.`);
  }
}
