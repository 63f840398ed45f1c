import { basename, dirname } from "node:path";
import { embeddedLauncher } from "../../agents/embedded-launcher.ts";
import { tellingChanges } from "../../agents/workspace-look.ts";
import { type Closed, programsInside } from "../../agents/isolation/role-sandbox.ts";
import { watchedLauncher } from "../../agents/launcher.ts";
import { findUserConfiguration } from "../../config/found.ts";
import { stateFolder } from "../../config/home.ts";
import { gitIn } from "../../lib/git.ts";
import { gitDirectories } from "../../lib/git-directories.ts";
import { ok } from "../../lib/result.ts";
import { loadMode } from "../../modes/index.ts";
import type { Surroundings } from "../../runtime/assemble.ts";
import { childSessions } from "../../runtime/children/child-sessions.ts";
import { recordedEnd } from "../../runtime/exit.ts";
import { collectEarly } from "../../runtime/memory.ts";
import type { Notification, ReadableSession } from "../../runtime/notifications.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { systemClock } from "../../runtime/time/clock.ts";
import { databasePath } from "../../store/database.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import { clipped, safeJson, safeText } from "../../ui/display.ts";
import { causeLines, headline } from "../../ui/ending.ts";
import { commandFor, holdSentence, linesFor, oneOfEachAccount, releasesOf, type Waiting } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { invocationName } from "../context/invocation.ts";
import { programVersion } from "../context/program.ts";
import { agentsOf } from "../examination/agents.ts";
import { waitingFor } from "../lookup/view.ts";
import { answersTo, buildEnding, snapshotOf } from "../presenters/ending.ts";

/** What the sessions of this process need from outside, and a way to kill every program they started. */
export interface RuntimeEnvironment extends Surroundings {
  /** Sends SIGKILL to every process group that still exists. */
  readonly killAll: () => void;
}

/** Timeout of a notification program, in ms. */
const NOTIFICATION_MS = 30_000;

/** In columns. */
const ABOUT_WIDTH = 100;

export function runtimeEnvironment({ home, store }: OpenHome<Store>, context: CommandContext): RuntimeEnvironment {
  collectEarly();
  // A copy, because reading `process.env` is a system call for each variable, and every turn reads them all.
  const environment = { ...context.environment };
  const program = invocationName(context, "elsewhere");
  const withChanges = tellingChanges(environment, ownPlaces(home));
  const { launcher, killAll } = watchedLauncher(embeddedLauncher(environment.PATH));
  return {
    home,
    store,
    clock: systemClock,
    launcher,
    killAll,
    version: programVersion(),
    files: true,
    notify: {
      message: (session, notification) => notificationFor(program, home, store, session, notification),
      timeout_ms: NOTIFICATION_MS,
    },
    childrenOf: childSessions(loadMode),
    gitWith: (own) => gitIn({ ...environment, ...own }),
    closedIn: (session) => closedIn(home, session, environment),
    agentFor: (role, config, closed) => withChanges(agentsOf(launcher, config, environment, closed)(role)),
  };
}

/** What the scheduler writes in a home. */
function ownPlaces(home: string): string[] {
  const database = databasePath(home);
  const { log, folder } = sessionPaths(home, "any");
  return [database, `${database}-wal`, `${database}-shm`, dirname(log), dirname(folder)];
}

/** Hides the state folder and the record from sandboxes, shows them their session's folder, and keeps programs and settings of others as they are. */
function closedIn(
  home: string,
  { session_id, config, roles, workspace }: Parameters<NonNullable<Surroundings["closedIn"]>>[0],
  environment: CommandContext["environment"],
): Closed {
  const { folder } = sessionPaths(home, session_id);
  const { own, common } = gitDirectories(workspace);
  const user = findUserConfiguration(environment);
  const settings = user.ok && user.value ? [{ path: user.value.folder, role_id: "user" }] : [];
  const commands = [config.notify?.command ?? [], ...Object.values(config.hooks ?? {})];
  const persons = commands.map((cli_command) => ({ role_id: "user", cli_command }));
  return {
    hidden: [stateFolder(environment), ...ownPlaces(home)],
    readable: [folder],
    owned: [...settings, ...programsInside([...roles, ...persons], workspace, environment.PATH)],
    git: [own, common],
  };
}

/**
 * The input of the `notify` program, one line of JSON: what the reporters would show, and the next commands, which call `program`. Undefined
 * if the questions are answered by now.
 */
export function notificationFor(
  program: string,
  home: string,
  store: StoreReader,
  session: ReadableSession,
  { event, asks, holds, again }: Notification,
): string | undefined {
  const { session_id } = session;
  const about =
    event === "question"
      ? aboutQuestions(program, store, session_id, asks)
      : event === "hold"
        ? aboutHolds(session_id, holds)
        : aboutEnd(program, home, store, session);
  if (about === undefined) return undefined;
  const { message, next, ...more } = about;
  const said = {
    message: [aboutLine(store, session_id), ...message].filter(Boolean).join("\n"),
    ...more,
    next: next.map((command) => localize({ program }, command)),
  };
  return safeJson({ event, session_id, home, ...said, ...(again ? { again } : {}) });
}

/** The repository and the requirement, because a notification may be all that a person sees. */
function aboutLine(store: StoreReader, session_id: string): string {
  const row = store.session(session_id);
  if (!row.ok) throw new StorageError(row.error);
  const { workspace, requirement, mode } = row.value;
  return clipped(`${basename(workspace)}: ${requirement ?? mode}`, ABOUT_WIDTH);
}

function aboutQuestions(program: string, store: StoreReader, session_id: string, asks: Notification["asks"]) {
  const questions = asks.flatMap((ask) => waitingFor(store, session_id, ask));
  if (questions.length === 0) return undefined;
  const message = [`${session_id} needs a person:`, ...questions.flatMap((one) => needLines(program, session_id, one))];
  return { message, questions, next: answersTo(session_id, questions) };
}

/** What is needed, and the command that provides it. */
function needLines(program: string, session_id: string, waiting: Waiting): string[] {
  const [sentence, ...details] = linesFor(waiting, { program });
  const command = localize({ program }, commandFor(session_id, waiting));
  return [sentence, ...[...details, command].map((line) => `  ${line}`)];
}

function aboutHolds(session_id: string, holds: Notification["holds"]) {
  const first = oneOfEachAccount(holds);
  const unending = first.filter(({ until }) => until === undefined);
  return {
    message: first.map((hold) => `${session_id}: ${holdSentence(hold)}`),
    holds,
    next: [...releasesOf(session_id, unending), `bosun status ${session_id}`],
  };
}

/** Without child sessions, which notify by themselves. */
function aboutEnd(program: string, home: string, store: StoreReader, session: ReadableSession) {
  const value = recordedEnd(session.ledger.figures);
  if (value === undefined) return undefined;
  const { session_id } = session;
  const ending = buildEnding(home, snapshotOf(store, session), { end: ok(value) });
  const { state, outcome, waiting: questions, report, log, next } = ending;
  const message = [
    headline(ending),
    ...causeLines(ending, { program, width: Number.POSITIVE_INFINITY, style: (_, text) => text }),
    ending.cause === undefined ? localize({ program }, safeText(ending.message ?? "")) : "",
    ...questions.flatMap((one) => needLines(program, session_id, one)),
  ].filter(Boolean);
  const { kind, reason } = value;
  return { message, state, outcome, reason, ...(kind === "closed" ? {} : { questions }), report, log, next };
}
