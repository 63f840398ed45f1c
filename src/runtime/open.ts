import os from "node:os";
import { endLeftovers } from "../agents/processes.ts";
import type { Launcher } from "../agents/launcher.ts";
import type { Agent, ProcessIdentity } from "../kernel/agent.ts";
import { applyToLedger, emptyLedger, type Ledger, LEDGER_COLLECTIONS, stampOf } from "../kernel/ledger.ts";
import type { Mode } from "../kernel/mode.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { GENESIS } from "../log/chain.ts";
import { writeReport } from "../log/report.ts";
import { LogFolder } from "../log/writer.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { SCHEMAS_DIGEST } from "../protocol/generated/digest.ts";
import type { PayloadByType, ResolvedConfiguration } from "../protocol/payload.ts";
import type { Actor, LogRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { embeddedQueue } from "../store/queue.ts";
import type { Lease, SessionRow, Store } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { Head } from "./journal.ts";
import { sessionPaths } from "./paths.ts";
import { SessionRecords } from "./records.ts";
import { type FactInput, personRefused } from "./facts.ts";
import { Session } from "./session.ts";

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
  const created = await store.create({
    session_id,
    mode: mode.name,
    workspace,
    created_at: clock.now(),
    ...(requirement === undefined ? {} : { requirement }),
  });
  if (!created.ok && !wasNeverBegun(store, mode.name, input)) return created;
  const lease = await acquire(around, session_id);
  if (!lease.ok) return lease;
  const opened_at = clock.now();
  const opened = put(around, mode, lease.value, {
    session_id,
    state: mode.empty(),
    ledger: emptyLedger(),
    head: { sequence: 0, hash: GENESIS },
    published: 0,
    config: input.config,
    roles: input.roles,
    workspace,
    opened_at,
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
  const { store } = around;
  const lease = await acquire(around, row.session_id);
  if (!lease.ok) return lease;
  const loaded = await store.load(row.session_id);
  if (!loaded.ok) return loaded;
  const state = mode.empty();
  const ledger = emptyLedger();
  const processes: (ProcessIdentity & { readonly id: string })[] = [];
  for (const { collection, id, value } of loaded.value.rows()) {
    if (collection === "process") processes.push({ ...(value as unknown as ProcessIdentity), id });
    else if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, { put: collection, id, value });
    else mode.apply(state, { put: collection, id, value });
  }
  const { session: current } = loaded.value;
  const opened = store.record(row.session_id, 1);
  if (opened === undefined) {
    await store.release(lease.value);
    return err(
      failure("not_found", `Session ${row.session_id} was never begun: it has no record.`, {
        hint: "Begin another: bosun run",
      }),
    );
  }
  const { payload, timestamp } = JSON.parse(opened) as { payload: PayloadByType["session_opened"]; timestamp: string };
  const survivors = await endLeftovers(processes, payload.config.kill_grace_s * 1000);
  if (survivors.length > 0) {
    await store.release(lease.value);
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
  const session = put(around, mode, lease.value, {
    session_id: row.session_id,
    state,
    ledger,
    head: { sequence: current.last_sequence, hash: current.head },
    published: current.published,
    config: payload.config,
    roles: payload.roles.map(withSecrets),
    workspace: payload.workspace,
    opened_at: timestamp,
  });
  if (!session.ok) return session;
  for (const { id } of processes) void session.value.keep({ drop: "process", id });
  if (ledger.figures.closed) {
    const written = writeReport(sessionPaths(around.home, row.session_id).folder, lastReport(store, current));
    if (!written.ok) return written;
  }
  recover(session.value, ledger, payload.config, lease.value.epoch, change);
  return session;
}

/** What the last close said: whoever died right after it may not have come to write it out. */
function lastReport(store: Store, { session_id, last_sequence }: SessionRow): JsonObject {
  for (let sequence = last_sequence; ; sequence -= 1) {
    const record = JSON.parse(store.record(session_id, sequence) ?? "null") as LogRecord | null;
    if (!record) throw new Error(`session ${session_id} is closed, but has no final report`);
    if (record.payload_type === "final_report") return record.payload;
  }
}

/** What the log must say of the take-over: which turns are repeated under which run, and which have been repeated too often. */
function recover<S>(
  session: Session<S>,
  ledger: Ledger,
  config: ResolvedConfiguration,
  epoch: number,
  change: { readonly limits?: JsonObject; readonly reopen?: string },
): void {
  if (change.reopen !== undefined) {
    session.submit({ source: "user", payload_type: "session_reopened", payload: { reason: change.reopen } });
    return;
  }
  if (ledger.figures.closed) return;
  const open = [...ledger.turns.values()].filter((turn) => turn.status === "open");
  const graceful = ledger.figures.stopped !== undefined;
  const spent = open.filter((turn) => !graceful && (turn.recoveries ?? 0) >= config.max_recoveries);
  for (const turn of spent) {
    session.submit({
      source: "scheduler",
      payload_type: "turn_failed",
      subject: turn.subject,
      turn: stampOf(turn),
      payload: {
        turn_id: turn.turn_id,
        code: "agent_failed",
        message: `The scheduler died ${config.max_recoveries + 1} times while this turn ran.`,
        resolution_hint: "See whether this work brings the machine down.",
        refused: [],
      },
    });
  }
  const turns = open
    .filter((turn) => !spent.includes(turn))
    .map((turn) => ({ turn_id: turn.turn_id, run: turn.run + 1 }));
  session.submit({
    source: "scheduler",
    payload_type: "session_recovered",
    payload: { graceful, epoch, turns, ...(change.limits ? { limits: change.limits } : {}) },
  });
}

function acquire({ store, clock }: Surroundings, session_id: string): Promise<Result<Lease, Failure>> {
  return store.acquire(session_id, { pid: process.pid, host: os.hostname(), started_at: clock.now() });
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
}

function put<S>(around: Surroundings, mode: Mode<S>, lease: Lease, made: Assembled<S>): Result<Session<S>, Failure> {
  const { store, clock, launcher } = around;
  const { session_id, config, roles } = made;
  const paths = sessionPaths(around.home, session_id);
  const log = around.files ? LogFolder.open(paths.log) : undefined;
  if (log && !log.ok) return log;
  const caughtUp = log?.value.catchUp(made.published + 1, (from) => store.sealed(session_id, from));
  if (caughtUp && !caughtUp.ok) return caughtUp;
  const capacity = { worker: config.max_workers, participant: config.max_workers, manager: Number.POSITIVE_INFINITY };
  return ok(
    new Session<S>({
      session_id,
      engine: { mode, state: made.state, ledger: made.ledger },
      head: made.head,
      store,
      lease,
      records: new SessionRecords((sequence) => store.record(session_id, sequence), paths.folder),
      log: log?.value,
      clock,
      launcher,
      paths,
      config,
      workspace: made.workspace,
      opened_at: made.opened_at,
      agentFor: (role) => around.agentFor(role, config),
      makeDispatcher: (isHeld) => new Dispatcher(roles, capacity, embeddedQueue(), isHeld),
    }),
  );
}

const SECRET_NAME = /key|token|secret|password|passwd|credential/i;
const WITHHELD = "[withheld]";

/** A role as it is recorded: values that look secret by their name stay out of the log. */
function withoutSecrets(role: Role): Role {
  if (!role.env) return role;
  const env = Object.entries(role.env).map(([name, value]) => [name, SECRET_NAME.test(name) ? WITHHELD : value]);
  return { ...role, env: Object.fromEntries(env) as Record<string, string> };
}

/** What the log withheld is looked up under the same name in the environment of whoever resumes. */
function withSecrets(role: Role): Role {
  if (!role.env) return role;
  const env = Object.entries(role.env).flatMap(([name, value]) => {
    if (value !== WITHHELD) return [[name, value]];
    const own = process.env[name];
    return own === undefined ? [] : [[name, own]];
  });
  return { ...role, env: Object.fromEntries(env) as Record<string, string> };
}
