import { pointerTo } from "../lib/json-pointer.ts";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { fails, type Failure } from "../protocol/failure.ts";
import type { Problem } from "../protocol/document/problem.ts";
import type { Question } from "../protocol/payload.ts";
import { findingsFailure, loadDocument, problemsFailure } from "./document.ts";
import { type Answerable, answerTo, bareId } from "./picked-option.ts";
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
export async function loadAnswers(file: string): Promise<Result<GivenAnswer[], Failure>> {
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
export function answerFromFlag(text: string): Result<GivenAnswer, Failure> {
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
export function givenAnswer(
  answers: readonly GivenAnswer[],
  question: Answerable,
): Result<string, Failure> | undefined {
  const bare = bareId(question);
  const asked = question.text.toLowerCase();
  const found =
    answers.findLast((answer) => "question_id" in answer && answer.question_id === question.question_id) ??
    answers.findLast((answer) => "question_id" in answer && answer.question_id === bare) ??
    answers.findLast((answer) => "match" in answer && asked.includes(answer.match.toLowerCase()));
  return found && answerTo(question, found.text);
}

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
