import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { devNull } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import type { ProcessIdentity } from "../kernel/agent.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Exit } from "../protocol/record.ts";
import { couldNotStart, unfit } from "./cannot-start.ts";
import { exitInNamespace, signalInNamespace, missingInSandbox } from "./isolation/namespace.ts";
import { type SandboxMechanism, sandboxCommand } from "./isolation/mechanism.ts";
import type { Launched, LaunchSpec } from "./launcher.ts";
import { markerOf, type ProcessMarker, withStartId } from "./process-marker.ts";
import { groupLives, identify, signalGroup } from "./processes.ts";
import { EscapedProcesses } from "./escaped-processes.ts";

/**
 * Starts a process, with a `mechanism` in the sandbox that `spec` names. Uses Node's own spawn: a thousand live children cost 13 MiB
 * with it and 105 MiB through execa, which keeps promises, iterators and listeners for each.
 */
export async function start(spec: LaunchSpec, mechanism?: SandboxMechanism): Promise<Result<Launched, Failure>> {
  const refused = unfit(spec) ?? (mechanism && missingInSandbox(spec));
  if (refused) return err(refused);
  const environment = withStartId(spec.environment);
  const started = await spawned(mechanism === undefined ? spec.command : sandboxCommand(mechanism, spec), {
    ...spec,
    environment,
  });
  if (!started.ok) return err(couldNotStart(spec, started.error));
  return ok(new StartedProcess(started.value, markerOf(environment), mechanism));
}

interface Spawned {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
}

async function spawned(
  [file = "", ...parameters]: readonly string[],
  spec: LaunchSpec,
): Promise<Result<Spawned, Error>> {
  extraStdio ??= firstStart();
  try {
    const child = spawn(file, parameters, {
      cwd: spec.directory,
      env: { ...spec.environment },
      detached: true,
      stdio: ["pipe", "pipe", "pipe", ...extraStdio],
    }) as ChildProcessWithoutNullStreams;
    const { pid } = child;
    if (pid === undefined) return err(await new Promise<Error>((resolve) => child.once("error", resolve)));
    // Node would keep an entry for each extra descriptor of each child: descriptor 251 costs 2 KiB.
    (child.stdio as unknown[]).length = 3;
    return ok({ child, pid });
  } catch (error) {
    return err(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Errors of sending and killing do not matter: the exit tells how the process ended. */
function ignored(): void {}

/** There may be a thousand of these, so each holds little and has one closure only. */
class StartedProcess implements Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  readonly #mechanism: SandboxMechanism | undefined;
  readonly #escaped: EscapedProcesses;
  readonly #since = performance.now();
  /** Once gone it stays gone, even if its number is used again. */
  #groupGone = false;

  constructor({ child, pid }: Spawned, marker: ProcessMarker, mechanism: SandboxMechanism | undefined) {
    this.identity = identify(pid);
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.#mechanism = mechanism;
    this.#escaped = new EscapedProcesses(this.identity, marker, this.#since);
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source.on("error", ignored);
    this.exited = new Promise((resolve) => {
      child.on("exit", (code, signal) =>
        resolve(mechanism ? exitOfNamespace(mechanism, pid, { code, signal }) : { code, signal }),
      );
    });
  }

  signalGroup(signal: NodeJS.Signals): void {
    if (this.#mechanism) signalInNamespace(this.#mechanism, this.identity.pid, signal, this.#since);
    else signalGroup(this.identity.pid, signal);
    this.#escaped.signal(signal);
  }

  groupLives(): boolean {
    const { pid } = this.identity;
    this.#groupGone ||= !signalGroup(pid, 0);
    return (!this.#groupGone && groupLives(pid, this.#since)) || this.#escaped.areLeft;
  }

  findEscaped(expected: boolean): void {
    // Nothing can leave a namespace.
    if (!this.#mechanism) this.#escaped.find(expected);
  }

  destroyPipes(): void {
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
  }
}

/** O_CLOEXEC, as in proc_pid_fdinfo(5). */
const CLOSED_ON_EXEC = 0o2000000;

/** The highest descriptor that is closed for children: each one costs a little at every start. */
const MAX_DESCRIPTOR = 1_024;

let extraStdio: ("ignore" | number)[] | undefined;

/**
 * A fork takes some 45 µs for each MiB of memory that this process has written. So from the first start on the young generation of
 * the heap stays as small as it is; otherwise it would grow to 32 MiB and more.
 */
function firstStart(): ("ignore" | number)[] {
  setFlagsFromString("--semi-space-growth-factor=1");
  return inheritedReplaced();
}

/**
 * The `stdio` entries of a child beyond its three. Descriptors that Node opens are not inherited, but those that this process
 * inherited itself are, such as a pipe of a parent that waits for its end: they are replaced with /dev/null.
 */
function inheritedReplaced(): ("ignore" | number)[] {
  if (process.platform !== "linux") return [];
  const inherited = readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && descriptor < MAX_DESCRIPTOR && isInheritable(descriptor));
  const nothing = inherited.length === 0 ? 0 : openSync(devNull, "r+");
  return Array.from({ length: Math.max(2, ...inherited) - 2 }, (_, index) =>
    inherited.includes(index + 3) ? nothing : "ignore",
  );
}

function isInheritable(descriptor: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // The descriptor of the listing itself, which is closed by now.
    return false;
  }
}

/** The namespace ended with its wrapper. Kills the rest of the group, too. */
function exitOfNamespace(mechanism: SandboxMechanism, pid: number, exit: Exit): Exit {
  signalGroup(pid, "SIGKILL");
  return exitInNamespace(mechanism, exit);
}
