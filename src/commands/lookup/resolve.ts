import { didYouMean } from "../../lib/nearest.ts";
import { err, ok } from "../../lib/result.ts";
import { fails, type Failure, failure, type Fallible, isOfStorage } from "../../protocol/failure.ts";
import { neverBegun } from "../../store/failures.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { readerOf } from "../../modes/index.ts";
import { hasSubject, subjectWord } from "./modes.ts";
import { recordsOf } from "../../store/kept-record.ts";
import { ticketsIn } from "./state.ts";
import { finalReport } from "./view.ts";

/** How a command looks up a session. A named session is always found; the policy decides what is meant otherwise. */
export interface Policy {
  /** Nothing that cannot be undone is guessed: refused if several sessions run, or if a word names a session and a ticket. */
  readonly changes?: true;
  /**
   * Closed sessions: `refused`, even by name; only found by name (the default); also the newest closed one, if none is open (`last`); the
   * only running session, else the newest of all, open or not (`newest`); the newest of all, even if an older one runs (`latest`).
   */
  readonly closed?: "refused" | "last" | "newest" | "latest";
  /** A ticket is required, so a word that is a ticket's id names the ticket. */
  readonly ticket?: true;
}

/** To show any session. */
export const SHOW: Policy = { closed: "newest" };
/** To watch a session: of several that run, none is guessed. */
export const WATCH: Policy = { changes: true, closed: "newest" };
/** To show what an open session waits for. */
export const SHOW_OPEN: Policy = {};
/** To continue a session: a wrong guess does no harm. */
export const RESUME: Policy = { closed: "last" };
/** To change a session, open or closed. */
export const CHANGE: Policy = { changes: true };
export const CHANGE_LAST: Policy = { changes: true, closed: "last" };
export const CHANGE_OPEN: Policy = { changes: true, closed: "refused" };
/** To retry tickets: never those of a session that is older than the latest. */
export const RETRY: Policy = { changes: true, closed: "latest", ticket: true };

/** Help texts for `[session]`, by the default. */
const NAMED = "its id or the beginning of it (default: the";
export const ANY_SESSION = ["[session]", `${NAMED} running one, else the newest)`] as const;
export const OPEN_SESSION = ["[session]", `${NAMED} running one, else the newest that is not closed)`] as const;
export const CHANGED_SESSION = ["[session]", `${NAMED} only running one, else the newest that is not closed)`] as const;

/** How to name a session if a ticket has the same name. */
export const BY_SESSION = ["--session <session>", "the session, where a ticket has the same name"] as const;

/** A session, and a ticket of it if one was named. */
export interface Target {
  readonly row: SessionRow;
  readonly ticket_id?: string;
}

/** What names a session: its id, or words that may also name a ticket. */
export type Typed = string | undefined | TargetWords;

/** `[session] [ticket]` as typed, either of which may be missing; with `--session`, at most the ticket. */
interface TargetWords {
  readonly words: readonly string[];
  readonly session?: string | undefined;
  /** The command, for hints. */
  readonly command: string;
}

/**
 * The session with this id or unique prefix; without a name, the only running one, else the newest that the policy allows. Failures:
 * `not_found`; `usage` for an ambiguous prefix, several running sessions (`details.candidates`) or a closed one that is refused.
 */
export function resolveSession(reader: StoreReader, named: string | undefined, policy: Policy): Fallible<SessionRow> {
  const target = resolveTarget(reader, named, policy);
  return target.ok ? ok(target.value.row) : target;
}

/**
 * Resolves words to a session and a ticket. Two words name both. One word is a ticket of the default session, else a session, else a ticket
 * of the newest session; unless a ticket is required, a session's whole id is that session. Failures as `resolveSession`; `not_found` with
 * the nearest for an unknown ticket; `usage` for a word that names a session and a ticket.
 */
export function resolveTarget(reader: StoreReader, typed: Typed, policy: Policy): Fallible<Target> {
  const target = targetOf(reader, typed, policy);
  const closed =
    target.ok && policy.closed === "refused" ? whyClosed(reader, target.value.row, target.value.ticket_id) : undefined;
  return closed ? err(closed) : target;
}

