import type { SessionModel, TicketModel } from "./model.ts";

/** Ranks of states, with what a person looks for first at the top. Unlisted states rank as `OTHER`. */
const RANKS: ReadonlyMap<string, number> = new Map([
  ["error", 1],
  ["blocked", 2],
  ["awaiting_review", 3],
  ["discussing", 4],
  ["in_progress", 5],
  ["pending", 7],
  ["dropped", 7],
  ["done", 8],
]);
const OTHER = 6;

/** Sorts tickets by how much they need a person: those with an open ask, in error, blocked, under review, at work, waiting, done. */
export function ticketsByNeed({ tickets, asks }: SessionModel): TicketModel[] {
  const needy = new Set([...asks.values()].map(({ ticket_id }) => ticket_id));
  const ranked: TicketModel[][] = [];
  for (const ticket of tickets.values()) {
    const rank = needy.has(ticket.id) ? 0 : (RANKS.get(ticket.status) ?? OTHER);
    (ranked[rank] ??= []).push(ticket);
  }
  // Most tickets are already in the plan's order, so sorting is fast even for large plans.
  return ranked.flatMap((same) => same.sort((a, b) => a.order - b.order));
}

/** The ids of the tickets that a ticket still waits for. */
export function blockersOf({ tickets }: SessionModel, { depends_on, status }: TicketModel): string[] {
  if (status !== "pending") return [];
  return depends_on.filter((id) => tickets.get(id)?.status !== "done");
}
