import type { SessionState } from "../../kernel/state.ts";
import { ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { keptRecord } from "../../store/kept-record.ts";
import type { StoreReader } from "../../store/store.ts";
import { failedChecks } from "../../ui/failure-lines.ts";
import { type Ask, type ChildWaiting, type Waiting, waitingIn } from "../../ui/waiting.ts";
import { ticketValue } from "./schedule-state.ts";
import { valuesOf } from "./state.ts";

/** Everything a session needs a person for, from its stored state. */
export async function waitingOf(reader: StoreReader, session_id: string): Promise<Result<Waiting[], Failure>> {
  const needed = await neededOf(reader, session_id);
  return needed.ok ? ok([...needed.value.waiting]) : needed;
}

/** The same, with the roles that only a person can release. */
export async function neededOf(
  reader: StoreReader,
  session_id: string,
): Promise<Result<Omit<ChildWaiting, "session_id">, Failure>> {
  const stored = await reader.load(session_id);
  if (!stored.ok) return stored;
  const waiting = valuesOf(stored.value, "ask").flatMap((ask) => waitingFor(reader, session_id, ask));
  return ok({ waiting, holds: valuesOf(stored.value, "hold").filter(({ until }) => until === undefined) });
}

/** The same from a session's state. */
export function openAsks(reader: StoreReader, session_id: string, { asks }: Pick<SessionState, "asks">): Waiting[] {
  return [...asks.values()].flatMap((ask) => waitingFor(reader, session_id, ask));
}

/** What an ask still waits for. */
export function waitingFor(reader: StoreReader, session_id: string, ask: Ask): Waiting[] {
  const { payload } = keptRecord(reader, session_id, ask.record);
  return waitingIn(ask, payload, ask.kind === "review" ? failedOf(reader, session_id, ask.subject) : []);
}

/** The failed checks of work that needs a review. */
function failedOf(reader: StoreReader, session_id: string, ticket_id = ""): string[] {
  const ticket = ticketValue(reader, session_id, ticket_id);
  if (ticket?.check === undefined || ticket.checks_passed !== false) return [];
  return failedChecks(keptRecord(reader, session_id, ticket.check).payload);
}
