import type { ReadonlyState, Results, SubjectRow } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { artifactsOf, planOrder, type ScheduleState } from "./state.ts";

/** The ids of all tickets, in the order of the plan. */
export function ids({ tickets }: ReadonlyState<ScheduleState>): string[] {
  return [...tickets.values()].toSorted(planOrder).map(({ id }) => id);
}

/** A ticket, titled by its task. */
export function subject({ tickets, session }: ReadonlyState<ScheduleState>, id: string): SubjectRow | undefined {
  const ticket = tickets.get(id);
  if (!ticket) return undefined;
  const { status, since, order, task, depends_on, owner, attempt, attempts_before = 0, reason, spent } = ticket;
  const most = Math.min(ticket.max_attempts ?? Infinity, session?.settings.max_attempts ?? Infinity);
  return {
    id,
    status,
    since,
    order,
    title: from(task[0], `${task[1]}/description`),
    depends_on,
    owner,
    attempt,
    max_attempts: Number.isFinite(most) ? attempts_before + most : undefined,
    reason,
    spent,
  };
}

export function results({ tickets }: ReadonlyState<ScheduleState>, id: string): Results | undefined {
  const ticket = tickets.get(id);
  if (!ticket) return undefined;
  const { reviews = 0, checks_passed, report, spent } = ticket;
  const figures = { reviews, ...defined({ checks_passed, spent }) };
  return { ...defined({ latest: report }), kept: artifactsOf(ticket), figures };
}
