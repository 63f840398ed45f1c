import { err, ok } from "../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import { GENESIS } from "../protocol/record.ts";
import type { Database } from "./database.ts";
import type { NewSession, Owner, SessionChanges, SessionFilter, SessionRow } from "./store.ts";

/** A valid folder name on every system: not hidden, not a path, and short enough to append a child's `.<sequence>`. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;

const COLUMNS = `session_id, mode, state, outcome, requirement, workspace, parent, created_at, updated_at,
  last_sequence, head, published, epoch`;

const NOW = "strftime('%Y-%m-%dT%H:%M:%fZ')";

/** Maximum number of candidates that the failure of an ambiguous prefix names. */
const MAX_CANDIDATES = 5;

/** How a commit advances a session. */
export interface Advance {
  readonly session: number;
  readonly epoch: number;
  /** The last sequence before the commit. */
  readonly expected: number;
  readonly last_sequence: number;
  /** Null leaves it unchanged. */
  readonly head: string | null;
}

/** The queries of `sessions`. Inside the database, an integer key stands for a session's id. */
export function sessionQueries(database: Database) {
  const insert = database.prepare<[Pick<SessionRow, "requirement" | "parent" | "head">]>(
    `INSERT INTO sessions (session_id, mode, requirement, workspace, parent, created_at, updated_at, head)
     VALUES (:session_id, :mode, :requirement, :workspace, :parent, :created_at, :created_at, :head)
     ON CONFLICT (session_id) DO NOTHING`,
  );
  const key = database.prepare<[string], number>("SELECT session FROM sessions WHERE session_id = ?").pluck();
  const byId = database.prepare<[string], SessionRow>(`SELECT ${COLUMNS} FROM sessions WHERE session_id = ?`);
  // The id column ignores case, so the index serves this range in any case of the prefix.
  const byPrefix = database.prepare<[string, string, number], SessionRow>(
    `SELECT ${COLUMNS} FROM sessions WHERE session_id >= ? AND session_id < ? ORDER BY session_id LIMIT ?`,
  );
  const owner = database.prepare<[string], Owner>(
    `SELECT owner_pid AS pid, owner_host AS host, owner_started_at AS started_at FROM sessions
     WHERE session_id = ? AND owner_pid IS NOT NULL`,
  );
  const take = database
    .prepare<[number, string, string, number], number>(
      `UPDATE sessions SET epoch = epoch + 1, owner_pid = ?, owner_host = ?, owner_started_at = ?
       WHERE session = ? RETURNING epoch`,
    )
    .pluck();
  const epoch = database.prepare<[number], number>("SELECT epoch FROM sessions WHERE session = ?").pluck();
  const leave = database.prepare<[number, number]>(
    `UPDATE sessions SET owner_pid = NULL, owner_host = NULL, owner_started_at = NULL WHERE session = ? AND epoch = ?`,
  );
  // Null leaves a column unchanged. An outcome can also be set to null, so a flag says whether it is set.
  const advance = database.prepare<[Advance & Record<keyof SessionChanges | "sets_outcome", string | number | null>]>(
    `UPDATE sessions SET last_sequence = :last_sequence, head = coalesce(:head, head), updated_at = ${NOW},
       state = coalesce(:state, state), published = coalesce(:published, published),
       outcome = iif(:sets_outcome, :outcome, outcome)
     WHERE session = :session AND epoch = :epoch AND last_sequence = :expected`,
  );

  return {
    /** False if the id is taken. */
    insert(session: NewSession): boolean {
      const { requirement = null, parent = null } = session;
      return insert.run({ ...session, requirement, parent, head: GENESIS }).changes === 1;
    },
    key: (session_id: string): number | undefined => key.get(session_id),
    byId: (session_id: string): SessionRow | undefined => byId.get(session_id),
    /** The recorded owner, alive or dead. */
    owner: (session_id: string): Owner | undefined => owner.get(session_id),
    /** Records the new owner and returns the new epoch. */
    take: (session: number, by: Owner): number => take.get(by.pid, by.host, by.started_at, session) as number,
    epoch: (session: number): number => epoch.get(session) as number,
    leave: (session: number, epoch: number): void => void leave.run(session, epoch),
    /** Returns false and changes nothing if the epoch or the last sequence is not the expected one. */
    advance(step: Advance, { state, outcome, published }: SessionChanges): boolean {
      const row = { state: state ?? null, outcome: outcome ?? null, published: published ?? null };
      return advance.run({ ...step, ...row, sets_outcome: outcome === undefined ? 0 : 1 }).changes === 1;
    },
    list: (filter: SessionFilter): SessionRow[] => list(database, filter),
    find(id_or_prefix: string, isTrashed: (row: SessionRow) => boolean): Fallible<SessionRow> {
      const exact = byId.get(id_or_prefix);
      if (exact !== undefined) return isTrashed(exact) ? err(inTrash(exact)) : ok(exact);
      const found =
        id_or_prefix === "" ? [] : byPrefix.all(id_or_prefix, `${id_or_prefix}\u{10FFFF}`, MAX_CANDIDATES + 1);
      const shown = found.filter((row) => !isTrashed(row));
      const [only] = shown;
      if (only === undefined) return err(found[0] ? inTrash(found[0]) : unknownSession(id_or_prefix));
      return shown.length === 1 ? ok(only) : err(ambiguous(id_or_prefix, shown));
    },
  };
}

/** Fails with `usage` for an id that cannot name a folder. */
export function checkSessionId(session_id: string): Fallible<void> {
  if (SESSION_ID.test(session_id) && !session_id.endsWith(".")) return ok(undefined);
  return fails("usage", `${JSON.stringify(session_id.slice(0, 200))} is not a valid session id.`, {
    hint: "Use up to 120 letters, digits, dots, dashes and underscores; begin with a letter or digit and do not end with a dot.",
  });
}

/** The failure for an unknown session: `not_found`. */
export function unknownSession(session_id: string): Failure {
  return failure("not_found", `There is no session ${JSON.stringify(session_id)} in this home.`, {
    hint: "`bosun status` lists the sessions; --home chooses another home.",
  });
}

function inTrash({ session_id }: SessionRow): Failure {
  const hint = `bosun rm --restore ${session_id}`;
  return failure("not_found", `The session ${session_id} is in the trash of this home.`, { hint });
}

function ambiguous(prefix: string, found: readonly SessionRow[]): Failure {
  const candidates = found.slice(0, MAX_CANDIDATES).map((row) => row.session_id);
  const more = found.length > MAX_CANDIDATES ? ", …" : "";
  return failure(
    "usage",
    `More than one session begins with ${JSON.stringify(prefix)}: ${candidates.join(", ")}${more}.`,
    { hint: "Type more of its id.", details: { candidates } },
  );
}

function list(database: Database, { parent }: SessionFilter): SessionRow[] {
  const rows = (where: string, ...values: string[]) =>
    database
      .prepare<string[], SessionRow>(`SELECT ${COLUMNS} FROM sessions ${where} ORDER BY session DESC`)
      .all(...values);
  if (parent === undefined) return rows("");
  return parent === null ? rows("WHERE parent IS NULL") : rows("WHERE parent = ?", parent);
}
