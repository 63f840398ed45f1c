import type { Json, JsonObject } from "../../src/lib/json.ts";
import { err, ok } from "../../src/lib/result.ts";
import { type Failure, failure, type Fallible } from "../../src/protocol/failure.ts";
import { type Actor, GENESIS, type LogRecord, type SealedRecord } from "../../src/protocol/record.ts";
import type { Instant } from "../../src/protocol/timestamp.ts";
import { checkSessionId, unknownSession } from "../../src/store/sessions.ts";
import type {
  ArtifactRow,
  Commit,
  InboxRow,
  Lease,
  NewSession,
  Owner,
  SessionFilter,
  SessionRow,
  Store,
  TakenRow,
} from "../../src/store/store.ts";

interface StoredRow {
  row: SessionRow;
  holder: { readonly connection: number; readonly owner: Owner } | undefined;
  readonly records: SealedRecord[];
  readonly state: Map<string, Map<string, string>>;
  readonly artifacts: ArtifactRow[];
  readonly inbox: InboxRow[];
  readonly taken: Map<number, TakenRow>;
}

/** Called with every successful commit, at once. */
export type CommitListener = (lease: Lease, commit: Commit) => void;

/** A database in memory that outlives the schedulers. Each scheduler has its own connection. */
export class MemoryDatabase {
  readonly #sessions = new Map<string, StoredRow>();
  readonly #now: () => Instant;
  #connections = 0;
  #writes = 0;
  #rowId = 0;
  onCommit: CommitListener = () => {};

  constructor(now: () => Instant) {
    this.#now = now;
  }

  /** A connection like that of a process: it has its own locks, and `kill` drops them as the end of a process does. */
  connect(): Store & { kill(): void } {
    this.#connections += 1;
    const connection = this.#connections;
    let own = 0;
    const kill = (): void => {
      for (const session of this.#sessions.values()) {
        if (session.holder?.connection === connection) session.holder = undefined;
      }
    };
    const holds = ({ holder, row }: StoredRow, { epoch }: Lease): boolean =>
      holder?.connection === connection && row.epoch === epoch;
    const rowsOf = (session_id: string) => this.#sessions.get(session_id.toLowerCase());
    const inbox = {
      pending: (session_id: string) => [...(rowsOf(session_id)?.inbox ?? [])],
      put: async (session_id: string, body: JsonObject, actor: Actor) => this.put(session_id, body, actor),
      outcome: (session_id: string, id: number) => {
        const session = rowsOf(session_id);
        return session?.inbox.some((row) => row.id === id) ? undefined : (session?.taken.get(id) ?? {});
      },
    };
    return {
      kill,
      inbox,
      close: kill,
      location: "memory",
      snapshot: (read) => read(),
      version: () => this.#writes - own,
      create: async (session) => this.#create(session),
      acquire: async (session_id, owner) => this.#acquire(session_id, owner, connection),
      release: async (lease) => {
        const session = rowsOf(lease.session_id);
        if (session && holds(session, lease)) session.holder = undefined;
      },
      commit: async (lease, commit) => {
        const session = rowsOf(lease.session_id);
        if (!session || !holds(session, lease)) return err(stale(lease.session_id));
        const done = this.#commit(session, lease, commit);
        if (done.ok) own += 1;
        return done;
      },
      confirm(lease) {
        const session = rowsOf(lease.session_id);
        return session && holds(session, lease) ? ok(undefined) : err(stale(lease.session_id));
      },
      async load(session_id) {
        const session = rowsOf(session_id);
        if (!session) return err(unknownSession(session_id));
        return ok({ session: session.row, rows: (collection?: string) => rowsIn(session.state, collection) });
      },
      record: (session_id, sequence) => rowsOf(session_id)?.records[sequence - 1]?.line,
      payloadType: (session_id, sequence) => rowsOf(session_id)?.records[sequence - 1]?.payload_type,
      newest: (session_id, types, subject) =>
        (rowsOf(session_id)?.records ?? [])
          .filter((one) => types.includes(one.payload_type) && (subject === undefined || one.subject === subject))
          .slice(-50)
          .toReversed()
          .map(({ line }) => line),
      *records(session_id, from, to) {
        for (const { line } of recordsOf(rowsOf(session_id), from, to)) yield line;
      },
      sealed: (session_id, from, to) => recordsOf(rowsOf(session_id), from, to),
      sessions: (filter = {}) => this.#list(filter),
      session: (id_or_prefix) => this.#find(id_or_prefix),
      holder: (session_id) => rowsOf(session_id)?.holder?.owner,
      value: (session_id, collection, id) => {
        const text = rowsOf(session_id)?.state.get(collection)?.get(id);
        return text === undefined ? undefined : (JSON.parse(text) as Json);
      },
      artifacts: (session_id) => [...(rowsOf(session_id)?.artifacts ?? [])],
    };
  }

  /** Takes a session from its holder without asking, as a lease on another machine would. The holder finds out when it writes. */
  takeFromHolder(session_id: string): void {
    const session = this.#sessions.get(session_id.toLowerCase());
    if (session) session.holder = undefined;
  }

