import { type Answerable, answerTo } from "./picked-option.ts";
import { nearest } from "../lib/nearest.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure, type Fallible } from "../protocol/failure.ts";
import type { Problem } from "../protocol/document/problem.ts";
import type { Question } from "../protocol/payload.ts";
import { idsOf } from "../protocol/question-ids.ts";
import { findingsFailure, loadDocument, problemsFailure } from "./document.ts";
import { checkSchema } from "./schema-check.ts";

/** An answer given before its question is asked: to the question with this id, or to every question whose text contains `match`. */
export type GivenAnswer = ({ readonly question_id: string } | { readonly match: string }) & {
  readonly text: string;
  /** Its place, if it is in a file. */
  readonly place?: Pick<Problem, "file" | "pointer" | "position">;
};

/**
 * Loads an answers file: a mapping of question ids to texts, or a list of entries. Every value is kept as the text that was written, even `1.10` and
 * `yes`. An empty answer fails, because it is in a form that was not filled in. Failure `configuration`.
 */
export async function loadAnswers(file: string): Promise<Fallible<GivenAnswer[]>> {
  const document = loadDocument(file, "texts");
  if (!document.ok) return err(problemsFailure([document.error]));
  const { value } = document.value;
  const findings = await checkSchema("answers", value);
  if (findings.length > 0) return err(findingsFailure(document.value, findings));
  const given = Object.entries(value as { [key: string]: string | GivenAnswer }).map(([key, entry]) => ({
    pointer: pointerTo("", key),
    answer: typeof entry === "string" ? { question_id: key, text: entry } : entry,
  }));
  const about = {
    what: "this answer is empty",
    expected: "an answer; remove the entry to leave the question open",
  };
  const empty = given.filter(({ answer }) => answer.text.trim() === "").map(({ pointer }) => ({ pointer, ...about }));
  if (empty.length > 0) return err(findingsFailure(document.value, empty));
  const placed = (pointer: string) => document.value.problem({ pointer, at: "key", what: "" });
  return ok(given.map(({ pointer, answer }) => ({ ...answer, place: placed(pointer) })));
}

/** Parses one `--answer id=text`. The text may contain further `=`. Failure `usage`. */
export function answerFromFlag(text: string): Fallible<GivenAnswer> {
  const at = text.indexOf("=");
  const question_id = text.slice(0, Math.max(at, 0)).trim();
  const answer = text.slice(at + 1).trim();
  if (question_id !== "" && answer !== "") return ok({ question_id, text: answer });
  const what =
    at === -1 ? "there is no = in it" : question_id === "" ? "the question's id is missing" : "the answer is empty";
  const hint = "Write --answer id=text, such as --answer q1=yes.";
  return fails("usage", `--answer ${JSON.stringify(text)}: ${what}.`, { hint });
}

/**
 * Returns the answer given to a question: by its whole id, else by its id without the scope (`q1` for `c2.q1`), else by a part of its text, ignoring
 * case. Of several equal matches the last one counts. Undefined if there is none. Fails like `answerTo`.
 */
export function givenAnswer(answers: readonly GivenAnswer[], question: Answerable): Fallible<string> | undefined {
  const [scoped, bare] = idsOf(question);
  const asked = question.text.toLowerCase();
  const named = (id: string) => answers.findLast((answer) => "question_id" in answer && answer.question_id === id);
  const found =
    named(scoped) ??
    named(bare) ??
    answers.findLast((answer) => "match" in answer && asked.includes(answer.match.toLowerCase()));
  return found && answerTo(question, found.text);
}

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

/** Why no question matches an answer, or one that does refuses it; undefined if it fits. */
export function whyUnfit(answer: GivenAnswer, questions: readonly Answerable[]) {
  const fits = questions.flatMap((question) => givenAnswer([answer], question) ?? []);
  const refused = fits.find((fit) => !fit.ok);
  if (refused?.ok === false) {
    const { message, hint = "" } = refused.error;
    return { what: message.replace(/\.$/, ""), expected: hint.replace(/^Give (.*)\.$/, "$1") };
  }
  if (fits.length > 0) return undefined;
  const name = nameOf(answer);
  const ids = [...new Set(questions.map((question) => idsOf(question)[1]))];
  return {
    what: `no question matches ${JSON.stringify(name)}`,
    expected: ids.length === 0 ? "no answers" : `an answer to ${ids.join(", ")}`,
    nearest: "match" in answer ? undefined : nearest(name, ids),
  };
}

function nameOf(answer: GivenAnswer): string {
  return "question_id" in answer ? answer.question_id : answer.match;
}
