import { setImmediate as nextPoll, setTimeout as delay } from "node:timers/promises";
import os from "node:os";
import type { Readable } from "node:stream";
import { LineSplitter } from "../../lib/lines.ts";
import type { Exit, Launched } from "../launcher.ts";

/** How long a process that has exited may leave its pipes open before its group is ended. */
const PIPE_GRACE_MS = 500;
/** How long leftovers of a process that has exited get between SIGTERM and SIGKILL, at most. */
const LEFTOVER_GRACE_MS = 1_400;
/** How long the pipes may take to close when the group is gone; only a process outside the group can hold them then. */
const CLOSE_GRACE_MS = 100;
/** How long a group may take to vanish after SIGKILL; a process in an uninterruptible call can outlast it. */
const AFTER_KILL_MS = 1_000;
const LONGEST_POLL_MS = 50;
/** What has run so long may be looked after thoroughly without anybody noticing. */
const LONG_RUN_MS = 1_000;
/** How often a time limit is looked at, at least. */
const LOOK_EVERY_MS = 5_000;
/** A look that is late by so much means that this process did not run, by the clock that counts the machine's sleep. */
const PAUSE_MS = 1_000;

/** Milliseconds and bytes; a time limit of 0 is none. */
export interface RunLimits {
  readonly timeout_ms: number;
  readonly idle_timeout_ms: number;
  readonly kill_grace_ms: number;
  readonly answer_grace_ms: number;
  /** Of stdout and stderr together. */
  readonly max_output_bytes: number;
}

export type Stream = "stdout" | "stderr";

/** Who hears a run. `line` gets bytes that are good only during the call, and may return what to wait for before reading on. */
export interface RunListener {
  capOf(stream: Stream, firstByte: number): number;
  line(stream: Stream, bytes: Buffer, cut: boolean): Promise<void> | undefined;
}

/** Why a run ended: the process's own exit, or the reason for which it was ended. */
export type EndCause =
  | "exited"
  | "answered"
  | "timeout"
  | "idle_timeout"
  | "output_limit"
  | "cancelled"
  | "not_recorded";

export interface RunEnd {
  readonly cause: EndCause;
  /** Missing if the process outlasted even SIGKILL. */
  readonly exit?: Exit;
  /** Whether it had printed anything. */
  readonly spoke: boolean;
}

/**
 * One process from start to end, whatever it does: it is ended when a limit is passed, its group is gone when `ended` settles,
 * and what it prints is read in bounded pieces. `ended` never rejects, and settles within two seconds of the exit, or within
 * `kill_grace_ms` and two seconds of `stop`.
 *
 * What has left the group (setsid) is ended too where it can be found: see strays.ts. What cannot be lives on, without the pipes.
 */
export class SupervisedRun {
  readonly ended: Promise<RunEnd>;
  readonly #launched: Launched;
  readonly #limits: RunLimits;
  readonly #listener: RunListener;
  readonly #stopped = Promise.withResolvers<EndCause>();
  readonly #splitters: LineSplitter[] = [];
  #alarms: (() => void)[] = [];
  #bytes = 0;
  #lastOutput = 0;
  /** How many of its pipes are left unread for now. */
  #unread = 0;
  #waitFor: Promise<void> | undefined;
  #answered = false;
  #over = false;

