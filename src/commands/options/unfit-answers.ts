import type { GivenAnswer } from "../../config/answers.ts";
import { problemsFailure } from "../../config/document.ts";
import { answerTo } from "../../config/picked-option.ts";
import { nearest } from "../../lib/nearest.ts";
import type { Problem } from "../../protocol/document/problem.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";

/** The playbook manager asks its questions as `c1`, and asks those again whose answer it cannot use. */
const SCOPE = /^c\d+\./;

const FLAG = "--answer";

/**
 * Why answers given beforehand match none of these questions, which are all that will be asked: `usage` for `--answer`, `configuration` with
 * the location for `--answers`. Undefined if each matches one.
 */
export function unfitAnswers(answers: readonly GivenAnswer[], questions: readonly Question[]): Failure | undefined {
  const problems = answers.flatMap((answer): Problem[] => {
    const why = whyUnfit(answer, questions);
    const flag = { file: `${FLAG} ${JSON.stringify(`${nameOf(answer)}=${answer.text}`)}`, pointer: "" };
    return why === undefined ? [] : [{ ...(answer.place ?? flag), ...why }];
  });
  if (problems.length === 0) return undefined;
  const refused = problemsFailure(problems);
  return problems.some(({ file }) => file.startsWith(FLAG)) ? { ...refused, code: "usage" } : refused;
}

function whyUnfit(answer: GivenAnswer, questions: readonly Question[]): Omit<Problem, "file" | "pointer"> | undefined {
  const name = nameOf(answer);
  const meant = questions.filter((question) => isAbout(answer, question));
  const ids = questions.map(({ question_id }) => question_id);
  if (meant.length === 0) {
    const what = `no question of the plan matches ${JSON.stringify(name)}`;
    const near = "match" in answer ? undefined : nearest(name, ids);
    return { what, expected: ids.length === 0 ? "no answers" : `one of ${ids.join(", ")}`, nearest: near };
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
