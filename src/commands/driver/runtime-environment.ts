import { dirname } from "node:path";
import { embeddedLauncher } from "../../agents/embedded-launcher.ts";
import { type Closed, programsInside } from "../../agents/isolation/role-sandbox.ts";
import { watchedLauncher } from "../../agents/launcher.ts";
import { findUserConfiguration } from "../../config/found.ts";
import { stateFolder } from "../../config/home.ts";
import { gitDirectories } from "../../lib/git-directories.ts";
import { loadMode } from "../../modes/index.ts";
import { childSessions } from "../../runtime/children/child-sessions.ts";
import { systemClock } from "../../runtime/time/clock.ts";
import { collectEarly } from "../../runtime/memory.ts";
import type { Surroundings } from "../../runtime/assemble.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { databasePath } from "../../store/database.ts";
import type { Store } from "../../store/store.ts";
import { invocationName } from "../context/invocation.ts";
import type { CommandContext } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { programVersion } from "../context/program.ts";
import { cliAgentOf } from "../examination/cli-agent.ts";
import { notificationFor } from "../presenters/notification.ts";

/** What the sessions of this process need from outside, and a way to kill every program they started. */
export interface RuntimeEnvironment extends Surroundings {
  /** Sends SIGKILL to every process group that still exists. */
  readonly killAll: () => void;
}

/** Timeout of a notification program, in ms. */
const NOTIFICATION_MS = 30_000;

export function runtimeEnvironment({ home, store }: OpenHome<Store>, context: CommandContext): RuntimeEnvironment {
  collectEarly();
  // A copy, because reading `process.env` is a system call for each variable, and every turn reads them all.
  const environment = { ...context.environment };
  const program = invocationName(context, "elsewhere");
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
    closedIn: (session) => closedIn(home, session, environment),
    agentFor: (_role, config, closed) => cliAgentOf(launcher, config, environment, closed),
  };
}

/** Hides the state folder and the record from sandboxes, shows them their session's folder, and keeps programs and settings of others as they are. */
function closedIn(
  home: string,
  { session_id, config, roles, workspace }: Parameters<NonNullable<Surroundings["closedIn"]>>[0],
  environment: CommandContext["environment"],
): Closed {
  const database = databasePath(home);
  const { log, folder } = sessionPaths(home, session_id);
  const { own, common } = gitDirectories(workspace);
  const user = findUserConfiguration(environment);
  const settings = user.ok && user.value ? [{ path: user.value.folder, role_id: "user" }] : [];
  const notifier = { role_id: "user", cli_command: config.notify?.command ?? [] };
  return {
    hidden: [stateFolder(environment), database, `${database}-wal`, `${database}-shm`, dirname(log), dirname(folder)],
    readable: [folder],
    owned: [...settings, ...programsInside([...roles, notifier], workspace, environment.PATH)],
    git: [own, common],
  };
}
