import { lstatSync } from "node:fs";
import os from "node:os";
import type { Closed } from "../agents/isolation/role-sandbox.ts";
import type { Launcher } from "../agents/launcher.ts";
import type { Agent } from "../kernel/agent.ts";
import type { MailRecord } from "../kernel/mailbox.ts";
import type { Lookup } from "../kernel/references.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { LogFolder } from "../log/writer.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { catchStorage } from "../store/storage-error.ts";
import type { Lease, Store } from "../store/store.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { TakeChild } from "./children/child.ts";
import { type Copies, copiesOf, type GitWith, placeOf, type SessionRepository } from "./copies/copies.ts";
import type { Clock } from "./time/clock.ts";
import { sessionPaths } from "./paths.ts";
import { MailboxFolder } from "./mailbox-folder.ts";
import { SessionRecords } from "./records.ts";
import type { SessionLease } from "./context.ts";
import type { NotificationHook } from "./notifications.ts";
import { withholderFor } from "./secrets.ts";
import { Session, type SessionSetup } from "./session.ts";
import type { TextFunctions } from "./text-functions.ts";
import { SteadyClock } from "./time/steady-clock.ts";

/** What all sessions of this process share. */
export interface Surroundings {
  readonly home: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly launcher: Launcher;
  readonly version: string;
  /** What sandboxes of a session close; absent in measurements. */
  readonly closedIn?: (session: Pick<Assembled<unknown>, "session_id" | "config" | "roles" | "workspace">) => Closed;
  readonly agentFor: (role: Role, config: ResolvedConfiguration, closed?: Closed) => Agent;
  /** What inputs of sessions may name as a function that makes one text of another. */
  readonly functions?: TextFunctions;
  /** False in measurements without log files. */
  readonly files: boolean;
  /** Runs `notify.command`; absent in measurements. */
  readonly notify?: NotificationHook;
  /** Creates and resumes child sessions; absent where there are none. */
  readonly childrenOf?: TakeChildOf;
  /** Needed for sessions with copies of a repository. */
  readonly gitWith?: GitWith;
  /** The lease of a child session's parent. Once it is lost, no child is taken. */
  readonly parent?: Lease;
}

/** The part of a session that its children inherit, and its lease. */
export interface Parent extends Pick<Assembled<unknown>, "session_id" | "config" | "roles" | "workspace"> {
  readonly lease: Lease;
  readonly copies?: Copies | undefined;
}

/** Makes the function that takes the children of a session. */
export type TakeChildOf = (around: Surroundings, parent: Parent) => TakeChild;

/** Runs `work` with the session's lease, and releases it if `work` fails. */
export async function withLease<T>(
  { home, store, clock, parent }: Surroundings,
  session_id: string,
  work: (lease: SessionLease) => Promise<Fallible<T>>,
): Promise<Fallible<T>> {
  const { log, folder } = sessionPaths(home, session_id);
  const own = attempt(log, () => {
    const link = [log, folder].find((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink());
    if (link === undefined) return ok(undefined);
    return fails("environment", `${link} is a symbolic link, and nothing is written through it.`, {
      hint: "Put the directory itself there. To keep sessions elsewhere, choose another home with --home.",
    });
  });
  if (!own.ok) return own;
  // Read before the lease is taken: messages put meanwhile are for this scheduler.
  const put_before = await catchStorage(async () => ok(store.inbox.pending(session_id).at(-1)?.id ?? 0));
  if (!put_before.ok) return put_before;
  const lease = await store.acquire(session_id, { pid: process.pid, host: os.hostname(), started_at: clock.now() });
  if (!lease.ok) return lease;
  const done = await catchStorage(async () => {
    const ours = parent ? store.confirm(parent) : ok(undefined);
    return ours.ok ? work({ ...lease.value, put_before: put_before.value }) : ours;
  });
  if (!done.ok) await store.release(lease.value);
  return done;
}

/** A session to assemble: new, or as its last scheduler left it. */
export interface Assembled<S>
  extends Pick<
    SessionSetup<S>,
    "session_id" | "engine" | "head" | "hashes" | "config" | "roles" | "workspace" | "opened_at" | "sent"
  > {
  /** Absent if agents work in the workspace itself. */
  readonly repository?: SessionRepository | undefined;
  /** The last record that has its file. */
  readonly published: number;
  readonly last_at?: Instant;
}

/** Assembles a session, after completing its log folder. Fails with `storage`, `storage_full` or `conflict`. */
export function assemble<S>(around: Surroundings, lease: SessionLease, made: Assembled<S>): Fallible<Session<S>> {
  const { store, launcher, notify } = around;
  const { published, last_at, repository, ...known } = made;
  const { session_id, config, roles, hashes } = known;
  const paths = sessionPaths(around.home, session_id);
  const log = around.files ? LogFolder.open(paths.log) : undefined;
  if (log && !log.ok) return log;
  const caughtUp = log?.value.catchUp(published + 1, (from) => store.sealed(session_id, from));
  if (caughtUp && !caughtUp.ok) {
    log?.value.close();
    return caughtUp;
  }
  crashPoint("caught_up");
  const records = new SessionRecords((sequence) => hashes.read(store, session_id, sequence), paths.folder);
  const mailbox = around.files ? mailboxFor(around, made, records) : undefined;
  const mailed = mailbox?.catchUp((from) => mailIn(store.records(session_id, from), from));
  if (mailed && !mailed.ok) {
    log?.value.close();
    return mailed;
  }
  const closed = around.closedIn?.(made);
  const place = repository && around.gitWith && placeOf(session_id, paths, repository, around.gitWith);
  const copies = place && copiesOf(place, known.workspace, repository);
  return ok(
    new Session<S>({
      ...known,
      store,
      lease,
      records,
      log: log?.value,
      mailbox,
      clock: new SteadyClock(around.clock, last_at),
      launcher,
      secrets: withholderFor(roles),
      paths,
      closed,
      agentFor: (role) => around.agentFor(role, config, closed),
      functions: around.functions,
      notify,
      copies,
      takeChild: around.childrenOf?.(around, { ...known, lease, copies }) ?? noChildren,
    }),
  );
}

/** The mailbox of a session whose mode has one. */
export function mailboxFor(
  { home }: Pick<Surroundings, "home">,
  { session_id, engine, opened_at }: Pick<Assembled<unknown>, "session_id" | "engine" | "opened_at">,
  records: Lookup,
): MailboxFolder | undefined {
  const { mailbox } = engine.mode;
  return mailbox && new MailboxFolder(home, engine, mailbox, { session_id, opened_at }, records);
}

/** Records with their sequences. */
export function* mailIn(lines: Iterable<string>, from: number): Generator<MailRecord> {
  let sequence = from;
  for (const line of lines) yield { ...(JSON.parse(line) as UnsealedRecord), sequence: sequence++ };
}

const noChildren: TakeChild = async (session_id) => {
  throw new Error(`the child session ${session_id} cannot begin here`);
};
