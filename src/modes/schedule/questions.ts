import { putAgainLater } from "../../kernel/kit/holder.ts";
import { answeredSets, askFor, refusedQuestions } from "../../kernel/kit/questions.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { defined } from "../../lib/json.ts";
import type { Draft } from "./draft.ts";
import { isAboutLongWait } from "./messages.ts";
import { offer, putAgain } from "./offering.ts";
import { askPlanners, plansLater } from "./planners.ts";
import type { OpenTurn, QuestionSet } from "./state.ts";
import { refuseAnswer } from "./trouble.ts";

/** Handles the manager's questions to a person. Only the subject of its turn waits for the answer. */
export function onClarification(draft: Draft, fact: FactOf<"clarification">, turn: OpenTurn): void {
  const id = fact.subject;
  const rounds = (turn.rounds ?? 0) + 1;
  const isAboutRequirement = id === undefined && !isAboutLongWait(id, turn);
  if (isAboutRequirement && hasNoQuestions(draft, fact, turn)) {
    if (plansLater(draft.session)) return askPlanners(draft);
    const rounds = draft.session.settings.max_clarification_rounds;
    offer(draft, undefined, "clarification_response", { retries: 0, rounds });
    return;
  }
  const ids = fact.payload.questions.map((question) => question.question_id);
  const why = refusedQuestions(ids, rounds, draft.session.settings.max_clarification_rounds);
  if (why) return refuseAnswer(draft, id, why);
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
  draft.out.command(askFor(set, id));
}

/** Whether the manager says that it has no questions about the requirement. It can say so once; then it is asked for the plan. */
function hasNoQuestions(draft: Draft, { payload }: FactOf<"clarification">, turn: OpenTurn): boolean {
  if (payload.questions.length > 0 || payload.status !== "complete") return false;
  return turn.message === "requirement" || (turn.rounds ?? 0) < draft.session.settings.max_clarification_rounds;
}

/** Handles a person's answers; `ask_id` limits the sets. */
export function onClarificationResponse(draft: Draft, fact: FactOf<"clarification_response">): void {
  const { ask_id } = fact.payload;
  const open = [...draft.before.questions.values()]
    .filter((set) => !set.closed && (ask_id === undefined || ask_id === set.id))
    .toSorted((a, b) => a.record - b.record);
  const answered = answeredSets(fact, open);
  if (!answered.ok) return draft.out.refuse(answered.error);
  for (const set of answered.value) settle(draft, set, fact);
}

function settle(draft: Draft, set: QuestionSet, fact: FactOf<"clarification_response">): void {
  const complete = fact.payload.status === "complete";
  const closed = complete || !set.answers.includes(null);
  draft.questions.put(set.id, { ...set, ...(closed ? { closed } : {}) });
  if (!closed) return draft.out.command(askFor(set, set.subject));
  draft.out.command({ do: "clear_ask", ask_id: set.id });
  const holder = draft.holder(set.subject);
  if (!holder) return;
  const clarifications = [...(holder.clarifications ?? []), set.id];
  const again = holder.put_again;
  // The person wants no more questions, so the same message must not lead to any.
  const { max_clarification_rounds } = draft.session.settings;
  const put_again = again && complete ? { ...again, rounds: max_clarification_rounds } : again;
  draft.patchHolder(set.subject, { clarifications, put_again });
  if (set.subject !== undefined) draft.remember(set.subject);
  else if (draft.session.phase === "clarifying") draft.moveSession("answered");
  const isLast = (put_again?.rounds ?? 0) >= max_clarification_rounds;
  if (set.subject === undefined && isLast && plansLater(draft.session)) askPlanners(draft);
  else putAgain(draft, set.subject, set.id);
}
