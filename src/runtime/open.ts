import os from "node:os";
import type { Launcher } from "../agents/launcher.ts";
import type { Agent, ProcessIdentity } from "../kernel/agent.ts";
import { applyToLedger, emptyLedger, type Ledger, LEDGER_COLLECTIONS } from "../kernel/ledger.ts";
import type { Mode } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { GENESIS } from "../log/chain.ts";
import { writeReport } from "../log/report.ts";
import { LogFolder } from "../log/writer.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { SCHEMAS_DIGEST } from "../protocol/generated/digest.ts";
import { refusalOfUnfit, unfitIn } from "../protocol/limits.ts";
import type { PayloadByType, ResolvedConfiguration } from "../protocol/payload.ts";
import type { Actor } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { keptRecord } from "../store/kept-record.ts";
import { embeddedQueue } from "../store/queue.ts";
import { catchStorage } from "../store/storage-error.ts";
import type { SessionRow, Store } from "../store/store.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { removePartialCopies } from "./artifacts.ts";
import type { Clock } from "./clock.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Held } from "./inbox.ts";
import type { Head } from "./journal.ts";
import { sessionPaths } from "./paths.ts";
import { SessionRecords } from "./records.ts";
import { type FactInput, personRefused } from "./facts.ts";
import { lastReport, recover } from "./recovery.ts";
import { withoutSecrets, withSecrets } from "./secrets.ts";
import { type NotifyTerms, TOLD, type Told } from "./notifications.ts";
import { Session } from "./session.ts";
import { SteadyClock } from "./steady-clock.ts";

/** What every session of this process works with. */
export interface Surroundings {
  readonly home: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly launcher: Launcher;
  readonly version: string;
  readonly agentFor: (role: Role, config: ResolvedConfiguration) => Agent;
  /** False where nobody wants a file for each record: measurements. */
  readonly files: boolean;
  /** How people are told of what happens; absent where nobody is: measurements. */
  readonly notify?: NotifyTerms;
}

/** How a session is begun; all of it is in its first record. */
export interface NewSessionInput {
  readonly session_id: string;
  readonly requirement?: string;
  readonly input?: JsonObject;
  readonly config: ResolvedConfiguration;
  readonly roles: readonly Role[];
  readonly workspace: string;
  readonly started_by: Actor;
  /** What is put to the session at once: the requirement, a plan of the person's own. */
  readonly facts: readonly Pick<FactInput, "payload_type" | "payload">[];
  /** Puts in place what the session needs beside its record. It is not begun if that fails. */
  readonly prepare?: () => Result<void, Failure>;
}

/** Begins a session. `busy` if the id is taken, `usage` for facts that cannot stand. Nothing is left of one that could not be begun. */
export async function createSession<S>(
  around: Surroundings,
  mode: Mode<S>,
  input: NewSessionInput,
): Promise<Result<Session<S>, Failure>> {
  const { store, clock } = around;
  const { session_id, requirement, workspace } = input;
  for (const fact of input.facts) {
    const refused = personRefused({ ...fact, source: "user" }, mode.rights);
    if (refused) return err(failure("usage", refused.message, { details: refused.details ?? {} }));
  }
  const { config, roles, started_by } = input;
  const unfit = unfitIn({ session_id, requirement, workspace, config, roles, started_by, input: input.input });
  if (unfit) {
    const { message, pointer } = refusalOfUnfit("session_opened", "usage", unfit);
    return err(failure("usage", `The session cannot be begun: ${message}`, { details: { pointer } }));
  }
  const created = await store.create({
    session_id,
    mode: mode.name,
    workspace,
    created_at: clock.now(),
    ...(requirement === undefined ? {} : { requirement }),
  });
  if (!created.ok && !wasNeverBegun(store, mode.name, input)) return created;
  crashPoint("session_created");
  return holding(around, session_id, async (lease) => {
    const prepared = input.prepare?.() ?? ok(undefined);
    return prepared.ok ? begin(around, mode, input, lease) : prepared;
  });
}

