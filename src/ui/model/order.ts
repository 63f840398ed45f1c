import { type Presentation, shownStatus, statusesOf } from "../../kernel/presentation.ts";
import type { SessionModel, TicketModel } from "./model.ts";

/** Sorts tickets by how much they need a person: those with an open ask, then by the urgency of their status, in the plan's order. */
export function ticketsByNeed({ subjects, asks }: SessionModel, presentation: Presentation | undefined): TicketModel[] {
  const needy = new Set([...asks.values()].map(({ subject }) => subject));
  const urgency = new Map(statusesOf(presentation).map((status, rank) => [status, rank]));
  const ranked = Map.groupBy(subjects.values(), ({ id, status }) =>
    needy.has(id) ? -1 : (urgency.get(status) ?? Infinity),
  );
  // Most tickets are already in the plan's order, so sorting is fast even for large plans.
  return [...ranked].sort(([a], [b]) => a - b).flatMap(([, same]) => same.sort((a, b) => a.order - b.order));
}

/** The ids of the tickets that a ticket still waits for. */
export function blockersOf(
  { subjects }: SessionModel,
  presentation: Presentation | undefined,
  { depends_on, status }: TicketModel,
): string[] {
  if (shownStatus(presentation, status).stage !== "waiting") return [];
  return depends_on.filter((id) => {
    const before = subjects.get(id);
    return before === undefined || shownStatus(presentation, before.status).stage !== "done";
  });
}
