import { resolve } from "node:path";
import type { Command } from "commander";
import { execa } from "execa";
import { isDirectory } from "../lib/files.ts";
import { stateHome } from "../config/home.ts";
import { bosunProgram, crewProgram } from "../config/installation.ts";
import { shipped } from "../lib/files.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure } from "../protocol/failure.ts";
import { EXIT_INTERNAL } from "../runtime/exit.ts";
import type { Action } from "./context/command.ts";
import { homeOf } from "./context/home.ts";
import { invocationName } from "./context/invocation.ts";
import { watchSignals } from "./context/signals.ts";
import { addReporterOptions, isForPeople, readRunOptions, type ReporterOptions } from "./options/run-options.ts";

interface DemoOptions extends ReporterOptions {
  readonly keep?: boolean;
  readonly interactive?: boolean;
}

/** `bosun demo`: starts the crew's demo, which runs `bosun` commands like a user. */
export function register(command: Command): Action<DemoOptions> {
  command
    .argument("[dir]", "left alone: the demo makes a repository of its own")
    .option("--interactive", "answer the questions yourself, and press Enter between sections")
    .option("--keep", "keep the scratch repository");
  addReporterOptions(command, "never ask, which is the default");
  return async (context, [directory], options) => {
    const runOptions = await readRunOptions(context, options);
    if (!runOptions.ok) return runOptions;
    const found = homeOf(context);
    if (!found.ok) return found;
    // Copies cannot lie in a repository, as in the one that is the home of its own sessions.
    const isInside = repositoryRoot(found.value) !== undefined;
    const home = isInside ? stateHome(context.environment, context.directory) : found.value;
    if (directory !== undefined && !isDirectory(resolve(context.directory, directory))) {
      return fails("usage", `${directory} is not a directory.`, { hint: "Leave it out: bosun demo" });
    }
    const { reporter, ask } = runOptions.value;
    if (options.interactive === true && (!ask || !isForPeople(reporter))) {
      return fails("usage", "--interactive needs a terminal.", { hint: "Leave it out: the demo runs by itself." });
    }
    const told = {
      program: bosunProgram(),
      typed: invocationName(isInside ? { ...context, home } : context),
      home,
      installed: shipped(),
      // The demo tells its own story, and shows the session within it.
      reporter: isForPeople(reporter) ? "plain" : reporter,
      keep: options.keep === true,
      interactive: options.interactive === true,
    };
    // The IPC channel tells the demo when this process dies, and this process why the demo failed.
    const child = execa(process.execPath, [crewProgram("demo"), JSON.stringify(told)], {
      cleanup: false,
      cwd: context.directory,
      env: context.environment,
      extendEnv: false,
      forceKillAfterDelay: false,
      ipc: true,
      reject: false,
      stdio: "inherit",
    });
    const pass = () => void child.kill("SIGTERM");
    // The demo cleans up after every signal, so none of them ends this process.
    const signals = watchSignals({ stop: pass, kill: pass }, () => {});
    const { exitCode, ipcOutput } = await child;
    signals.restore();
    const [failed] = ipcOutput;
    if (failed !== undefined) return err(failed as unknown as Failure);
    return ok(signals.exitCode() ?? exitCode ?? EXIT_INTERNAL);
  };
}
