import { err, ok, type Result } from "../../lib/result.ts";
import { type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";
import { neverBegun } from "../../store/failures.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { wordsOf } from "../../ui/words.ts";
import { finalReport } from "./tickets.ts";

/** What a session is not when it can still be worked on. */
const CLOSED = "closed";

/** How a command names its `[session]`: for `chooseSession`, for `chooseToChange`, and for `chooseAnySession`. */
const NAMED = "its id or the beginning of it (default: the one that runs, else the newest";
export const OPEN_SESSION = ["[session]", `${NAMED} that is not closed)`] as const;
export const CHANGED_SESSION = [
  "[session]",
  "its id or the beginning of it (default: the only one that runs; where none does, the newest that is not closed)",
] as const;
export const ANY_SESSION = ["[session]", `${NAMED})`] as const;

/**
 * The session that is meant: by id or unique prefix; without one the only one that runs now, else the newest that is not closed.
 * Failures: `not_found`, `usage` for a prefix that several have.
 */
export function chooseSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  if (named !== undefined) return namedSession(reader, named);
  const isOpen = (row: SessionRow) => row.state !== CLOSED && isBegun(row);
  const chosen = onlyRunning(reader) ?? reader.sessions({ parent: null }).find(isOpen);
  if (chosen !== undefined) return ok(chosen);
  return err(
    failure("not_found", "There is no session that is not closed.", {
      hint: "`bosun status` lists the sessions; name one, or begin another with `bosun run`.",
    }),
  );
}

/** For changing something: as `chooseSession`, but `usage` where several run and none is named. What cannot be taken back is not guessed. */
export function chooseToChange(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  const candidates = named === undefined ? runningSessions(reader).map(({ session_id }) => session_id) : [];
  if (candidates.length < 2) return chooseSession(reader, named);
  return err(
    failure("usage", `More than one session runs: ${candidates.join(", ")}.`, {
      hint: "Name the one that is meant.",
      details: { candidates },
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
  return row.ok ? requireStarted(reader, row.value) : row;
}

/** The session that has exactly this name already, where a new one is to have it; undefined if none has. */
export function sessionCalled(reader: StoreReader, name: string | undefined): Result<SessionRow | undefined, Failure> {
  if (name === undefined) return ok(undefined);
  const row = reader.session(name);
  if (!row.ok) return isOfStorage(row.error) ? row : ok(undefined);
  return ok(row.value.session_id === name && isBegun(row.value) ? row.value : undefined);
}

export function requireStarted(reader: StoreReader, row: SessionRow): Result<SessionRow, Failure> {
  if (isBegun(row) || reader.holder(row.session_id) !== undefined) return ok(row);
  if (row.parent === null) return err(neverBegun(row));
  const parent = reader.session(row.parent);
  if (!parent.ok) return parent;
  // It is begun with its parent, while that is open.
  return parent.value.state === CLOSED ? err(neverBegun(row)) : ok(row);
}

/** Those that somebody runs, newest first. */
export function runningSessions(reader: StoreReader): SessionRow[] {
  const open = reader.sessions({ parent: null }).filter((row) => row.state !== CLOSED && isBegun(row));
  return open.filter((row) => reader.holder(row.session_id) !== undefined);
}

/** The one that somebody runs; undefined if that is none or several. */
function onlyRunning(reader: StoreReader): SessionRow | undefined {
  const [only, another] = runningSessions(reader);
  return another === undefined ? only : undefined;
}

/** One whose beginning failed is a name with nothing under it, which nobody can mean. */
export function isBegun({ last_sequence }: SessionRow): boolean {
  return last_sequence > 0;
}

/** For looking: as `chooseSession`, but without a name the one that runs, else the newest of all, closed or not. */
export function chooseAnySession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  if (named !== undefined) return namedSession(reader, named);
  const chosen = onlyRunning(reader) ?? reader.sessions({ parent: null }).find(isBegun);
  return chosen === undefined ? chooseSession(reader, named) : ok(chosen);
}

/** For going on: as `chooseSession`, but where nothing is open the newest closed one, which shows how it ended or is opened again. */
export function chooseLastSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  return orClosed(reader, named, chooseSession(reader, named));
}

/** For changing something that a closed session may be open to, or tells more of: as `chooseToChange`, else as `chooseLastSession`. */
export function chooseLastToChange(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  return orClosed(reader, named, chooseToChange(reader, named));
}

function orClosed(
  reader: StoreReader,
  named: string | undefined,
  chosen: Result<SessionRow, Failure>,
): Result<SessionRow, Failure> {
  const isNone = named === undefined && !chosen.ok && chosen.error.code === "not_found";
  return isNone ? chooseAnySession(reader, named) : chosen;
}

/** For what nobody can say to one that is closed: as `chooseToChange`, and `usage` for such a one. */
export function chooseOpenSession(reader: StoreReader, named: string | undefined): Result<SessionRow, Failure> {
  const row = chooseToChange(reader, named);
  const closed = row.ok ? whyClosed(reader, row.value) : undefined;
  return closed ? err(closed) : row;
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
