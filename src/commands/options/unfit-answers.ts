import type { GivenAnswer } from "../../config/answers.ts";
import { problemsFailure } from "../../config/document.ts";
import { answerTo } from "../../config/picked-option.ts";
import { didYouMean, nearest } from "../../lib/nearest.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";

/** The playbook manager asks its questions as `c1`, and asks those again whose answer it cannot use. */
const SCOPE = /^c\d+\./;

/**
 * Why answers given beforehand match none of these questions, which are all that will be asked: `usage` for `--answer`, `configuration` with
 * the location for `--answers`. Undefined if each matches one.
 */
export function unfitAnswers(answers: readonly GivenAnswer[], questions: readonly Question[]): Failure | undefined {
  const unfit = answers.flatMap((answer) => {
    const why = whyUnfit(answer, questions);
    return why === undefined ? [] : [{ answer, ...why }];
  });
  const flag = unfit.find(({ answer }) => answer.place === undefined);
  if (flag) {
    const { answer, what, expected, near } = flag;
    const typed = `--answer ${JSON.stringify(`${nameOf(answer)}=${answer.text}`)}`;
    return failure("usage", `${typed}: ${what}.${near === undefined ? "" : didYouMean(nameOf(answer), [near])}`, {
      hint: `Expected ${expected}.`,
    });
  }
  if (unfit.length === 0) return undefined;
  return problemsFailure(
    unfit.map(({ answer, what, expected, near }) => ({
      ...(answer.place ?? { file: "--answers", pointer: "" }),
      what,
      ...(near === undefined ? { expected } : { nearest: near }),
    })),
  );
}

interface Unfit {
  readonly what: string;
  readonly expected: string;
  readonly near?: string | undefined;
}

function whyUnfit(answer: GivenAnswer, questions: readonly Question[]): Unfit | undefined {
  const name = nameOf(answer);
  const meant = questions.filter((question) => isAbout(answer, question));
  const ids = questions.map(({ question_id }) => question_id);
  if (meant.length === 0) {
    const what = `no question of the plan matches ${JSON.stringify(name)}`;
    if (ids.length === 0) return { what, expected: "no answers: the plan has no questions" };
    return { what, expected: `one of ${ids.join(", ")}`, near: "match" in answer ? undefined : nearest(name, ids) };
  }
  for (const question of meant) {
    const said = answerTo({ ...question, ask_id: "" }, answer.text);
    if (!said.ok)
      return { what: said.error.message.replace(/\.$/, ""), expected: `one of ${(question.options ?? []).join(", ")}` };
  }
  return undefined;
}

function isAbout(answer: GivenAnswer, { question_id, text }: Question): boolean {
  if ("question_id" in answer) return [answer.question_id, answer.question_id.replace(SCOPE, "")].includes(question_id);
  return text.toLowerCase().includes(answer.match.toLowerCase());
}

function nameOf(answer: GivenAnswer): string {
  return "question_id" in answer ? answer.question_id : answer.match;
}
