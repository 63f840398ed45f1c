import type { JsonObject } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { loadDocument, MAX_CONFIGURATION_BYTES } from "./document.ts";
import { type Answerable, answerTo, bareId } from "./picked-option.ts";
import { problemsFailure } from "./problem.ts";
import { checkSchema } from "./schema-check.ts";

/** An answer given before the question was asked: to the question with this id, or to those whose text has `match` in it. */
export type GivenAnswer =
  | { readonly question_id: string; readonly text: string }
  | { readonly match: string; readonly text: string };

/**
 * Loads an answers file: a mapping of question ids to texts, or a list of entries. Every value is taken as the text that was
 * written, `1.10` and `yes` too. An empty one fails, as a form that nobody filled in. Failure `configuration`.
 */
export async function loadAnswers(file: string): Promise<Result<GivenAnswer[], Failure>> {
  const document = loadDocument(file, MAX_CONFIGURATION_BYTES, "texts");
  if (!document.ok) return err(problemsFailure([document.error]));
  const { value, problem } = document.value;
  const problems = await checkSchema("answers", value, problem);
  if (problems.length > 0) return err(problemsFailure(problems));
  const located = Array.isArray(value)
    ? (value as JsonObject[]).map((entry, index) => ({ pointer: `/${index}`, answer: entry as unknown as GivenAnswer }))
    : Object.entries(value as { [id: string]: string }).map(([question_id, text]) => ({
        pointer: pointerTo("", question_id),
        answer: { question_id, text },
      }));
  const empty = located.filter(({ answer }) => answer.text.trim() === "");
  if (empty.length > 0) {
    const expected = "an answer; take the entry out to leave the question open";
    return err(problemsFailure(empty.map(({ pointer }) => problem(pointer, "this answer is empty", { expected }))));
  }
  return ok(located.map(({ answer }) => answer));
}

/** One `--answer id=text`. The text may hold further `=`. Failure `usage`. */
export function answerFromFlag(text: string): Result<GivenAnswer, Failure> {
  const at = text.indexOf("=");
  const question_id = text.slice(0, Math.max(at, 0)).trim();
  const answer = text.slice(at + 1).trim();
  if (question_id !== "" && answer !== "") return ok({ question_id, text: answer });
  const what =
    at === -1 ? "there is no = in it" : question_id === "" ? "the question's id is missing" : "the answer is empty";
  return err(
    failure("usage", `--answer ${JSON.stringify(text)}: ${what}.`, {
      hint: "Write --answer id=text, such as --answer q1=yes.",
    }),
  );
}

/**
 * What was given as the answer to a question: by its whole id, else by its id without the scope (`q1` for `c2.q1`), else by a part
 * of its text, upper and lower case alike; of several that fit equally the last. Undefined if nothing was; failures as `answerTo`.
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
