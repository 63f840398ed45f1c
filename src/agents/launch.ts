import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import type { ProcessIdentity } from "../kernel/agent.ts";
import type { execa as startProgram } from "execa";
import { err, ok, type Result } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import type { Exit } from "../protocol/record.ts";
import { couldNotStart, invalidSpecReason } from "./cannot-start.ts";
import { inheritedReplaced, type StdioEntry } from "./inherited-descriptors.ts";
import { exitFromShell, missingInSandbox, signalInNamespace } from "./isolation/namespace.ts";
import { sandboxCommand, type SandboxMechanism } from "./isolation/mechanism.ts";
import type { Launched, LaunchSpec } from "./launcher.ts";
import { hasMarker, markerOf, type ProcessMarker, withStartId } from "./process-marker.ts";
import { descendantsOf, entryOf, pidsGivenSince, processTable } from "./process-table.ts";
import { groupLives, identify, isAlive, signalGroup, signalProcess } from "./processes.ts";

/** Starts a process; with a `mechanism`, in the sandbox that `spec` names. */
export async function start(spec: LaunchSpec, mechanism?: SandboxMechanism): Promise<Fallible<Launched>> {
  const refused = invalidSpecReason(spec) ?? (mechanism && missingInSandbox(spec));
  if (refused) return err(refused);
  const environment = withStartId(spec.environment);
  const started = await spawned(mechanism === undefined ? spec.command : sandboxCommand(mechanism, spec), {
    ...spec,
    environment,
  });
  if (!started.ok) return err(couldNotStart(spec, started.error));
  return ok(new StartedProcess(started.value, markerOf(environment), mechanism));
}

/** Only starting is left to execa: supervision reads the pipes, ends the process and its group, and needs no result. */
const LEAN = {
  buffer: false,
  cleanup: false,
  detached: true,
  extendEnv: false,
  reject: false,
  // NODE_DEBUG=execa would print everything.
  verbose: "none",
} as const;

let execa: typeof startProgram | undefined;

async function spawned(
  [file = "", ...parameters]: readonly string[],
  { directory, environment }: LaunchSpec,
): Promise<Result<ChildProcessWithoutNullStreams, Error>> {
  extraStdio ??= firstStart();
  // Loaded with the first program, because most commands start none. Later programs start before this function returns.
  execa ??= (await import("execa")).execa;
  // execa accepts any descriptor, but its types only those up to 9.
  const stdio = ["pipe", "pipe", "pipe", ...(extraStdio as "ignore"[])] as const;
  const started = execa(file, parameters, { ...LEAN, cwd: directory, env: environment, stdio });
  const child = started.nodeChildProcess as ChildProcessWithoutNullStreams;
  if (child.pid === undefined) return err((await started).cause as Error);
  release(child);
  return ok(child);
}

/** Drops execa's listeners and the promises behind them, which wait for the end: 28 KiB for each live child. */
function release(child: ChildProcessWithoutNullStreams): void {
  for (const source of [child, child.stdin, child.stdout, child.stderr]) {
    // Node's own listener, the first of a pipe's "end", closes the pipe.
    const [closing] = source.listeners("end");
    for (const event of source.eventNames()) {
      for (const listener of source.listeners(event) as (() => void)[])
        if (listener !== closing) source.off(event, listener);
    }
  }
}

/** Errors of the child and its pipes do not matter: the exit shows how the process ended. */
function ignored(): void {}

/** There may be a thousand of these, so each holds little and has only one closure. */
class StartedProcess implements Launched {
  readonly identity: ProcessIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  readonly #mechanism: SandboxMechanism | undefined;
  readonly #escaped: EscapedProcesses;
  readonly #since = performance.now();
  /** Once the group is gone it stays gone, even if its number is reused. */
  #groupGone = false;

  constructor(child: ChildProcessWithoutNullStreams, marker: ProcessMarker, mechanism: SandboxMechanism | undefined) {
    const pid = child.pid as number;
    this.identity = identify(pid);
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.#mechanism = mechanism;
    this.#escaped = new EscapedProcesses(this.identity, marker, this.#since);
    for (const source of [child, child.stdin, child.stdout, child.stderr]) source.on("error", ignored);
    this.exited = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        // With the wrapper, its namespace has ended.
        if (mechanism) signalGroup(pid, "SIGKILL");
        resolve(mechanism ? exitFromShell({ code, signal }) : { code, signal });
      });
    });
  }

  signalGroup(signal: NodeJS.Signals): void {
    if (this.#mechanism) signalInNamespace(this.identity.pid, signal, this.#since);
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

/** Maximum number of candidates read without a reason to expect escaped processes: about half a millisecond. */
const FEW = 50;

const NONE: readonly ProcessIdentity[] = [];

/**
 * The descendants of a launched process that have left its group, by `setsid` or a group of their own. They are found by descent while
 * their ancestors live, and afterwards by the marker (Linux only). A process that lost its ancestors and cleared its environment is not
 * found.
 */
export class EscapedProcesses {
  readonly #leader: ProcessIdentity;
  readonly #marker: ProcessMarker;
  readonly #since: number;
  #known: readonly ProcessIdentity[] = NONE;

  /** `since` is when the leader was started (`performance.now()`). */
  constructor(leader: ProcessIdentity, marker: ProcessMarker, since: number) {
    this.#leader = leader;
    this.#marker = marker;
    this.#since = since;
  }

  /** Searches for escaped processes. If none are `expected`, only if the search costs less than starting a process. */
  find(expected: boolean): void {
    const { pid } = this.#leader;
    const found = new Map(this.#known.map((identity) => [identity.pid, identity]));
    const add = ({ pid: other, started }: ProcessIdentity) => void found.set(other, { pid: other, started });
    if (expected && isAlive(this.#leader)) {
      for (const entry of descendantsOf([pid], processTable(this.#since))) if (entry.group !== pid) add(entry);
    }
    const candidates = this.#marker.size === 0 ? [] : pidsGivenSince(pid);
    if (expected || candidates.length <= FEW) {
      for (const candidate of candidates) {
        if (!hasMarker(candidate, this.#marker)) continue;
        const entry = entryOf(candidate);
        if (entry !== undefined && entry.group !== pid) add(entry);
      }
    }
    this.#known = [...found.values()];
  }

  signal(signal: NodeJS.Signals): void {
    for (const identity of this.#known) signalProcess(identity, signal);
  }

  get areLeft(): boolean {
    if (this.#known.length > 0) this.#known = this.#known.filter(isAlive);
    return this.#known.length > 0;
  }
}

let extraStdio: StdioEntry[] | undefined;

/**
 * A fork takes some 45 µs for each MiB of memory that this process has written. So from the first start on, the young generation of the heap keeps
 * its size; otherwise it would grow to 32 MiB and more.
 */
function firstStart(): StdioEntry[] {
  setFlagsFromString("--semi-space-growth-factor=1");
  return inheritedReplaced();
}