function begin<S>(
  around: Surroundings,
  mode: Mode<S>,
  input: NewSessionInput,
  lease: Held,
): Result<Session<S>, Failure> {
  const { session_id, requirement, workspace } = input;
  const opened_at = around.clock.now();
  const opened = put(around, mode, lease, {
    session_id,
    state: mode.empty(),
    ledger: emptyLedger(),
    head: { sequence: 0, hash: GENESIS },
    published: 0,
    config: input.config,
    roles: input.roles,
    workspace,
    opened_at,
    told: new Map(),
  });
  if (!opened.ok) return opened;
  const session = opened.value;
  session.submit({
    at: opened_at,
    source: "scheduler",
    payload_type: "session_opened",
    payload: {
      mode: mode.name,
      rules: mode.rules,
      version: around.version,
      config: input.config,
      roles: input.roles.map(withoutSecrets),
      schemas: { digest: SCHEMAS_DIGEST },
      workspace,
      started_by: { ...input.started_by },
      ...(requirement === undefined ? {} : { requirement }),
      ...(input.input ? { input: input.input } : {}),
    },
  });
  for (const fact of input.facts) session.submitFromPerson({ ...fact, source: "user", actor: input.started_by });
  return opened;
}

/** A scheduler that died before its first commit leaves a name and nothing under it: whoever comes with the same may have it. */
function wasNeverBegun(store: Store, mode: string, { session_id, workspace }: NewSessionInput): boolean {
  const found = store.session(session_id);
  if (!found.ok) return false;
  const { value: row } = found;
  return row.session_id === session_id && row.last_sequence === 0 && row.mode === mode && row.workspace === workspace;
}

/**
 * Takes up a session where it was left, ending first what a dead scheduler's agents left running. `busy` naming the holder,
 * `not_found`, `usage` for a session of another mode. A closed session is taken up without a record, only to be reopened.
 */
export async function resumeSession<S>(
  around: Surroundings,
  mode: Mode<S>,
  row: SessionRow,
  change: { readonly limits?: JsonObject; readonly reopen?: string } = {},
): Promise<Result<Session<S>, Failure>> {
  return holding(around, row.session_id, (lease) => takeUp(around, mode, row, change, lease));
}

async function takeUp<S>(
  around: Surroundings,
  mode: Mode<S>,
  row: SessionRow,
  change: { readonly limits?: JsonObject; readonly reopen?: string },
  lease: Held,
): Promise<Result<Session<S>, Failure>> {
  const { store } = around;
  const loaded = await store.load(row.session_id);
  if (!loaded.ok) return loaded;
  const state = mode.empty();
  const ledger = emptyLedger();
  const processes: (ProcessIdentity & { readonly id: string })[] = [];
  const told = new Map<string, Told>();
  for (const { collection, id, value } of loaded.value.rows()) {
    if (collection === "process") processes.push({ ...(value as unknown as ProcessIdentity), id });
    else if (collection === TOLD) told.set(id, value as unknown as Told);
    else if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, { put: collection, id, value });
    else mode.apply(state, { put: collection, id, value });
  }
  const { session: current } = loaded.value;
  if (current.last_sequence === 0) {
    return err(
      failure("not_found", `Session ${row.session_id} was never begun: it has no record.`, {
        hint: "Begin another: bosun run",
      }),
    );
  }
  const opened = keptRecord(store, row.session_id, 1);
  const payload = opened.payload as unknown as PayloadByType["session_opened"];
  const isOver = ledger.figures.closed !== undefined && change.reopen === undefined;
  const roles = isOver ? ok(payload.roles) : withSecrets(row.session_id, payload.roles, process.env);
  if (!roles.ok) return roles;
  const survivors = await around.launcher.endLeftovers(processes, payload.config.kill_grace_s * 1000, {
    session_id: row.session_id,
    folder: sessionPaths(around.home, row.session_id).folder,
  });
  crashPoint("leftovers_ended");
  if (survivors.length > 0) {
    return err(
      failure(
        "environment",
        `A program of the scheduler that died could not be ended: pid ${survivors.map(({ pid }) => pid).join(", ")}.`,
        {
          hint: "End it by hand, then resume again.",
        },
      ),
    );
  }
  const cleaned = removePartialCopies(sessionPaths(around.home, row.session_id).artifacts);
  if (!cleaned.ok) return cleaned;
  const session = put(around, mode, lease, {
    session_id: row.session_id,
    state,
    ledger,
    head: { sequence: current.last_sequence, hash: current.head },
    published: current.published,
    config: payload.config,
    roles: roles.value,
    workspace: payload.workspace,
    opened_at: opened.timestamp,
    last_at: keptRecord(store, row.session_id, current.last_sequence).record.received_at,
    told,
  });
  if (!session.ok) return session;
  for (const { id } of processes) void session.value.keep({ drop: "process", id });
  if (ledger.figures.closed) {
    const written = writeReport(sessionPaths(around.home, row.session_id).folder, lastReport(store, current));
    if (!written.ok) return written;
  }
  recover(session.value, ledger, payload, lease.epoch, change);
  crashPoint("recovery_decided");
  return session;
}

