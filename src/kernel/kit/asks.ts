import { at } from "../../lib/json-pointer.ts";
import { textOf } from "../../lib/json.ts";
import type { FactOf } from "../mode.ts";
import type { Draft } from "./draft.ts";
import { type OpenTurn, putAgainLater } from "./holder.ts";
import { answeredSets, askFor, type QuestionSet, refusedQuestions } from "./questions.ts";
import type { Kit } from "./rules.ts";
import type { Self, Subject } from "./state.ts";
import { refuseAnswer } from "./trouble.ts";

/** Puts an agent's questions to a person. The agent gets its message again with the answers. */
export function onClarification<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  fact: FactOf<"clarification">,
  turn: OpenTurn,
): void {
  const id = fact.subject;
  const rounds = (turn.rounds ?? 0) + 1;
  const ids = fact.payload.questions.map(({ question_id }) => question_id);
  const why = refusedQuestions(ids, rounds, draft.self.max_clarification_rounds);
  if (why) return refuseAnswer(kit, draft, id, turn, why);
  const ask_id = draft.putQuestions(id, fact.sequence, ids);
  putAgainLater(draft, id, ask_id, { ...turn, retries: 0, refused: [], rounds });
}

/** Handles a person's answers; `ask_id` limits the asks that they are for. */
export function onClarificationResponse<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  fact: FactOf<"clarification_response">,
): void {
  const { ask_id } = fact.payload;
  const open = draft.openQuestions().filter(({ id }) => ask_id === undefined || ask_id === id);
  const answered = answeredSets(fact, open);
  if (!answered.ok) return draft.out.refuse(answered.error);
  for (const { subject, ...set } of answered.value) settle(kit, draft, subject, set, fact);
}

function settle<S extends Self, U extends Subject>(
  { rules }: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
  set: QuestionSet,
  fact: FactOf<"clarification_response">,
): void {
  const { questions = [], put_again } = draft.holder(id) ?? {};
  draft.patchHolder(id, { questions: questions.with(-1, set) });
  const isComplete = fact.payload.status === "complete";
  if (!isComplete && set.answers.includes(null)) return draft.out.command(askFor(set, id));
  draft.out.command({ do: "clear_ask", ask_id: set.id });
  if (put_again) {
    // The person wants no more questions, so the same message must not lead to any.
    const { max_clarification_rounds: rounds } = draft.self;
    if (isComplete) draft.patchHolder(id, { put_again: { ...put_again, rounds } });
    draft.putAgain(id, set.id);
  } else if (draft.stopWaiting(id, set.id)) {
    const [answer] = set.answers;
    rules.told?.(draft, answer ? textOf(at(fact.payload, answer[1])) : undefined, draft.subject(id));
  }
}
