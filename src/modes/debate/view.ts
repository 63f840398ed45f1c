import type { ReadonlyState, SubjectRow } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import type { DebatePhase } from "./debate.machine.ts";
import type { DebateState } from "./state.ts";

/** The debate's phase: `closed` if it could not be opened. */
export function phase(state: ReadonlyState<DebateState>): DebatePhase {
  return state.debate?.phase ?? "closed";
}

/** A debater, titled by its latest position. */
export function subject({ debate, debaters }: ReadonlyState<DebateState>, id: string): SubjectRow | undefined {
  const debater = debaters.get(id);
  if (!debater) return undefined;
  const { status, since, opinions, reason, turn, put_again } = debater;
  const last = opinions.at(-1);
  return {
    id,
    status,
    since,
    order: debate?.order.indexOf(id) ?? 0,
    title: last === undefined ? id : from(last, "/position"),
    depends_on: [],
    owner: id,
    attempt: ((turn ?? put_again)?.retries ?? 0) + 1,
    reason,
  };
}
