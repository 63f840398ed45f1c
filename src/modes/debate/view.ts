import type { ReadonlyState, SessionView, SubjectView } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import type { DebatePhase } from "./debate.machine.ts";
import type { Debater, DebateState } from "./state.ts";

/** The debate's phase: `closed` if it could not be opened. */
export function phase(state: ReadonlyState<DebateState>): DebatePhase {
  return state.debate?.phase ?? "closed";
}

/** A subject for each debater, in the order of the input, titled by its latest position. */
export function view(state: ReadonlyState<DebateState>): SessionView {
  const debaters = (state.debate?.order ?? []).flatMap((id) => state.debaters.get(id) ?? []);
  const counts: Record<string, number> = {};
  for (const { status } of debaters) counts[status] = (counts[status] ?? 0) + 1;
  return { state: phase(state), counts, subjects: debaters.map(subject) };
}

function subject(debater: Debater): SubjectView {
  const { id, status, since, opinions, reason } = debater;
  const last = opinions.at(-1);
  return {
    id,
    status,
    title: last === undefined ? id : { ...from(last, "/position") },
    owner: id,
    attempt: ((debater.turn ?? debater.put_again)?.retries ?? 0) + 1,
    depends_on: [],
    since,
    ...(reason === undefined ? {} : { reason }),
  };
}