function targetOf(reader: StoreReader, typed: Typed, policy: Policy): Fallible<Target> {
  if (typed === undefined) return whole(unnamedSession(reader, policy));
  if (typeof typed === "string") return whole(namedSession(reader, typed));
  const { words, session, command } = typed;
  const [first, second, more] = session === undefined ? words : [session, ...words];
  if (first === undefined) return whole(unnamedSession(reader, policy));
  if (more !== undefined) {
    const hint = "With --session the only other name is the ticket.";
    return fails("usage", "The session is named twice.", { hint });
  }
  if (second !== undefined || session !== undefined) {
    const row = namedSession(reader, first);
    return second === undefined || !row.ok ? whole(row) : withTicket(reader, row.value, second);
  }
  if (policy.ticket !== true) {
    const exact = sessionCalled(reader, first);
    if (!exact.ok) return exact;
    if (exact.value !== undefined) {
      const ambiguous = policy.changes === true ? whyAmbiguous(reader, command, first) : undefined;
      return ambiguous ? err(ambiguous) : ok({ row: exact.value });
    }
  }
  return oneWord(reader, first, command, policy);
}

function oneWord(reader: StoreReader, word: string, command: string, policy: Policy): Fallible<Target> {
  const usual = unnamedSession(reader, policy);
  if (usual.ok && hasSubject(reader, usual.value, word)) return ok({ row: usual.value, ticket_id: word });
  const named = reader.session(word);
  // If nothing may be guessed, a session's prefix does not count if a running session has a ticket of that name.
  const mayBeTicket = !usual.ok && runningSessions(reader).some((row) => hasSubject(reader, row, word));
  if (mayBeTicket && named.ok && named.value.session_id !== word) return usual;
  if (named.ok) return whole(requireStarted(reader, named.value));
  if (named.error.code !== "not_found") return named;
  if (!usual.ok && usual.error.code !== "not_found") return usual;
  const newest = policy.closed === "latest" ? usual : unnamedSession(reader, SHOW);
  if (newest.ok && hasSubject(reader, newest.value, word)) return ok({ row: newest.value, ticket_id: word });
  const meant = usual.ok ? usual : newest;
  if (!meant.ok) return named;
  const older = sessionWith(reader, word);
  const row = meant.value;
  if (older === undefined) return withTicket(reader, row, word, `There is no session ${JSON.stringify(word)}, and `);
  const what = `The session ${row.session_id} has no ${subjectWord(row)} ${JSON.stringify(word)}; ${older.session_id} has one.`;
  return fails("usage", what, { hint: `That one: bosun ${command} ${older.session_id} ${word}.` });
}

/** The newest session of this home that has a ticket with this name. */
export function sessionWith(reader: StoreReader, word: string): SessionRow | undefined {
  return reader.sessions({ parent: null }).find((row) => isBegun(row) && hasSubject(reader, row, word));
}

function unnamedSession(reader: StoreReader, { changes, closed }: Policy): Fallible<SessionRow> {
  const running = runningSessions(reader);
  if (changes === true && running.length > 1) {
    const candidates = running.map(({ session_id }) => session_id);
    return fails("usage", `Several sessions are running: ${candidates.join(", ")}.`, {
      hint: "Name one of them.",
      details: { candidates },
    });
  }
  const begun = reader.sessions({ parent: null }).filter(isBegun);
  const open = closed === "newest" ? undefined : begun.find(({ state }) => state !== "closed");
  const newest = closed === "newest" || closed === "last" ? begun[0] : undefined;
  const chosen = closed === "latest" ? begun[0] : ((running.length === 1 ? running[0] : undefined) ?? open ?? newest);
  if (chosen !== undefined) return ok(chosen);
  return fails("not_found", "There is no open session.", {
    hint: "`bosun status` lists the sessions; name one, or begin another with `bosun run`.",
  });
}

function namedSession(reader: StoreReader, named: string): Fallible<SessionRow> {
  const row = findSession(reader, named);
  return row.ok ? requireStarted(reader, row.value) : row;
}

