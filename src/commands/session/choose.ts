import { err, ok, type Result } from "../../lib/result.ts";
import { type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { neverBegun } from "../../store/failures.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { wordsOf } from "../../ui/words.ts";
import { hasSubject, subjectWord } from "./modes.ts";
import { recordsOf } from "./state.ts";
import { finalReport } from "./tickets.ts";

/** What a session is not when it can still be worked on. */
const CLOSED = "closed";

/** How a command names its `[session]`: for `chooseSession`, and for `chooseAnySession`. */
const NAMED = "its id or the beginning of it (default: the one that runs, else the newest";
export const OPEN_SESSION = ["[session]", `${NAMED} that is not closed)`] as const;
export const ANY_SESSION = ["[session]", `${NAMED})`] as const;

/**
 * The session that is meant: by id or unique prefix; without one the only one that runs now, else the newest that is not closed.
 * Failures: `not_found`, `usage` for a prefix that several have.
 */
export function chooseSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  if (named !== undefined) return namedSession(reader, named);
  const open = reader.sessions({ parent: null }).filter((row) => row.state !== CLOSED && isBegun(row));
  const [newest] = open;
  const only = liveAmong(reader, open) ?? newest;
  if (only !== undefined) return ok(only);
  return err(
    failure("not_found", "There is no session that is not closed.", {
      hint: "`bosun status` lists the sessions; name one, or begin another with `bosun run`.",
    }),
  );
}

/** By id or unique prefix, whatever has become of it; where there is none the nearest is told. */
export function findSession(reader: StoreReader, named: string): Result<SessionRow, Failure> {
  const row = reader.session(named);
  if (row.ok || row.error.code !== "not_found") return row;
  const ids = reader.sessions({ parent: null }).map(({ session_id }) => session_id);
  return err({ ...row.error, message: row.error.message + didYouMean(named, ids) });
}

/** The same. One that nobody will ever begin is told as that, whatever is wanted of it. */
export function namedSession(reader: StoreReader, named: string): Result<SessionRow, Failure> {
  const row = findSession(reader, named);
  return row.ok ? begunOrToBegin(reader, row.value) : row;
}

/** The session that has exactly this name already, where a new one is to have it; undefined if none has. */
export function sessionCalled(reader: StoreReader, name: string | undefined): Result<SessionRow | undefined, Failure> {
  if (name === undefined) return ok(undefined);
  const row = reader.session(name);
  if (!row.ok) return isOfStorage(row.error) ? row : ok(undefined);
  return ok(row.value.session_id === name && isBegun(row.value) ? row.value : undefined);
}

function begunOrToBegin(reader: StoreReader, row: SessionRow): Result<SessionRow, Failure> {
  if (isBegun(row) || reader.holder(row.session_id) !== undefined) return ok(row);
  if (row.parent === null) return err(neverBegun(row));
  const parent = reader.session(row.parent);
  if (!parent.ok) return parent;
  // It is begun with its parent, while that is open.
  return parent.value.state === CLOSED ? err(neverBegun(row)) : ok(row);
}

/** The one that somebody runs; undefined if that is none or several. */
function liveAmong(reader: StoreReader, open: readonly SessionRow[]): SessionRow | undefined {
  const [only, another] = open.filter((row) => reader.holder(row.session_id) !== undefined);
  return another === undefined ? only : undefined;
}

/** One whose beginning failed is a name with nothing under it, which nobody can mean. */
export function isBegun({ last_sequence }: SessionRow): boolean {
  return last_sequence > 0;
}

/** For looking: as `chooseSession`, but without a name the one that runs, else the newest of all, closed or not. */
export function chooseAnySession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  if (named !== undefined) return namedSession(reader, named);
  const begun = reader.sessions({ parent: null }).filter(isBegun);
  const [newest] = begun;
  const open = begun.filter((row) => row.state !== CLOSED);
  const chosen = liveAmong(reader, open) ?? newest;
  return chosen === undefined ? chooseSession(reader, named) : ok(chosen);
}

/** For going on: as `chooseSession`, but where nothing is open the newest closed one, which shows how it ended or is opened again. */
export function chooseLastSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  const chosen = chooseSession(reader, named);
  return chosen.ok || named !== undefined ? chosen : chooseAnySession(reader, named);
}

/** For what nobody can say to one that is closed: as `chooseSession`, and `usage` for such a one. */
export function chooseOpenSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  const row = chooseSession(reader, named);
  const closed = row.ok ? whyClosed(reader, row.value) : undefined;
  return closed ? err(closed) : row;
}

