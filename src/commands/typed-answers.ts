import { safeLine } from "../ui/display.ts";
import { promptQuestion } from "../ui/prompt.ts";
import type { Waiting } from "../ui/waiting.ts";
import type { CommandContext } from "./command.ts";
import { watchSignals } from "./signals.ts";

export type Question = Extract<Waiting, { kind: "question" }>;

export interface Answer {
  readonly question_id: string;
  readonly text: string;
}

/**
 * What the person at this terminal answers until they leave; with Ctrl-C they take back what they have typed. What somebody else has
 * answered meanwhile, which is no longer `open`, is left as it is.
 */
export async function askedHere(
  { terminal, leave }: CommandContext,
  questions: readonly Question[],
  open: () => Promise<readonly Question[]>,
): Promise<Answer[] | "interrupted"> {
  const isOpen = async ({ question_id }: Answer | Question) => {
    if ((await open()).some((one) => one.question_id === question_id)) return true;
    terminal.err.line(
      terminal.err.style("yellow", `  ${safeLine(question_id)} was answered by somebody else meanwhile.`),
    );
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