/** The session with this id or unique prefix, begun or not; `not_found` names the nearest. */
export function findSession(reader: StoreReader, named: string): Fallible<SessionRow> {
  const row = reader.session(named);
  if (row.ok || row.error.code !== "not_found") return row;
  const ids = reader.sessions({ parent: null }).map(({ session_id }) => session_id);
  return err({ ...row.error, message: row.error.message + didYouMean(named, ids) });
}

/** The session with exactly this id; undefined if there is none. */
export function sessionCalled(reader: StoreReader, name: string | undefined): Fallible<SessionRow | undefined> {
  if (name === undefined) return ok(undefined);
  const row = reader.session(name);
  if (!row.ok) return isOfStorage(row.error) ? row : ok(undefined);
  return ok(row.value.session_id === name && isBegun(row.value) ? row.value : undefined);
}

/** A session without records counts only while its owner, or its open parent, may still begin it. */
function requireStarted(reader: StoreReader, row: SessionRow): Fallible<SessionRow> {
  if (isBegun(row) || reader.holder(row.session_id) !== undefined) return ok(row);
  if (row.parent === null) return err(neverBegun(row));
  const parent = reader.session(row.parent);
  if (!parent.ok) return parent;
  return parent.value.state === "closed" ? err(neverBegun(row)) : ok(row);
}

/** The sessions that have an owner, newest first. */
export function runningSessions(reader: StoreReader): SessionRow[] {
  const open = reader.sessions({ parent: null }).filter((row) => row.state !== "closed" && isBegun(row));
  return open.filter((row) => reader.holder(row.session_id) !== undefined);
}

/** Whether a session has records: one that failed to begin is only a name. */
export function isBegun({ last_sequence }: SessionRow): boolean {
  return last_sequence > 0;
}

/** Why a closed session, or a ticket of it, takes no message; undefined if it is not closed. */
export function whyClosed(
  reader: StoreReader,
  { session_id, mode, state, outcome, last_sequence }: SessionRow,
  ticket_id?: string,
): Failure | undefined {
  if (state !== "closed") return undefined;
  const about = ticket_id === undefined ? "" : ` of ${JSON.stringify(ticket_id)}`;
  const report = finalReport(reader, session_id, last_sequence) ?? {};
  const failed = readerOf(mode)?.presentation.worthRetrying?.(report) ?? [];
  const noun = subjectWord({ mode });
  return failure("usage", `The session ${session_id}${about} is closed: ${outcome ?? "it has ended"}.`, {
    hint:
      failed.length > 0
        ? `A failed ${noun} can be tried again: bosun retry ${session_id} ${failed.find((id) => id === ticket_id) ?? noun.toUpperCase()}.`
        : `It cannot be opened again. To see its result: bosun resume ${session_id}.`,
  });
}

function whole(row: Fallible<SessionRow>): Fallible<Target> {
  return row.ok ? ok({ row: row.value }) : row;
}

/** Why a session's id is ambiguous: it is also a ticket of a session that may be meant without a name. */
function whyAmbiguous(reader: StoreReader, command: string, word: string): Failure | undefined {
  const usual = unnamedSession(reader, SHOW_OPEN);
  if (!usual.ok) return undefined;
  const other = [usual.value, ...runningSessions(reader)].find((row) => hasSubject(reader, row, word));
  if (other === undefined) return undefined;
  const { session_id } = other;
  return failure("usage", `${JSON.stringify(word)} is a session, and a ${subjectWord(other)} of ${session_id}.`, {
    hint: `The ${subjectWord(other)}: bosun ${command} ${session_id} ${word}. The session: bosun ${command} --session ${word}.`,
  });
}

function withTicket(reader: StoreReader, row: SessionRow, ticket_id: string, lead = "Session "): Fallible<Target> {
  if (hasSubject(reader, row, ticket_id)) return ok({ row, ticket_id });
  const { session_id } = row;
  const known = new Set([...recordsOf(reader, session_id, 1)].flatMap(ticketsIn));
  const noun = subjectWord(row);
  const what = `${lead}${session_id} has no ${noun} ${JSON.stringify(ticket_id)}.${didYouMean(ticket_id, known)}`;
  return fails("not_found", what, { hint: `\`bosun status ${session_id}\` lists its ${noun}s.` });
}
