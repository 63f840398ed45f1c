import { defined, type Json } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Failure, type Fallible, failure } from "../../protocol/failure.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import type { Command, FactOf } from "../mode.ts";
import { from } from "../references.ts";

/** A set of questions that a person is asked at once. */
export interface QuestionSet {
  /** The id of the ask. */
  readonly id: string;
  /** Where the questions stand: the record, and the pointer in it. */
  readonly record: number;
  readonly pointer: string;
  readonly questions: readonly string[];
  /** The place of each question's answer, in the order of the questions. */
  readonly answers: readonly (readonly [sequence: number, pointer: string] | null)[];
}

/** Why questions of an agent are refused. `round` counts those that its message has led to, with these. */
export function refusedQuestions(ids: readonly string[], round: number, most: number): Failure | undefined {
  const details = { pointer: "/questions" };
  if (ids.length === 0) return failure("validation_failed", "a clarification needs at least one question", { details });
  const twice = ids.findIndex((one, index) => ids.indexOf(one) < index);
  if (twice >= 0)
    return failure("validation_failed", `question_id "${ids[twice] ?? ""}" is used twice`, {
      hint: "give each question its own",
      details: { pointer: `/questions/${twice}/question_id` },
    });
  if (round <= most) return undefined;
  return failure("not_permitted", "no more questions can be asked about this", {
    hint: "decide with what is known",
    details,
  });
}

/** Asks a person the questions of a set that are open. */
export function askFor({ id: ask_id, record, questions, answers }: QuestionSet, subject: string | undefined): Command {
  const open = questions.filter((_, index) => answers[index] === null);
  return { do: "ask", ask_id, kind: "questions", record, open, ...defined({ subject }) };
}

/**
 * The sets that a person's answers change, with the answers. Accepts scoped ids (`c2.q1`), and bare ones if only one open question has them; accepts
 * all answers or none. An end without answers (`complete`) is about every open set.
 */
export function answeredSets<S extends QuestionSet>(
  { sequence, payload }: FactOf<"clarification_response">,
  open: readonly S[],
): Fallible<readonly S[]> {
  const asked = open.flatMap((set) =>
    set.questions.map((id, at) => ({ ask_id: set.id, question_id: `${set.id}.${id}`, set, at })),
  );
  const given = new Map<S, QuestionSet["answers"]>();
  for (const [index, answer] of payload.answers.entries()) {
    const [match, another] = questionsMeant(answer.question_id, asked);
    if (!match || another) {
      const waiting = asked.map(({ question_id }) => question_id).join(", ");
      const message = `"${answer.question_id}" ${another ? "is asked more than once" : "is not an open question"}`;
      const hint = waiting ? `open questions: ${waiting}` : "no question is open";
      return fails("validation_failed", message, { hint, details: { pointer: `/answers/${index}/question_id` } });
    }
    const answers = given.get(match.set) ?? match.set.answers;
    given.set(match.set, answers.with(match.at, [sequence, `/answers/${index}/text`]));
  }
  if (payload.status === "complete" && given.size === 0) return ok(open);
  return ok(Array.from(given, ([set, answers]) => ({ ...set, answers })));
}

/** The questions with their answers, as `context.clarifications` has them. */
export function clarificationsIn({ questions, record, pointer, answers }: QuestionSet): Json[] {
  return questions.map((_, index) => ({
    question: from(record, `${pointer}/${index}/text`),
    answer: answers[index] ? from(...answers[index]) : "(not answered: decide yourself)",
  }));
}
