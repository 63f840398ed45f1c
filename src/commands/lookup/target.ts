import { didYouMean } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import {
  requireStarted,
  chooseAnySession,
  chooseSession,
  chooseToChange,
  namedSession,
  runningSessions,
  sessionCalled,
  whyClosed,
} from "./choose.ts";
import { hasSubject, subjectWord } from "./modes.ts";
import { recordsOf } from "./state.ts";

/** A session, and a ticket of it if one was named. */
export interface Target {
  readonly row: SessionRow;
  readonly ticket_id?: string;
}

/** What is typed of a target. */
export interface TypedTarget {
  /** `[session] [ticket]`, of which either may be left out. */
  readonly words: readonly string[];
  /** The session by itself (`BY_SESSION`): then the words are at most the ticket. */
  readonly session?: string | undefined;
}

/** How a command lets the session be named where a ticket is called the same. */
export const BY_SESSION = ["--session <session>", "the session, where a ticket has the same name"] as const;

type Choose = (reader: StoreReader, named: string | undefined) => Result<SessionRow, Failure>;

/**
 * What `[session] [ticket]` means where either may be left out: two words are both; one word is a ticket of the session that is
 * meant without a name, else a session, else a ticket of the newest session. Failures as those of `choose`, and `not_found` with the
 * nearest for an unknown ticket.
 */
export function chooseTarget(reader: StoreReader, words: readonly string[], choose: Choose): Result<Target, Failure> {
  const [first, second] = words;
  if (first === undefined) return wholly(choose(reader, undefined));
  if (second !== undefined) {
    const row = namedSession(reader, first);
    return row.ok ? withTicket(reader, row.value, second) : row;
  }
  const usual = choose(reader, undefined);
  if (usual.ok && hasSubject(reader, usual.value, first)) return ok({ row: usual.value, ticket_id: first });
  const named = reader.session(first);
  // Where nothing is guessed, the beginning of a session's id is none if one that runs has a ticket of that name.
  const mayBeTicket = !usual.ok && runningSessions(reader).some((row) => hasSubject(reader, row, first));
  if (mayBeTicket && named.ok && named.value.session_id !== first) return usual;
  if (named.ok) return wholly(requireStarted(reader, named.value));
  if (named.error.code !== "not_found") return named;
  if (!usual.ok && usual.error.code !== "not_found") return usual;
  const newest = chooseAnySession(reader, undefined);
  if (newest.ok && hasSubject(reader, newest.value, first)) return ok({ row: newest.value, ticket_id: first });
  const meant = usual.ok ? usual : newest;
  return meant.ok
    ? withTicket(reader, meant.value, first, `There is no session ${JSON.stringify(first)}, and `)
    : named;
}

/** For looking: the same, but one word that is a session's whole id is that session, though a ticket is called so, too. */
export function chooseTargetToSee(
  reader: StoreReader,
  words: readonly string[],
  choose: Choose,
): Result<Target, Failure> {
  const [only, another] = words;
  const called = another === undefined ? sessionCalled(reader, only) : ok(undefined);
  if (!called.ok) return called;
  return called.value ? ok({ row: called.value }) : chooseTarget(reader, words, choose);
}

/** For changing something: the same, but one word that is a session's whole id and a ticket is `usage`, with what can be typed for either. */
export function chooseTargetToChange(
  reader: StoreReader,
  command: string,
  { words, session }: TypedTarget,
): Result<Target, Failure> {
  const [first, second] = words;
  if (session === undefined) {
    const ambiguous = second === undefined ? whyAmbiguous(reader, command, first) : ok(undefined);
    if (!ambiguous.ok) return ambiguous;
    return chooseTarget(reader, words, chooseToChange);
  }
  if (second !== undefined) {
    return err(
      failure("usage", "The session is named twice.", { hint: "With --session the only other name is the ticket." }),
    );
  }
  return first === undefined
    ? wholly(namedSession(reader, session))
    : chooseTarget(reader, [session, first], chooseToChange);
}

/** For what nobody can say to a closed session: as `chooseTargetToChange`, and `usage` for such a one. */
export function chooseOpenTarget(reader: StoreReader, command: string, typed: TypedTarget): Result<Target, Failure> {
  const target = chooseTargetToChange(reader, command, typed);
  const closed = target.ok ? whyClosed(reader, target.value.row, target.value.ticket_id) : undefined;
  return closed ? err(closed) : target;
}

function wholly(row: Result<SessionRow, Failure>): Result<Target, Failure> {
  return row.ok ? ok({ row: row.value }) : row;
}

/** Fails where a word is a session and a ticket of one that may be meant without a name. */
function whyAmbiguous(reader: StoreReader, command: string, word: string | undefined): Result<void, Failure> {
  const called = sessionCalled(reader, word);
  if (!called.ok) return called;
  const usual = chooseSession(reader, undefined);
  if (word === undefined || called.value === undefined || !usual.ok) return ok(undefined);
  const other = [usual.value, ...runningSessions(reader)].find((row) => hasSubject(reader, row, word));
  if (other === undefined) return ok(undefined);
  const { session_id } = other;
  return err(
    failure("usage", `${JSON.stringify(word)} is a session, and a ${subjectWord(other)} of ${session_id}.`, {
      hint: `The ${subjectWord(other)}: bosun ${command} ${session_id} ${word}. The session: bosun ${command} --session ${word}.`,
    }),
  );
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
