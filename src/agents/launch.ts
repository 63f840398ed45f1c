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
import { exitInside, signalInside, unstartable } from "./isolation/inside.ts";
import { type SandboxMechanism, wrapped } from "./isolation/mechanism.ts";
import type { Launched, LaunchSpec } from "./launcher.ts";
import { type Mark, markOf, withStart } from "./mark.ts";
import { groupLives, identify, signalGroup } from "./processes.ts";
import { Strays } from "./strays.ts";

/**
 * Starts a process, with `way` in the sandbox that `spec` names. Through Node's own spawn: a thousand live children cost 13 MiB
 * with it, and 105 MiB through execa, which keeps promises, iterators and listeners for each that nothing here uses.
 */
export async function start(spec: LaunchSpec, mechanism?: SandboxMechanism): Promise<Result<Launched, Failure>> {
  const refused = unfit(spec) ?? (mechanism && unstartable(spec));
  if (refused) return err(refused);
  const environment = withStart(spec.environment);
  const started = await spawned(mechanism === undefined ? spec.command : wrapped(mechanism, spec), {
    ...spec,
    environment,
  });
  if (!started.ok) return err(couldNotStart(spec, started.error));
  return ok(new StartedProcess(started.value, markOf(environment), mechanism));
}

interface Spawned {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
}

async function spawned([file = "", ...given]: readonly string[], spec: LaunchSpec): Promise<Result<Spawned, Error>> {
  beyondThree ??= firstStart();
  try {
    const child = spawn(file, given, {
      cwd: spec.directory,
      env: { ...spec.environment },
      detached: true,
      stdio: ["pipe", "pipe", "pipe", ...beyondThree],
    }) as ChildProcessWithoutNullStreams;
    const { pid } = child;
    if (pid === undefined) return err(await new Promise<Error>((resolve) => child.once("error", resolve)));
    // What covers is nobody's stream, and would be kept for each child: a descriptor 251 that was left open costs 2 KiB so.
    (child.stdio as unknown[]).length = 3;
    return ok({ child, pid });
  } catch (error) {
    return err(error instanceof Error ? error : new Error(String(error)));
  }
}

/** What cannot be sent or killed is nobody's error: how the process ends is told by its exit. */
function ignored(): void {}

/** There may be a thousand of them alive, so that each holds little, and no function of its own but the one that hears its end. */
class StartedProcess implements Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  readonly #mechanism: SandboxMechanism | undefined;
  readonly #strays: Strays;
  readonly #since = performance.now();
  /** What is gone stays gone, whoever is given its number next. */
  #groupGone = false;

  constructor({ child, pid }: Spawned, mark: Mark, mechanism: SandboxMechanism | undefined) {
    this.identity = identify(pid);
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.#mechanism = mechanism;
    this.#strays = new Strays(this.identity, mark, this.#since);
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source.on("error", ignored);
    this.exited = new Promise((resolve) => {
      child.on("exit", (code, signal) =>
        resolve(mechanism ? endedInside(mechanism, pid, { code, signal }) : { code, signal }),
      );
    });
  }

  signalGroup(signal: NodeJS.Signals): void {
    if (this.#mechanism) signalInside(this.#mechanism, this.identity.pid, signal, this.#since);
    else signalGroup(this.identity.pid, signal);
    this.#strays.signal(signal);
  }

  groupLives(): boolean {
    const { pid } = this.identity;
    this.#groupGone ||= !signalGroup(pid, 0);
    return (!this.#groupGone && groupLives(pid, this.#since)) || this.#strays.live;
  }

  seekStrays(expected: boolean): void {
    // From a namespace nothing gets away.
    if (!this.#mechanism) this.#strays.seek(expected);
  }

  destroyPipes(): void {
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
  }
}

/** O_CLOEXEC, in the words of proc_pid_fdinfo(5). */
const CLOSED_ON_EXEC = 0o2000000;

/** Each descriptor up to the highest costs a little at every start. */
const MOST_COVERED = 1_024;

let beyondThree: ("ignore" | number)[] | undefined;

/**
 * A start takes some 45 µs for each MiB that this process has written: its pages are marked for the child and let go of again. So
 * from the first start on the heap's young generation grows no further; else it would take 32 MiB and more.
 */
function firstStart(): ("ignore" | number)[] {
  setFlagsFromString("--semi-space-growth-factor=1");
  return covered();
}

/**
 * What a program is given beyond its three descriptors. What Node opens is not passed on. What this process got from its own
 * parent would be, such as a pipe of whoever waits for it to end: each of those is covered by nothing.
 */
function covered(): ("ignore" | number)[] {
  if (process.platform !== "linux") return [];
  const left = readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && descriptor < MOST_COVERED && isPassedOn(descriptor));
  const nothing = left.length === 0 ? 0 : openSync(devNull, "r+");
  return Array.from({ length: Math.max(2, ...left) - 2 }, (_, index) =>
    left.includes(index + 3) ? nothing : "ignore",
  );
}

function isPassedOn(descriptor: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the folder itself that was being read.
    return false;
  }
}

/** The wrapper has ended, and with it all that was in its namespace; that the rest is gone need not be waited for politely. */
function endedInside(mechanism: SandboxMechanism, pid: number, exit: Exit): Exit {
  signalGroup(pid, "SIGKILL");
  return exitInside(mechanism, exit);
}
