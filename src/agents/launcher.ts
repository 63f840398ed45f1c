import { stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { execa } from "execa";
import type { ProcessIdentity } from "../kernel/agent.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { groupLives, identify, signalGroup } from "./processes.ts";

/**
 * Starts processes. Node forks, which blocks the event loop in proportion to the scheduler's memory, so starting is behind
 * this seam: a small process that starts others can take over.
 */
export interface Launcher {
  /** Starts one process as the leader of its own group. `environment` failures name the program and the remedy. */
  launch(spec: LaunchSpec): Promise<Result<Launched, Failure>>;
}

export interface LaunchSpec {
  /** The program, looked up in the `PATH` of `environment`, and its arguments. No shell reads them. */
  readonly command: readonly string[];
  readonly directory: string;
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * A running process. Its streams flow as soon as someone listens, and must be listened to in the tick that `launch` returns in.
 * A pipe whose other end is closed (EPIPE) is no error to anybody.
 */
export interface Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process itself has ended, whoever still holds its pipes. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Sends to the whole group, if there is anybody left. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Whether anything in the group could still work, the process itself or what it started. */
  groupLives(): boolean;
  /** Lets go of the three pipes, even if a process outside the group still holds the other end. */
  destroyPipes(): void;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The launcher inside the scheduler's own process. */
export function embeddedLauncher(): Launcher {
  return { launch: (spec) => launchHere(spec) };
}

async function launchHere(spec: LaunchSpec): Promise<Result<Launched, Failure>> {
  const [program = "", ...rest] = spec.command;
  const unfit = program === "" ? "the command is empty" : nulByte(spec);
  if (unfit !== undefined) {
    return err(
      failure("configuration", `Cannot start ${quoted(program)}: ${unfit}.`, {
        hint: "Correct the role's cli_command.",
      }),
    );
  }
  const subprocess = execa(program, rest, {
    cwd: spec.directory,
    env: { ...spec.environment },
    extendEnv: false,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    buffer: false,
    encoding: "buffer",
    reject: false,
  });
  const { pid, stdin, stdout, stderr } = subprocess;
  if (pid === undefined) {
    const { code, shortMessage } = await subprocess;
    return err(await couldNotStart(program, spec.directory, code ?? "", shortMessage ?? ""));
  }
  const exited = new Promise<Exit>((resolve) => {
    subprocess.nodeChildProcess.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return ok({
    identity: identify(pid),
    stdin,
    stdout,
    stderr,
    exited,
    signalGroup: (signal) => void signalGroup(pid, signal),
    groupLives: () => groupLives(pid),
    destroyPipes: () => {
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    },
  });
}

function nulByte({ command, directory, environment }: LaunchSpec): string | undefined {
  if (command.some((argument) => argument.includes("\0"))) return "an argument holds a NUL byte";
  if (directory.includes("\0")) return "its directory holds a NUL byte";
  const variable = Object.entries(environment).find(([name, value]) => `${name}${value}`.includes("\0"));
  return variable && `the environment variable ${quoted(variable[0].replaceAll("\0", ""))} holds a NUL byte`;
}

async function couldNotStart(program: string, directory: string, code: string, reason: string): Promise<Failure> {
  const isDirectory = await stat(directory).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  const details = { program, directory, errno: code };
  if (!isDirectory) {
    return failure("environment", `Cannot start ${quoted(program)}: its directory ${quoted(directory)} is not there.`, {
      hint: "Create the directory, or name another workspace.",
      details,
    });
  }
  const [why, hint] = explain(program, code, reason);
  return failure("environment", `Cannot start ${quoted(program)}: ${why}.`, { hint, details });
}

function explain(program: string, code: string, reason: string): [why: string, hint: string] {
  switch (code) {
    case "ENOENT":
      return program.includes("/")
        ? [
            "there is no such file, or the interpreter its first line names is not installed",
            "Correct the role's cli_command.",
          ]
        : [
            "there is no such program on the PATH",
            "Install it, correct the role's cli_command, or put it on the PATH.",
          ];
    case "EACCES":
    case "EPERM":
      return ["it may not be executed", `Make it executable: chmod +x ${quoted(program)}.`];
    case "ENOEXEC":
      return [
        "it is not a program this machine can run",
        "Give a script a first line such as #!/bin/sh, or install the right build.",
      ];
    case "E2BIG":
      return [
        "its arguments and environment are larger than the system takes",
        "Shorten the role's cli_command or env.",
      ];
    case "EMFILE":
    case "ENFILE":
      return ["too many files are open", "Raise the limit with `ulimit -n`, or lower max_workers."];
    case "EAGAIN":
    case "ENOMEM":
      return ["the system has no room for another process", "Lower max_workers, or end other programs."];
    default:
      return [reason.split("\n", 1)[0] || code || "the system refused", "Try the command in a terminal."];
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