  put(session_id: string, body: JsonObject, actor: Actor): Fallible<number> {
    const session = this.#sessions.get(session_id.toLowerCase());
    if (!session) return err(unknownSession(session_id));
    this.#writes += 1;
    this.#rowId += 1;
    session.inbox.push({ id: this.#rowId, body: copy(body), actor });
    return ok(this.#rowId);
  }

  /** Every session, in the order of creation. */
  get rows(): readonly SessionRow[] {
    return [...this.#sessions.values()].map(({ row }) => row);
  }

  /** The stored rows of a collection, as text for comparing. */
  texts(session_id: string, collection: string): ReadonlyMap<string, string> {
    return this.#sessions.get(session_id.toLowerCase())?.state.get(collection) ?? new Map<string, string>();
  }

  record(session_id: string, sequence: number): LogRecord | undefined {
    const line = this.#sessions.get(session_id.toLowerCase())?.records[sequence - 1]?.line;
    return line === undefined ? undefined : (JSON.parse(line) as LogRecord);
  }

  /** The latest final report. */
  lastReport(session_id: string): JsonObject | undefined {
    for (let sequence = this.lastSequence(session_id); sequence > 0; sequence--) {
      const record = this.record(session_id, sequence);
      if (record?.payload_type === "final_report") return record.payload;
    }
    return undefined;
  }

  lastSequence(session_id: string): number {
    return this.#sessions.get(session_id.toLowerCase())?.row.last_sequence ?? 0;
  }

  #create(session: NewSession): Fallible<void> {
    const { session_id, mode, workspace, created_at, requirement = null, parent = null } = session;
    const named = checkSessionId(parent ?? session_id);
    if (!named.ok) return named;
    const key = session_id.toLowerCase();
    if (this.#sessions.has(key)) return err(failure("busy", `There is a session ${session_id} already.`));
    this.#writes += 1;
    this.#sessions.set(key, {
      row: {
        session_id,
        mode,
        workspace,
        requirement,
        parent,
        created_at,
        updated_at: created_at,
        state: "created",
        outcome: null,
        last_sequence: 0,
        head: GENESIS,
        published: 0,
        epoch: 0,
      },
      holder: undefined,
      records: [],
      state: new Map(),
      artifacts: [],
      inbox: [],
      taken: new Map(),
    });
    return ok(undefined);
  }

  #acquire(session_id: string, owner: Owner, connection: number): Fallible<Lease> {
    const session = this.#sessions.get(session_id.toLowerCase());
    if (!session) return err(unknownSession(session_id));
    if (session.holder) {
      const { pid, host, started_at } = session.holder.owner;
      return err(
        failure("busy", `The session ${session_id} is held by process ${pid} on ${host} since ${started_at}.`, {
          details: { pid, host, started_at },
        }),
      );
    }
    this.#writes += 1;
    session.row = { ...session.row, epoch: session.row.epoch + 1 };
    session.holder = { connection, owner };
    return ok({ session_id: session.row.session_id, epoch: session.row.epoch });
  }

  #commit(session: StoredRow, lease: Lease, commit: Commit): Fallible<void> {
    const { expected, records, changes, artifacts = [], taken = [] } = commit;
    for (const [index, { sequence }] of records.entries()) {
      const belongs = expected + 1 + index;
      if (sequence !== belongs) throw new Error(`Record ${sequence} was committed where ${belongs} belongs.`);
    }
    if (session.row.last_sequence !== expected) return err(stale(lease.session_id));
    session.records.push(...records);
    for (const change of changes) {
      if ("put" in change) collectionOf(session.state, change.put).set(change.id, JSON.stringify(change.value));
      else session.state.get(change.drop)?.delete(change.id);
    }
    session.artifacts.push(...artifacts);
    for (const row of taken) {
      const at = session.inbox.findIndex(({ id }) => id === row.id);
      if (at >= 0 && session.inbox.splice(at, 1).length > 0) session.taken.set(row.id, row);
    }
    session.row = {
      ...session.row,
      ...commit.session,
      last_sequence: expected + records.length,
      head: records.at(-1)?.hash ?? session.row.head,
      updated_at: this.#now(),
    };
    this.#writes += 1;
    this.onCommit(lease, commit);
    return ok(undefined);
  }

  #list({ parent }: SessionFilter): SessionRow[] {
    return this.rows.toReversed().filter((row) => parent === undefined || row.parent === parent);
  }

  #find(id_or_prefix: string): Fallible<SessionRow> {
    const wanted = id_or_prefix.toLowerCase();
    const exact = this.#sessions.get(wanted);
    if (exact) return ok(exact.row);
    const keys = wanted === "" ? [] : [...this.#sessions.keys()].filter((key) => key.startsWith(wanted)).toSorted();
    const found = keys.flatMap((key) => this.#sessions.get(key)?.row ?? []);
    const [only] = found;
    if (!only) return err(unknownSession(id_or_prefix));
    if (found.length === 1) return ok(only);
    const candidates = found.slice(0, 5).map((row) => row.session_id);
    return err(failure("usage", `More than one session begins with ${id_or_prefix}.`, { details: { candidates } }));
  }
}

function* rowsIn(state: StoredRow["state"], wanted?: string) {
  for (const collection of wanted === undefined ? [...state.keys()].toSorted() : [wanted]) {
    for (const [id, text] of [...(state.get(collection) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      yield { collection, id, value: JSON.parse(text) as Json };
    }
  }
}

function* recordsOf(session: StoredRow | undefined, from: number, to = Number.MAX_SAFE_INTEGER) {
  for (let sequence = from; sequence <= to; sequence++) {
    const found = session?.records[sequence - 1];
    if (!found) return;
    yield found;
  }
}

function collectionOf(state: StoredRow["state"], name: string): Map<string, string> {
  const found = state.get(name);
  if (found) return found;
  const made = new Map<string, string>();
  state.set(name, made);
  return made;
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function stale(session_id: string): Failure {
  return failure("stale_lease", `The session ${session_id} is no longer this process's to write.`);
}
