import { promptQuestion } from "../ui/prompt.ts";
import type { Waiting } from "../ui/waiting.ts";
import type { CommandContext } from "./command.ts";
import { watchSignals } from "./signals.ts";

export type Question = Extract<Waiting, { kind: "question" }>;

export interface Answer {
  readonly question_id: string;
  readonly text: string;
}

/** What the person at this terminal answers until they leave; with Ctrl-C they take back what they have typed. */
export async function askedHere(
  { terminal, leave }: CommandContext,
  questions: readonly Question[],
): Promise<Answer[] | "interrupted"> {
  const answers: Answer[] = [];
  const enough = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort(), kill: () => {} }, leave, ["SIGINT"]);
  for (const [index, question] of questions.entries()) {
    const place = { number: index + 1, of: questions.length };
    const typed = await promptQuestion(terminal, question, place, enough.signal);
    if (typed.kind === "left") break;
    answers.push({ question_id: question.question_id, text: typed.text });
  }
  signals.restore();
  return enough.signal.aborted ? "interrupted" : answers;
}
