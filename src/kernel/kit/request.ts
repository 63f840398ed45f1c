import { defined, listOf } from "../../lib/json.ts";
import { expectedAnswers } from "../../protocol/rights.ts";
import type { TurnDraft, TurnStamp } from "../mode.ts";
import { from } from "../references.ts";
import { clarificationsIn } from "./questions.ts";
import type { Kit } from "./rules.ts";
import { type KitState, type Self, type Subject, viewOf } from "./state.ts";
import { transcriptOf } from "./views.ts";

/** The request of an offered or open turn, with the context that an agent without memory needs. */
export function request<S extends Self, U extends Subject>(
  { descriptor, rules, rights }: Kit<S, U>,
  state: KitState<S, U>,
  { subject: id, turn_id }: TurnStamp,
): TurnDraft {
  const { self, subjects, said } = state;
  const one = id === undefined ? undefined : subjects.get(id);
  const turn = id === undefined ? self?.turn : one?.turn;
  if (!self || turn?.turn_id !== turn_id) throw new Error(`nobody holds turn ${turn_id}`);
  const { payload, context, answers, choices, view } = rules.question(viewOf(self, state), one);
  // In the order in which they were sent.
  const notes = [...(self.notes ?? []), ...(one?.notes ?? [])].toSorted((a, b) => a - b);
  const questions = [...(self.questions ?? []), ...(one?.questions ?? [])];
  const { type, role_id } = rules.seat(self, one).seat;
  const shown = view && transcriptOf([...said.values()], descriptor.lines ?? {}, { view, reader: role_id, ...turn });
  const transcript = shown && [...listOf(context?.transcript), ...shown];
  return {
    expects: expectedAnswers(rights, type, turn.message).filter(
      (answer) => answer === "error" || (answers?.includes(answer) ?? true),
    ),
    ...defined({ choices }),
    message: { payload_type: turn.message, payload },
    context: {
      requirement: from(self.opened, `/input/${descriptor.requirement}`),
      ...context,
      ...defined({ transcript }),
      ...(questions.length > 0 ? { clarifications: questions.flatMap(clarificationsIn) } : {}),
      ...(notes.length > 0 ? { notes: notes.map((sequence) => from(sequence, "/text")) } : {}),
      ...(turn.refused ? { refused: turn.refused } : {}),
    },
  };
}
