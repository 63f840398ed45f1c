import { answerTo, bareId } from "../../config/picked-option.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { safeLine } from "../../ui/display.ts";
import { promptQuestion } from "../../ui/prompt.ts";
import { answerCommand, type OpenQuestion } from "../../ui/waiting.ts";
import type { CommandContext } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";

export interface Answer {
  readonly question_id: string;
  readonly text: string;
}

/**
 * Asks the person at this terminal and gives their answers, until they leave. Ctrl-C takes all of them back. Questions that are no longer
 * `open`, since they were answered elsewhere meanwhile, are skipped.
 */
export async function askedHere(
  { terminal, leave }: CommandContext,
  questions: readonly OpenQuestion[],
  open: () => Promise<readonly OpenQuestion[]>,
): Promise<Answer[] | "interrupted"> {
  const isOpen = async ({ question_id }: Answer | OpenQuestion) => {
    if ((await open()).some((one) => one.question_id === question_id)) return true;
    terminal.err.line(terminal.err.style("yellow", `  ${safeLine(question_id)} was answered elsewhere meanwhile.`));
    return false;
  };
  const answers: Answer[] = [];
  const enough = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort(), kill: () => {} }, leave, ["SIGINT"]);
  for (const [index, question] of questions.entries()) {
    if (!(await isOpen(question))) continue;
    const place = { number: index + 1, of: questions.length };
    const typed = await promptQuestion(terminal, question, place, enough.signal);
    if (typed.kind === "left") break;
    answers.push({ question_id: question.question_id, text: typed.text });
  }
  signals.restore();
  if (enough.signal.aborted) return "interrupted";
  const own: Answer[] = [];
  for (const answer of answers) if (await isOpen(answer)) own.push(answer);
  return own;
}

/**
 * The answer in the words after a command: a question's id and the answer; for the only open question the answer alone. Failure `usage` if
 * the question or the answer is unclear.
 */
export function answerIn(questions: readonly OpenQuestion[], words: readonly string[]): Result<Answer, Failure> {
  const [id = "", ...text] = words;
  const named = questions.filter((question) => question.question_id === id || bareId(question) === id);
  const exact = named.find(({ question_id }) => question_id === id);
  const [only, another] = exact ? [exact] : named;
  const open = questions.map(({ question_id }) => question_id);
  if (another !== undefined) {
    return err(
      failure("usage", `${JSON.stringify(id)} is asked more than once.`, {
        hint: `Give the whole id: ${open.join(", ")}.`,
      }),
    );
  }
  if (only !== undefined && text.join(" ").trim() !== "") return answerOf(only, text.join(" ").trim());
  if (only !== undefined) {
    return err(
      failure("usage", `The answer to ${only.question_id} is missing.`, { hint: "Write it after the id, in quotes." }),
    );
  }
  const [single] = questions;
  if (questions.length === 1 && single !== undefined && text.length === 0) return answerOf(single, id);
  const question = didYouMean(id, [...open, ...questions.map(bareId)]);
  return err(
    failure("usage", `${JSON.stringify(id)} is not an open question.${question}`, {
      hint: `Open are ${open.join(", ")}.`,
    }),
  );
}

/** The same failure, with the command that gives the word as an answer if there is only one question. */
export function orAnswering(
  wrong: Failure,
  session_id: string,
  questions: readonly OpenQuestion[],
  word: string,
): Failure {
  const [only, another] = questions;
  if (only === undefined || another !== undefined) return wrong;
  const command = answerCommand(session_id, only, word);
  return { ...wrong, hint: `${wrong.hint ?? ""}\nTo answer ${only.question_id} with it: ${command}`.trim() };
}

function answerOf(question: OpenQuestion, words: string): Result<Answer, Failure> {
  const meant = answerTo(question, words);
  return meant.ok ? ok({ question_id: question.question_id, text: meant.value }) : meant;
}
