import { type GivenAnswer, givenAnswer } from "../../config/answers.ts";
import { problemsFailure } from "../../config/document.ts";
import { type Answerable, bareId } from "../../config/picked-option.ts";
import { nearest } from "../../lib/nearest.ts";
import type { Problem } from "../../protocol/document/problem.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Question } from "../../protocol/payload.ts";
import { safeLine } from "../../ui/display.ts";
import type { Output } from "../../ui/terminal.ts";

/** The playbook manager asks all its questions at once. */
const ONLY_ASK = "c1";

const FLAG = "--answer";

/**
 * Why answers given beforehand fit none of the questions of a plan, which are all that will be asked: `usage` for `--answer`, `configuration`
 * with the location for `--answers`. Undefined if each fits one.
 */
export function unfitAnswers(answers: readonly GivenAnswer[], questions: readonly Question[]): Failure | undefined {
  const asked = questions.map((one) => ({ ...one, ask_id: ONLY_ASK, question_id: `${ONLY_ASK}.${one.question_id}` }));
  const problems = answers.flatMap((answer): Problem[] => {
    const why = whyUnfit(answer, asked);
    const flag = { file: `${FLAG} ${JSON.stringify(`${nameOf(answer)}=${answer.text}`)}`, pointer: "" };
    return why === undefined ? [] : [{ ...(answer.place ?? flag), ...why }];
  });
  if (problems.length === 0) return undefined;
  const refused = problemsFailure(problems);
  return problems.some(({ file }) => file.startsWith(FLAG)) ? { ...refused, code: "usage" } : refused;
}

/** Shows which answers fit none of the questions asked so far: most of them have a misspelt id. */
export function showUnfit(out: Output, answers: readonly GivenAnswer[], questions: readonly Answerable[]): void {
  for (const answer of answers) {
    const why = whyUnfit(answer, questions);
    if (why !== undefined) out.line(out.style("yellow", safeLine(`Not used: ${why.what}; expected ${why.expected}.`)));
  }
}

/** Why no question matches an answer, or one that does refuses it; undefined if it fits. */
function whyUnfit(answer: GivenAnswer, questions: readonly Answerable[]) {
  const fits = questions.flatMap((question) => givenAnswer([answer], question) ?? []);
  const refused = fits.find((fit) => !fit.ok);
  if (refused?.ok === false) {
    const { message, hint = "" } = refused.error;
    return { what: message.replace(/\.$/, ""), expected: hint.replace(/^Give (.*)\.$/, "$1") };
  }
  if (fits.length > 0) return undefined;
  const name = nameOf(answer);
  const ids = [...new Set(questions.map(bareId))];
  return {
    what: `no question matches ${JSON.stringify(name)}`,
    expected: ids.length === 0 ? "no answers" : `an answer to ${ids.join(", ")}`,
    nearest: "match" in answer ? undefined : nearest(name, ids),
  };
}

function nameOf(answer: GivenAnswer): string {
  return "question_id" in answer ? answer.question_id : answer.match;
}
