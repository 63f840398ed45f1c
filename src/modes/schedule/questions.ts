import { putAgainLater } from "../../kernel/kit/holder.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { defined } from "../../lib/json.ts";
import { failure } from "../../protocol/failure.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import type { Draft } from "./draft.ts";
import { isAboutLongWait } from "./messages.ts";
import { offer, putAgain } from "./offering.ts";
import type { OpenTurn, Place, QuestionSet } from "./state.ts";
import { refuseAnswer } from "./trouble.ts";

/** Handles the manager's questions to a person. Only the subject of its turn waits for the answer. */
export function onClarification(draft: Draft, fact: FactOf<"clarification">, turn: OpenTurn): void {
  const id = fact.subject;
  const rounds = (turn.rounds ?? 0) + 1;
  const isAboutRequirement = id === undefined && !isAboutLongWait(id, turn);
  if (isAboutRequirement && hasNoQuestions(draft, fact, turn)) {
    const rounds = draft.session.settings.max_clarification_rounds;
    offer(draft, undefined, "clarification_response", { retries: 0, rounds });
    return;
  }
  if (fact.payload.questions.length === 0) {
    const details = { pointer: "/questions" };
    return refuseAnswer(
      draft,
      id,
      failure("validation_failed", "a clarification needs at least one question", { details }),
    );
  }
  const ids = fact.payload.questions.map((question) => question.question_id);
  const twice = ids.findIndex((one, index) => ids.indexOf(one) < index);
  if (twice >= 0) {
    const why = failure("validation_failed", `question_id "${ids[twice] ?? ""}" is used twice`, {
      hint: "give each question its own",
      details: { pointer: `/questions/${twice}/question_id` },
    });
    return refuseAnswer(draft, id, why);
  }
  if (rounds > draft.session.settings.max_clarification_rounds) {
    const why = failure("not_permitted", "no more questions can be asked about this", {
      hint: "decide with what is known",
      details: { pointer: "/questions" },
    });
    return refuseAnswer(draft, id, why);
  }
  const set: QuestionSet = {
    id: `c${draft.session.asked + 1}`,
    record: fact.sequence,
    pointer: "/questions",
    questions: ids,
    answers: ids.map(() => null),
    ...defined({ subject: id }),
  };
  draft.patchSession({ asked: draft.session.asked + 1 });
  draft.questions.put(set.id, set);
  if (isAboutRequirement) draft.moveSession("questions_asked");
  putAgainLater(draft, id, set.id, {
    message: isAboutRequirement ? "clarification_response" : turn.message,
    retries: 0,
    rounds,
  });
  ask(draft, set, ids);
}

/** Asks a person the questions of a set that are open. */
function ask(draft: Draft, { id: ask_id, record, subject }: QuestionSet, open: readonly string[]): void {
  draft.out.command({ do: "ask", ask_id, kind: "questions", record, open, ...defined({ subject }) });
}

/** Whether the manager says that it has no questions about the requirement. It can say so once; then it is asked for the plan. */
function hasNoQuestions(draft: Draft, { payload }: FactOf<"clarification">, turn: OpenTurn): boolean {
  if (payload.questions.length > 0 || payload.status !== "complete") return false;
  return turn.message === "requirement" || (turn.rounds ?? 0) < draft.session.settings.max_clarification_rounds;
}

/** Accepts answers by scoped id (`c2.q1`), or by bare id if only one open question has it; `ask_id` limits the sets. Accepts all answers or none. */
export function onClarificationResponse(draft: Draft, fact: FactOf<"clarification_response">): void {
  const { ask_id } = fact.payload;
  const open = [...draft.before.questions.values()]
    .filter((set) => !set.closed && (ask_id === undefined || ask_id === set.id))
    .toSorted((a, b) => a.record - b.record);
  const asked = open.flatMap((set) =>
    set.questions.map((id, at) => ({ ask_id: set.id, question_id: `${set.id}.${id}`, set, at })),
  );
  const given = new Map<QuestionSet, (Place | null)[]>();
  for (const [index, answer] of fact.payload.answers.entries()) {
    const [match, another] = questionsMeant(answer.question_id, asked);
    if (!match || another) {
      const waiting = asked.map(({ question_id }) => question_id).join(", ");
      const message = `"${answer.question_id}" ${another ? "is asked more than once" : "is not an open question"}`;
      const hint = waiting ? `open questions: ${waiting}` : "no question is open";
      const details = { pointer: `/answers/${index}/question_id` };
      return draft.out.refuse(failure("validation_failed", message, { hint, details }));
    }
    const answers = given.get(match.set) ?? [...match.set.answers];
    answers[match.at] = [fact.sequence, `/answers/${index}/text`];
    given.set(match.set, answers);
  }
  const complete = fact.payload.status === "complete";
  if (complete && given.size === 0) for (const set of open) given.set(set, [...set.answers]);
  for (const [set, answers] of given) settle(draft, { ...set, answers }, complete);
}

function settle(draft: Draft, set: QuestionSet, complete: boolean): void {
  const closed = complete || !set.answers.includes(null);
  draft.questions.put(set.id, { ...set, ...(closed ? { closed } : {}) });
  if (!closed) {
    const open = set.questions.filter((_, index) => set.answers[index] === null);
    return ask(draft, set, open);
  }
  draft.out.command({ do: "clear_ask", ask_id: set.id });
  const holder = draft.holder(set.subject);
  if (!holder) return;
  const clarifications = [...(holder.clarifications ?? []), set.id];
  const again = holder.put_again;
  // The person wants no more questions, so the same message must not lead to any.
  const put_again = again && complete ? { ...again, rounds: draft.session.settings.max_clarification_rounds } : again;
  draft.patchHolder(set.subject, { clarifications, put_again });
  if (set.subject !== undefined) draft.remember(set.subject);
  else if (draft.session.phase === "clarifying") draft.moveSession("answered");
  putAgain(draft, set.subject, set.id);
}
