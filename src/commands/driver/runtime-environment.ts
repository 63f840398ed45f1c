import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { cliAgent } from "../../agents/cli/agent.ts";
import type { Launched, Launcher, SandboxPaths } from "../../agents/launcher.ts";
import { makePrompts, type Prompts } from "../../agents/prompts/prompts.ts";
import { embeddedLauncher } from "../../agents/embedded-launcher.ts";
import type { Agent } from "../../kernel/agent.ts";
import { explain } from "../../protocol/document/problem.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
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
import { loadMode } from "../lookup/modes.ts";
import { notificationFor } from "../presenters/notification.ts";

/** What the sessions of this process need from the outside, and a way to kill every program they started. */
export interface RuntimeEnvironment extends Surroundings {
  /** Sends SIGKILL to every process group that still exists. */
  readonly killAll: () => void;
}

/** How long the program of a notification may take, in ms. */
const NOTIFICATION_MS = 30_000;

export function runtimeEnvironment({ home, store }: OpenHome<Store>, context: CommandContext): RuntimeEnvironment {
  collectEarly();
  // A copy: reading `process.env` is a system call for each variable, and every turn reads them all.
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
    agentFor: (_role, config) => agentFor(launcher, home, config, environment),
  };
}

function agentFor(
  launcher: Launcher,
  home: string,
  config: ResolvedConfiguration,
  environment: CommandContext["environment"],
): Agent {
  return cliAgent({
    launcher,
    settings: {
      kill_grace_ms: config.kill_grace_s * 1000,
      answer_grace_ms: config.answer_grace_s * 1000,
      max_line_bytes: config.max_line_bytes,
      max_output_bytes: config.max_output_bytes,
      environment,
      redact: (text) => text,
      home: (session_id) => homePaths(home, session_id),
      ...promptsOf(config),
    },
  });
}

/** The prompts of a session that replaces built-in templates; they were checked when it began. */
function promptsOf({ prompts = {} }: ResolvedConfiguration): { readonly prompts?: Prompts } {
  const files = Object.entries(prompts).map(([name, text]) => ({ name, file: `prompts/${name}.md`, text }));
  if (files.length === 0) return {};
  const made = makePrompts(files);
  if (!made.ok) throw new Error(made.error.flatMap(explain).join("\n"));
  return { prompts: made.value };
}

/** Hides the record from sandboxed agents, and lets them read the folder of their own session. */
function homePaths(home: string, session_id: string): Pick<SandboxPaths, "hidden" | "readable"> {
  const database = databasePath(home);
  const { log, folder } = sessionPaths(home, session_id);
  return {
    hidden: [database, `${database}-wal`, `${database}-shm`, dirname(log), dirname(folder)],
    readable: [folder],
  };
}

/** The first and the longest pause between two looks for a process group that outlives its leader, in ms. */
const LOOK_AFTER_MS = 20;
const LONGEST_LOOK_MS = 1_000;

function watchedLauncher(inner: Launcher): { launcher: Launcher; killAll: () => void } {
  const running = new Set<Launched>();
  return {
    launcher: {
      ...inner,
      async launch(spec) {
        const launched = await inner.launch(spec);
        if (!launched.ok) return launched;
        const { value } = launched;
        running.add(value);
        void value.exited.then(async () => {
          await groupGone(value);
          running.delete(value);
        });
        return launched;
      },
    },
    // The number of a vanished group may belong to another program by now.
    killAll: () => {
      for (const launched of running) if (launched.groupLives()) launched.signalGroup("SIGKILL");
    },
  };
}

/**
 * Waits until the group is gone; the turn's supervisor ends it. The first look comes in a later turn of the event loop, since the table of
 * processes is read once a turn and may be older than the leader's last child.
 */
async function groupGone(launched: Launched): Promise<void> {
  let pause = LOOK_AFTER_MS;
  do {
    await delay(pause, undefined, { ref: false });
    pause = Math.min(pause * 2, LONGEST_LOOK_MS);
  } while (launched.groupLives());
}
