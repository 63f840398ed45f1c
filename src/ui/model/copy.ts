import type { RoleModel, SessionModel, TicketModel } from "./model.ts";

/** A copy that further records do not affect. It shares values that they replace whole, so it is smaller and faster than `structuredClone`. */
export function copyOf(model: SessionModel): SessionModel {
  const { budget, roles, tickets, counts, turns, asks, spend, memory } = model;
  return {
    ...model,
    budget: { ...budget },
    roles: mapped(roles, copyOfRole),
    tickets: mapped(tickets, copyOfTicket),
    counts: new Map(counts),
    turns: new Map(turns),
    asks: new Map(asks),
    spend: { ...spend },
    memory: { ...memory, checked: new Set(memory.checked), held: new Map(memory.held) },
  };
}

function copyOfRole(role: RoleModel): RoleModel {
  return { ...role, spend: { ...role.spend } };
}

function copyOfTicket(ticket: TicketModel): TicketModel {
  const { spend, reviews, artifacts, moves } = ticket;
  return { ...ticket, spend: { ...spend }, reviews: [...reviews], artifacts: [...artifacts], moves: [...moves] };
}

function mapped<V>(map: ReadonlyMap<string, V>, copy: (value: V) => V): Map<string, V> {
  const copied = new Map<string, V>();
  for (const [key, value] of map) copied.set(key, copy(value));
  return copied;
}
