import { setImmediate as nextPoll } from "node:timers/promises";
import os from "node:os";
import type { Readable } from "node:stream";
import { LineSplitter } from "../../lib/lines.ts";
import type { Exit, Launched } from "../launcher.ts";
import { endGroup, within } from "./ending.ts";

/** How long a process that has exited may leave its pipes open before its group is ended. */
const PIPE_GRACE_MS = 500;
/** How long leftovers of a process that has exited get between SIGTERM and SIGKILL, at most. */
const LEFTOVER_GRACE_MS = 1_400;
/** How long the pipes may take to close when the group is gone; only a process outside the group can hold them then. */
const CLOSE_GRACE_MS = 100;
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

/** Who hears a run as it comes, and not by lines; the bytes are good only during the call. */
export interface OutputListener {
  piece(stream: Stream, bytes: Buffer): void;
}

/** What the pieces of a stream go through. */
type Splitter = Pick<LineSplitter, "push" | "end">;

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
  readonly #listener: RunListener | OutputListener;
  /** Ends the run for a reason, of which the first stands. */
  readonly #decide: (cause: EndCause) => void;
  readonly #splitters: Splitter[] = [];
  /** One for all of a run's time limits, since there may be a thousand runs. */
  #timer: NodeJS.Timeout | undefined;
  /** When the timer was to go off, by the clock that counts the machine's sleep; of all times in ms. */
  #expected = Number.POSITIVE_INFINITY;
  #given = 0;
  #lastOutput = 0;
  #answered: number | undefined;
  #bytes = 0;
  /** How many of its pipes are left unread for now. */
  #unread = 0;
  #waitFor: Promise<void> | undefined;
  #over = false;

  constructor(launched: Launched, limits: RunLimits, listener: RunListener | OutputListener, signal: AbortSignal) {
    this.#launched = launched;
    this.#limits = limits;
    this.#listener = listener;
    const { promise, resolve } = Promise.withResolvers<EndCause>();
    this.#decide = resolve;
    void launched.exited.then(() => resolve("exited"));
    this.ended = this.#run(promise, this.#read(), signal);
  }

  /** Hands over the work: the input, then end of file. The time limits count from here. */
  give(input: string): void {
    if (this.#over) return;
    this.#launched.stdin.end(input);
    if (this.#answered !== undefined) return;
    this.#given = performance.now();
    this.#look();
  }

  /** The answer is there: from now on the process has `answer_grace_ms` to exit, and no other time limit. */
  answered(): void {
    if (this.#over) return;
    this.#answered = performance.now();
    this.#look();
  }

  /** Ends the process and its group for a reason of ours. The first reason stands. */
  stop(cause: EndCause): void {
    this.#finish();
    this.#decide(cause);
  }

  #finish(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  async #run(decided: Promise<EndCause>, closed: Promise<void>, signal: AbortSignal): Promise<RunEnd> {
    const { exited } = this.#launched;
    const began = performance.now();
    const cancel = () => this.stop("cancelled");
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    const cause = await decided;
    signal.removeEventListener("abort", cancel);
    this.#finish();
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

  /** Reads both pipes; settles when both are closed. */
  #read(): Promise<void> {
    const { stdout, stderr } = this.#launched;
    let open = 2;
    return new Promise((resolve) => {
      const closed = () => {
        open -= 1;
        if (open === 0) resolve();
      };
      this.#listen("stdout", stdout, closed);
      this.#listen("stderr", stderr, closed);
    });
  }

  #listen(name: Stream, stream: Readable, closed: () => void): void {
    // Most runs are silent for long, and many have nothing to say on stderr.
    let splitter: Splitter | undefined;
    stream.on("data", (chunk: Buffer) => this.#take(stream, (splitter ??= this.#splitterOf(name)), chunk));
    stream.on("end", () => splitter?.end());
    stream.on("close", closed);
  }

  #splitterOf(name: Stream): Splitter {
    const listener = this.#listener;
    if ("piece" in listener) return { push: (bytes) => listener.piece(name, bytes), end() {} };
    const splitter = new LineSplitter(
      (firstByte) => listener.capOf(name, firstByte),
      (bytes, cut) => {
        this.#waitFor = listener.line(name, bytes, cut) ?? this.#waitFor;
      },
    );
    this.#splitters.push(splitter);
    return splitter;
  }

  #take(stream: Readable, splitter: Splitter, chunk: Buffer): void {
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

  /** The time limit that is passed first, as far as can be known now, and when. */
  #nextLimit(): readonly [cause: EndCause, due: number] {
    const { timeout_ms, idle_timeout_ms, answer_grace_ms } = this.#limits;
    if (this.#answered !== undefined) return ["answered", this.#answered + answer_grace_ms];
    const timeout = timeout_ms > 0 ? this.#given + timeout_ms : Number.POSITIVE_INFINITY;
    // What is not read is no silence of the agent's.
    const heard = this.#unread > 0 ? performance.now() : this.#lastOutput;
    const idle = idle_timeout_ms > 0 ? Math.max(this.#given, heard) + idle_timeout_ms : Number.POSITIVE_INFINITY;
    return idle < timeout ? ["idle_timeout", idle] : ["timeout", timeout];
  }

  /** Stops the run if a time limit is passed by the monotonic clock, and else looks again later. */
  #look(): void {
    if (this.#over) return;
    clearTimeout(this.#timer);
    // This process could not look for a while, since the machine slept or it was stopped itself. Nobody could be heard
    // meanwhile, so that was no silence of the agent's.
    const uptime = uptimeMs();
    if (uptime - this.#expected >= PAUSE_MS) this.#lastOutput = performance.now();
    const [cause, due] = this.#nextLimit();
    const remaining = due - performance.now();
    if (remaining <= 0) return this.stop(cause);
    if (remaining === Number.POSITIVE_INFINITY) return;
    const delay_ms = Math.min(Math.ceil(remaining), LOOK_EVERY_MS);
    this.#expected = uptime + delay_ms;
    // The output that came during a stall of the event loop is read before the time is looked at.
    this.#timer = setTimeout(() => setImmediate(() => this.#look()), delay_ms);
  }
}

function uptimeMs(): number {
  return os.uptime() * 1_000;
}
