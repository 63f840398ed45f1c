import type { Change } from "../../kernel/mode.ts";
import type { QuestionSet, ScheduleState, SessionValue, Ticket } from "./state.ts";

/** The only function that writes to the state. Stores a value and updates the indexes. */
export function apply(state: ScheduleState, change: Change): void {
  if ("drop" in change) {
    if (change.drop === "ticket") dropTicket(state, change.id);
    return;
  }
  switch (change.put) {
    case "session":
      state.session = change.value as unknown as SessionValue;
      return;
    case "question":
      state.questions.set(change.id, change.value as unknown as QuestionSet);
      return;
    case "ticket":
      putTicket(state, change.value as unknown as Ticket);
      return;
    default:
      throw new Error(`the schedule mode has no collection "${change.put}"`);
  }
}

/** Rows may load in any order, so a ticket updates the indexes for its dependencies and for its dependents. */
function putTicket(state: ScheduleState, ticket: Ticket): void {
  const before = state.tickets.get(ticket.id);
  state.tickets.set(ticket.id, ticket);
  if (before?.status !== ticket.status) {
    if (before) add(state.counts, before.status, -1);
    add(state.counts, ticket.status, 1);
    if (ticket.status !== "pending" && ticket.status !== "done" && ticket.status !== "error")
      state.underway.add(ticket.id);
    else if (before) state.underway.delete(ticket.id);
  }
  if (ticket.status === "pending" && ticket.writes) state.scoped.add(ticket.id);
  else state.scoped.delete(ticket.id);
  if (before?.depends_on !== ticket.depends_on && !(before && sameList(before.depends_on, ticket.depends_on))) {
    if (before) forgetDependencies(state, before);
    let unmet = 0;
    for (const dependency of new Set(ticket.depends_on)) {
      // An empty set takes less memory than one made from a list, which reserves space for eight entries.
      const waiting = state.dependents.get(dependency) ?? new Set();
      state.dependents.set(dependency, waiting.add(ticket.id));
      const status = state.tickets.get(dependency)?.status;
      if (status !== "done") unmet += 1;
      if (status === "error" || state.blockedByError.has(dependency)) blockByError(state, ticket.id);
    }
    state.unmet.set(ticket.id, unmet);
    relieve(state, ticket.id);
  }
  if (ticket.status === "done" && before?.status !== "done") {
    for (const dependent of state.dependents.get(ticket.id) ?? []) add(state.unmet, dependent, -1);
  }
  if (ticket.status === "error" && before?.status !== "error") {
    for (const dependent of state.dependents.get(ticket.id) ?? []) blockByError(state, dependent);
  }
  if (ticket.status === "done" || ticket.status === "error") state.blockedByError.delete(ticket.id);
  if (before?.status === "error" && ticket.status !== "error") {
    if (waitsForError(state, ticket)) blockByError(state, ticket.id);
    relieveDependents(state, ticket.id);
  }
}

function dropTicket(state: ScheduleState, id: string): void {
  const before = state.tickets.get(id);
  if (!before) return;
  state.tickets.delete(id);
  state.underway.delete(id);
  state.scoped.delete(id);
  add(state.counts, before.status, -1);
  forgetDependencies(state, before);
  state.unmet.delete(id);
  state.blockedByError.delete(id);
  relieveDependents(state, id);
}

function forgetDependencies(state: ScheduleState, ticket: Ticket): void {
  for (const dependency of ticket.depends_on) state.dependents.get(dependency)?.delete(ticket.id);
}

function blockByError(state: ScheduleState, id: string): void {
  const reached = [id];
  for (let next = reached.pop(); next !== undefined; next = reached.pop()) {
    const status = state.tickets.get(next)?.status;
    if (state.blockedByError.has(next) || status === "error" || status === "done") continue;
    state.blockedByError.add(next);
    for (const dependent of state.dependents.get(next) ?? []) reached.push(dependent);
  }
}

/** Removes the tickets from `blockedByError` that no longer wait for a ticket in error. Visits only tickets that may have changed. */
function relieve(state: ScheduleState, id: string): void {
  const reached = [id];
  for (let next = reached.pop(); next !== undefined; next = reached.pop()) {
    const ticket = state.tickets.get(next);
    if (!ticket || !state.blockedByError.has(next) || waitsForError(state, ticket)) continue;
    state.blockedByError.delete(next);
    for (const dependent of state.dependents.get(next) ?? []) reached.push(dependent);
  }
}

function relieveDependents(state: ScheduleState, id: string): void {
  for (const dependent of state.dependents.get(id) ?? []) relieve(state, dependent);
}

/** Whether a ticket depends on one in error, directly or not. */
function waitsForError(state: ScheduleState, { depends_on }: Ticket): boolean {
  return depends_on.some((one) => state.tickets.get(one)?.status === "error" || state.blockedByError.has(one));
}

function add<K>(counts: Map<K, number>, key: K, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount);
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