/** Does the work with the session held; whoever fails holds it no longer. */
async function holding<T>(
  { store, clock }: Surroundings,
  session_id: string,
  work: (lease: Held) => Promise<Result<T, Failure>>,
): Promise<Result<T, Failure>> {
  // Looked at first: what is put while the lease is being taken is already for this scheduler.
  const put_before = await catchStorage(async () => ok(store.inbox.pending(session_id).at(-1)?.id ?? 0));
  if (!put_before.ok) return put_before;
  const lease = await store.acquire(session_id, { pid: process.pid, host: os.hostname(), started_at: clock.now() });
  if (!lease.ok) return lease;
  const done = await catchStorage(() => work({ ...lease.value, put_before: put_before.value }));
  if (!done.ok) await store.release(lease.value);
  return done;
}

interface Assembled<S> {
  readonly session_id: string;
  readonly state: S;
  readonly ledger: Ledger;
  readonly head: Head;
  /** Every record up to this one is a file already. */
  readonly published: number;
  readonly config: ResolvedConfiguration;
  readonly roles: readonly Role[];
  readonly workspace: string;
  readonly opened_at: string;
  /** The time of the last record, if there is one. */
  readonly last_at?: Instant;
  readonly told: ReadonlyMap<string, Told>;
}

function put<S>(around: Surroundings, mode: Mode<S>, lease: Held, made: Assembled<S>): Result<Session<S>, Failure> {
  const { store, launcher } = around;
  const { session_id, config, roles } = made;
  const paths = sessionPaths(around.home, session_id);
  const log = around.files ? LogFolder.open(paths.log) : undefined;
  if (log && !log.ok) return log;
  const caughtUp = log?.value.catchUp(made.published + 1, (from) => store.sealed(session_id, from));
  if (caughtUp && !caughtUp.ok) return caughtUp;
  crashPoint("caught_up");
  const capacity = { worker: config.max_workers, participant: config.max_workers, manager: Number.POSITIVE_INFINITY };
  return ok(
    new Session<S>({
      session_id,
      engine: { mode, state: made.state, ledger: made.ledger },
      head: made.head,
      store,
      lease,
      records: new SessionRecords((sequence) => keptRecord(store, session_id, sequence), paths.folder),
      log: log?.value,
      clock: new SteadyClock(around.clock, made.last_at),
      launcher,
      paths,
      config,
      workspace: made.workspace,
      opened_at: made.opened_at,
      agentFor: (role) => around.agentFor(role, config),
      notify: around.notify,
      told: made.told,
      makeDispatcher: (isHeld) => new Dispatcher(roles, capacity, embeddedQueue(), isHeld),
    }),
  );
}