/** A session, and a ticket of it if one was named. */
export interface Target {
  readonly row: SessionRow;
  readonly ticket_id?: string;
}

/**
 * What `[session] [ticket]` means where either may be left out: two words are both; one word is a ticket of the session that is
 * meant without a name, else a session, else a ticket of the newest session. Failures as `chooseSession`, and `not_found` with the
 * nearest for an unknown ticket.
 */
export function chooseTarget(
  reader: StoreReader,
  words: readonly string[],
  choose: (reader: StoreReader, named: string | undefined) => Result<SessionRow, Failure> = chooseSession,
): Result<Target, Failure> {
  const [first, second] = words;
  if (first === undefined) {
    const row = choose(reader, undefined);
    return row.ok ? ok({ row: row.value }) : row;
  }
  if (second !== undefined) {
    const row = namedSession(reader, first);
    return row.ok ? withTicket(reader, row.value, second) : row;
  }
  const usual = choose(reader, undefined);
  if (usual.ok && hasSubject(reader, usual.value, first)) return ok({ row: usual.value, ticket_id: first });
  const named = reader.session(first);
  if (named.ok) {
    const row = begunOrToBegin(reader, named.value);
    return row.ok ? ok({ row: row.value }) : row;
  }
  if (named.error.code !== "not_found") return named;
  const newest = chooseAnySession(reader, undefined);
  if (newest.ok && hasSubject(reader, newest.value, first)) return ok({ row: newest.value, ticket_id: first });
  const meant = usual.ok ? usual : newest;
  return meant.ok
    ? withTicket(reader, meant.value, first, `There is no session ${JSON.stringify(first)}, and `)
    : named;
}

/** For what nobody can say to a closed session: as `chooseTarget`, and `usage` for such a one. */
export function chooseOpenTarget(reader: StoreReader, words: readonly string[]): Result<Target, Failure> {
  const target = chooseTarget(reader, words);
  const closed = target.ok ? whyClosed(reader, target.value.row, target.value.ticket_id) : undefined;
  return closed ? err(closed) : target;
}

/** Why nothing can be said to a session, or about that ticket of it; undefined if it is not closed. */
export function whyClosed(
  reader: StoreReader,
  { session_id, state, outcome, last_sequence }: SessionRow,
  ticket_id?: string,
): Failure | undefined {
  if (state !== CLOSED) return undefined;
  const about = ticket_id === undefined ? "" : ` of ${JSON.stringify(ticket_id)}`;
  const failed = ticketsInError(finalReport(reader, session_id, last_sequence));
  return failure("usage", `The session ${session_id}${about} is closed: ${outcome ?? "it has ended"}.`, {
    hint:
      failed.length > 0
        ? `A ticket in error can be tried again: bosun retry ${session_id} ${failed.find((id) => id === ticket_id) ?? "TICKET"}.`
        : `It cannot be opened again. What it came to: bosun resume ${session_id}.`,
  });
}

function ticketsInError(report: JsonObject = {}): string[] {
  const tickets = listOf(report.tickets).map(objectOf);
  return tickets.filter(({ status }) => status === "error").map(({ ticket_id }) => wordsOf(ticket_id));
}

function withTicket(reader: StoreReader, row: SessionRow, ticket_id: string, lead = ""): Result<Target, Failure> {
  if (hasSubject(reader, row, ticket_id)) return ok({ row, ticket_id });
  const question = didYouMean(ticket_id, ticketIds(reader, row.session_id));
  const word = subjectWord(row);
  return err(
    failure(
      "not_found",
      `${lead || "The session "}${row.session_id} has no ${word} ${JSON.stringify(ticket_id)}.${question}`,
      { hint: `\`bosun status ${row.session_id}\` lists its ${word}s.` },
    ),
  );
}

function ticketIds(reader: StoreReader, session_id: string): Set<string> {
  const ids = new Set<string>();
  for (const record of recordsOf(reader, session_id, 1)) for (const id of ticketsIn(record)) ids.add(id);
  return ids;
}

/** The tickets that a record is about, or moved: a plan makes them before anything is about one. */
export function ticketsIn({ record: { ticket_id, effects = [] } }: LogRecord): string[] {
  return [...(ticket_id === undefined ? [] : [ticket_id]), ...effects.map((effect) => effect.ticket_id)];
}