  constructor(launched: Launched, limits: RunLimits, listener: RunListener, signal: AbortSignal) {
    this.#launched = launched;
    this.#limits = limits;
    this.#listener = listener;
    const closed = Promise.all([this.#read("stdout", launched.stdout), this.#read("stderr", launched.stderr)]);
    const cancel = () => this.stop("cancelled");
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    this.ended = this.#run(closed).finally(() => signal.removeEventListener("abort", cancel));
  }

  /** Hands over the work: the input, then end of file. The time limits count from here. */
  give(input: string): void {
    if (this.#over) return;
    this.#launched.stdin.end(input);
    if (this.#answered) return;
    const { timeout_ms, idle_timeout_ms } = this.#limits;
    const given = performance.now();
    if (timeout_ms > 0) this.#watch("timeout", () => given + timeout_ms);
    if (idle_timeout_ms > 0) {
      // What is not read is no silence of the agent's.
      const heard = () => (this.#unread > 0 ? performance.now() : this.#lastOutput);
      this.#watch("idle_timeout", () => Math.max(given, heard()) + idle_timeout_ms);
    }
  }

  /** The answer is there: from now on the process has `answer_grace_ms` to exit, and no other time limit. */
  answered(): void {
    this.#answered = true;
    this.#disarm();
    const due = performance.now() + this.#limits.answer_grace_ms;
    this.#watch("answered", () => due);
  }

  /** Ends the process and its group for a reason of ours. The first reason stands. */
  stop(cause: EndCause): void {
    this.#over = true;
    this.#disarm();
    this.#stopped.resolve(cause);
  }

  async #run(closed: Promise<unknown>): Promise<RunEnd> {
    const { exited } = this.#launched;
    const began = performance.now();
    const cause = await Promise.race([this.#stopped.promise, exited.then(() => "exited" as const)]);
    this.#over = true;
    this.#disarm();
    // What is left in the pipes is bounded, and lost unless it is read now, whoever still waits for what.
    this.#launched.stdout.resume();
    this.#launched.stderr.resume();
    if (cause === "exited") {
      const silent = await within(closed, PIPE_GRACE_MS);
      const suspicious = !silent || this.#launched.groupLives() || performance.now() - began >= LONG_RUN_MS;
      this.#launched.seekStrays(suspicious);
      if (this.#launched.groupLives()) {
        await endGroup(this.#launched, Math.min(this.#limits.kill_grace_ms, LEFTOVER_GRACE_MS));
      }
    } else {
      await endGroup(this.#launched, this.#limits.kill_grace_ms);
    }
    await within(closed, CLOSE_GRACE_MS);
    this.#launched.destroyPipes();
    for (const splitter of this.#splitters) splitter.end();
    const exit = await Promise.race([exited, nextPoll(undefined)]);
    const flooded = this.#bytes > this.#limits.max_output_bytes;
    return {
      cause: flooded && cause === "exited" ? "output_limit" : cause,
      ...(exit === undefined ? {} : { exit }),
      spoke: this.#bytes > 0,
    };
  }

  #read(name: Stream, stream: Readable): Promise<void> {
    const splitter = new LineSplitter(
      (firstByte) => this.#listener.capOf(name, firstByte),
      (bytes, cut) => {
        this.#waitFor = this.#listener.line(name, bytes, cut) ?? this.#waitFor;
      },
    );
    this.#splitters.push(splitter);
    stream.on("data", (chunk: Buffer) => this.#take(stream, splitter, chunk));
    stream.once("end", () => splitter.end());
    return new Promise((resolve) => stream.once("close", resolve));
  }

  #take(stream: Readable, splitter: LineSplitter, chunk: Buffer): void {
    if (this.#bytes > this.#limits.max_output_bytes) return;
    this.#bytes += chunk.length;
    this.#lastOutput = performance.now();
    if (this.#bytes > this.#limits.max_output_bytes) {
      this.stop("output_limit");
      this.#launched.destroyPipes();
      return;
    }
    splitter.push(chunk);
    const relief = this.#waitFor;
    if (relief === undefined) return;
    this.#waitFor = undefined;
    if (this.#over) return;
    stream.pause();
    this.#unread += 1;
    void relief.then(() => {
      this.#unread -= 1;
      this.#lastOutput = performance.now();
      stream.resume();
    });
  }

  #watch(cause: EndCause, due: () => number): void {
    // Nobody could be heard meanwhile, so that was no silence of the agent's.
    const paused = () => {
      this.#lastOutput = performance.now();
    };
    if (!this.#over) this.#alarms.push(alarm(due, () => this.stop(cause), paused));
  }

  #disarm(): void {
    for (const cancel of this.#alarms) cancel();
    this.#alarms = [];
  }
}

/** SIGTERM to the group, `grace_ms`, SIGKILL. SIGCONT, because a stopped process does not see SIGTERM until it goes on. */
async function endGroup(launched: Launched, grace_ms: number): Promise<void> {
  launched.seekStrays(true);
  launched.signalGroup("SIGTERM");
  launched.signalGroup("SIGCONT");
  if (await groupGone(launched, grace_ms)) return;
  launched.seekStrays(true);
  launched.signalGroup("SIGKILL");
  await groupGone(launched, AFTER_KILL_MS);
}

async function groupGone(launched: Launched, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  if (!(await within(launched.exited, within_ms))) return false;
  for (let pause = 1; launched.groupLives(); pause = Math.min(pause * 2, LONGEST_POLL_MS)) {
    if (performance.now() >= deadline) return false;
    await delay(pause);
  }
  return true;
}

/**
 * Whether `promise` settles in time. After a stall of the event loop timers fire before what waits in the pipes is read; so
 * the pipes get one poll more before the time counts as passed.
 */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, false), ms);
  });
  const settled = await Promise.race([promise.then(() => true), passed]);
  clearTimeout(timer);
  return settled;
}

function uptimeMs(): number {
  return os.uptime() * 1_000;
}

/**
 * Calls `ring` once the monotonic clock has passed `due()`, which may move while it waits; and `paused` before it looks, when this
 * process could not look for a while: the machine slept, or it was stopped itself. Returns what cancels it.
 */
function alarm(due: () => number, ring: () => void, paused: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let cancelled = false;
  let expected = Number.POSITIVE_INFINITY;
  const look = () => {
    if (cancelled) return;
    if (uptimeMs() - expected >= PAUSE_MS) paused();
    const remaining = due() - performance.now();
    if (remaining <= 0) return ring();
    // The output that came during a stall of the event loop is read before the time is looked at.
    const delay_ms = Math.min(Math.ceil(remaining), LOOK_EVERY_MS);
    expected = uptimeMs() + delay_ms;
    timer = setTimeout(() => setImmediate(look), delay_ms);
  };
  look();
  return () => {
    cancelled = true;
    clearTimeout(timer);
  };
}
