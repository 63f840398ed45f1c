import type { SessionModel, TicketModel } from "./model.ts";

/** What a person looks for first comes first. States that are not listed come between. */
const RANKS: Readonly<Record<string, number>> = {
  error: 1,
  blocked: 2,
  awaiting_review: 3,
  discussing: 4,
  in_progress: 5,
  pending: 7,
  dropped: 7,
  done: 8,
};
const OTHER = 6;

/** The tickets by how much they need a person: those that wait for one, in error, blocked, under review, at work, waiting, done. */
export function ticketsByNeed({ tickets, asks }: SessionModel): TicketModel[] {
  const needy = new Set([...asks.values()].map(({ ticket_id }) => ticket_id));
  const rank = (ticket: TicketModel) => (needy.has(ticket.id) ? 0 : (RANKS[ticket.status] ?? OTHER));
  return [...tickets.values()]
    .map((ticket) => ({ ticket, rank: rank(ticket) }))
    .sort((a, b) => a.rank - b.rank || a.ticket.order - b.ticket.order)
    .map(({ ticket }) => ticket);
}

/** The tickets that a ticket still waits for. */
export function blockersOf({ tickets }: SessionModel, { depends_on, status }: TicketModel): string[] {
  if (status !== "pending") return [];
  return depends_on.filter((id) => tickets.get(id)?.status !== "done");
}
