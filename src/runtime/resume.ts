import type { ProcessIdentity } from "../kernel/agent.ts";
import type { Change, Mode } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { writeDocument, writeReport } from "../log/report.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import { neverBegun } from "../store/failures.ts";
import { keptRecord, lastReport } from "../store/kept-record.ts";
import type { Conversation } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import type { SessionRow } from "../store/store.ts";
import { removePartialCopies } from "./turns/artifacts.ts";
import { checkRecords } from "./checked-records.ts";
import { sessionPaths } from "./paths.ts";
import { recover } from "./recovery.ts";
import { withSecrets } from "./secrets.ts";
import { NOTIFIED, type SentNotification } from "./notifications.ts";
import type { Session } from "./session.ts";
import { recoverCopies } from "./copies/recover.ts";
import { checkedState, madeByOthers } from "./replayed-state.ts";
import { valuesOf } from "./stored-state.ts";
import { assemble, type Assembled, type Surroundings, withLease } from "./assemble.ts";

/** The changes that a resume makes to the session. */
export interface ResumeTerms {
  readonly limits?: JsonObject;
  /** Why a closed session is reopened. */
  readonly reopen?: string;
  /** The session is resumed only to be closed, so no role starts and no secrets are needed. */
  readonly ends?: true;
  /** The session's roles with their secrets, if the caller has them. */
  readonly roles?: readonly Role[];
}

/**
 * Resumes a session, after ending the processes that a dead scheduler left. Fails with `busy`, naming the holder, `not_found`, `usage` for a
 * session of another mode, or `environment` for missing secrets, processes that do not end, or rows and rules of another version. A closed session
 * gets no record unless it is reopened.
 *
 * The order matters. Refusals come before anything irreversible: no process is ended for a session that cannot resume. Files are mended once
 * no leftover process can write to them. The session is assembled last, since its log is then open and nothing may fail any more. Its first
 * commit holds the records of the resume.
 */
export async function resumeSession<S>(
  around: Surroundings,
  mode: Mode<S>,
  { session_id }: SessionRow,
  change: ResumeTerms = {},
): Promise<Fallible<Session<S>>> {
  return withLease(around, session_id, async (lease) => {
    const read = await readLeft(around, mode, session_id);
    if (!read.ok) return read;
    const left = read.value;
    const { made, opened, conversing } = left;
    const roles = rolesOf(left, change);
    if (!roles.ok) return roles;
    const ended = await endPrograms(around, made, left.programs);
    if (!ended.ok) return ended;
    const mended = mendFiles(around, left);
    if (!mended.ok) return mended;
    const recovered = await recoverCopies(around, left.row, opened);
    if (!recovered.ok) return recovered;
    const reopened = change.reopen !== undefined;
    const session = assemble(around, { ...lease, reopened }, { ...made, roles: roles.value });
    if (!session.ok) return session;
    const { value: resumed } = session;
    for (const one of left.rewrite) void resumed.keep(one);
    for (const { id } of left.programs) void resumed.keep({ drop: "process", id });
    recover((input) => resumed.submit(input), resumed.ledger, opened, lease.epoch, { ...change, conversing });
    for (const id of conversing.keys()) void resumed.keep({ drop: "conversing", id });
    crashPoint("recovery_decided");
    return session;
  });
}

/** A session as its last scheduler left it. */
interface Left<S> {
  /** Its roles have no secrets. */
  readonly made: Assembled<S>;
  readonly row: SessionRow;
  readonly opened: PayloadByType["session_opened"];
  /** Replaces its rows, if they are of another version. */
  readonly rewrite: readonly Change[];
  /** What it had begun and not seen end, with the process of each that has one. */
  readonly programs: readonly (Partial<ProcessIdentity> & { readonly id: string })[];
  /** The conversations that programs had begun, by turn. */
  readonly conversing: ReadonlyMap<string, Conversation>;
}

async function readLeft<S>(
  { home, store }: Surroundings,
  mode: Mode<S>,
  session_id: string,
): Promise<Fallible<Left<S>>> {
  const loaded = await store.load(session_id);
  if (!loaded.ok) return loaded;
  const { session: row } = loaded.value;
  if (row.last_sequence === 0) return err(neverBegun(row));
  const hashes = checkRecords(store, row, sessionPaths(home, session_id).log);
  const checked = checkedState(store, loaded.value, mode);
  if (checked === undefined) return err(madeByOthers(store, session_id, mode));
  const { state, ledger, rewrite } = checked;
  const first = keptRecord(store, session_id, 1);
  const opened = first.payload as unknown as PayloadByType["session_opened"];
  const { config, roles, workspace, repository } = opened;
  return ok({
    made: {
      session_id,
      engine: { mode, state, ledger },
      head: { sequence: row.last_sequence, hash: row.head },
      hashes,
      published: Math.min(row.published, row.last_sequence),
      config,
      roles,
      workspace,
      repository,
      opened_at: first.timestamp,
      last_at: keptRecord(store, session_id, row.last_sequence).record.received_at,
      sent: valuesOf<SentNotification>(loaded.value, NOTIFIED),
    },
    row,
    opened,
    rewrite,
    programs: Array.from(valuesOf<Partial<ProcessIdentity>>(loaded.value, "process"), ([id, one]) => ({ ...one, id })),
    conversing: valuesOf<Conversation>(loaded.value, "conversing"),
  });
}

/** The roles, with their secrets unless no role will start. */
function rolesOf<S>({ made }: Left<S>, change: ResumeTerms): Fallible<readonly Role[]> {
  if (change.roles) return ok(change.roles);
  const { session_id, engine, roles } = made;
  const isOver = change.ends === true || (engine.ledger.figures.closed !== undefined && change.reopen === undefined);
  return isOver ? ok(roles) : withSecrets(session_id, roles, process.env);
}

/** Ends the processes that a dead scheduler or command left: these, and those that can be told by their environment. */
export async function endPrograms(
  { home, launcher }: Pick<Surroundings, "home" | "launcher">,
  { session_id, config }: Pick<Assembled<unknown>, "session_id" | "config">,
  programs: readonly Partial<ProcessIdentity>[] = [],
): Promise<Fallible<void>> {
  const { folder } = sessionPaths(home, session_id);
  const processes = programs.flatMap(({ pid, started }) => (pid && started !== undefined ? { pid, started } : []));
  const survivors = await launcher.endLeftovers(processes, config.kill_grace_s * 1000, { session_id, folder });
  crashPoint("leftovers_ended");
  if (survivors.length === 0) return ok(undefined);
  const pids = survivors.map(({ pid }) => pid).join(", ");
  return fails("environment", `Processes of the dead scheduler could not be ended: pid ${pids}.`, {
    hint: "End them, then resume again.",
  });
}

/** Removes partial copies. Writes the report of a closed session, whose scheduler may have died before writing it. */
function mendFiles<S>({ home, store }: Surroundings, { made: { engine, roles }, row }: Left<S>): Fallible<void> {
  const { folder, artifacts } = sessionPaths(home, row.session_id);
  const cleaned = removePartialCopies(artifacts);
  const { presentation } = engine.mode;
  if (!cleaned.ok || !engine.ledger.figures.closed) return cleaned;
  const report = lastReport(store, row);
  const written = writeReport(folder, report, presentation, roles);
  return written.ok && row.parent === null
    ? writeDocument(row.workspace, report, presentation, { replaces: false })
    : written;
}
