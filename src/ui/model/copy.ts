import type { RoleModel, SessionModel, TicketModel } from "./model.ts";

/** A copy that further records do not affect. It shares values that they replace whole, so it is smaller and faster than `structuredClone`. */
export function copyOf(model: SessionModel): SessionModel {
  return {
    ...model,
    budget: { ...model.budget },
    roles: mapped(model.roles, copyOfRole),
    subjects: mapped(model.subjects, copyOfTicket),
    counts: new Map(model.counts),
    turns: new Map(model.turns),
    asks: new Map(model.asks),
    holds: new Map(model.holds),
    checks: new Map(model.checks),
    waiting: new Map(model.waiting),
    spend: { ...model.spend },
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
