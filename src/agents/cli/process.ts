import { setImmediate as nextPoll } from "node:timers/promises";
import type { Readable } from "node:stream";
import { LineSplitter } from "../../lib/lines.ts";
import type { Exit } from "../../protocol/record.ts";
import type { Launched } from "../launcher.ts";
import { endGroup, within } from "./ending.ts";
import { type TimeCause, TimeLimits, type TimeTerms } from "./time-limits.ts";

/** How long a process that has exited may leave its pipes open before its group is ended. */
const PIPE_GRACE_MS = 500;
/** How long leftovers of a process that has exited get between SIGTERM and SIGKILL, at most. */
const LEFTOVER_GRACE_MS = 1_400;
/** How long the pipes may take to close when the group is gone; only a process outside the group can hold them then. */
const CLOSE_GRACE_MS = 100;
/** What has run so long may be looked after thoroughly without anybody noticing. */
const LONG_RUN_MS = 1_000;

/** Milliseconds and bytes. */
export interface RunLimits extends TimeTerms {
  readonly kill_grace_ms: number;
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
export type EndCause = TimeCause | "exited" | "output_limit" | "cancelled" | "not_recorded";

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
  readonly #splitters = new Set<Splitter>();
  readonly #time: TimeLimits;
  #bytes = 0;
  /** How many of its pipes are left unread for now. */
  #unread = 0;
  #waitFor: Promise<void> | undefined;
  #over = false;

  constructor(launched: Launched, limits: RunLimits, listener: RunListener | OutputListener, signal: AbortSignal) {
    this.#launched = launched;
    this.#limits = limits;
    this.#listener = listener;
    this.#time = new TimeLimits(
      limits,
      () => this.#unread > 0,
      (cause) => this.stop(cause),
    );
    const { promise, resolve } = Promise.withResolvers<EndCause>();
    this.#decide = resolve;
    void launched.exited.then(() => resolve("exited"));
    this.ended = this.#run(promise, this.#read(), signal);
  }

  /** Hands over the work: the input, then end of file. The time limits count from here. */
  give(input: string): void {
    if (this.#over) return;
    this.#launched.stdin.end(input);
    this.#time.given();
  }

  /** The answer is there: from now on the process has `answer_grace_ms` to exit, and no other time limit. */
  answered(): void {
    this.#time.answered();
  }

  /** Ends the process and its group for a reason of ours. The first reason stands. */
  stop(cause: EndCause): void {
    this.#finish();
    this.#decide(cause);
  }

  get #flooded(): boolean {
    return this.#bytes > this.#limits.max_output_bytes;
  }

  #finish(): void {
    this.#over = true;
    this.#time.end();
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
    // After its answer what floods on takes nothing back, and how the process has exited by itself counts.
    const isFlood = cause === "exited" && this.#flooded && !this.#time.isAnswered;
    return {
      cause: isFlood ? "output_limit" : cause,
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
    this.#splitters.add(splitter);
    return splitter;
  }

  #take(stream: Readable, splitter: Splitter, chunk: Buffer): void {
    if (this.#flooded) return;
    const room = this.#limits.max_output_bytes - this.#bytes;
    this.#bytes += chunk.length;
    this.#time.heard();
    // An answer may stand before the limit, in one piece with what is beyond it.
    splitter.push(chunk.subarray(0, room));
    if (this.#flooded) {
      // Of the line that the limit cuts nobody can tell what it was to be.
      this.#splitters.delete(splitter);
      this.stop("output_limit");
      this.#launched.destroyPipes();
      return;
    }
    const relief = this.#waitFor;
    if (relief === undefined) return;
    this.#waitFor = undefined;
    if (this.#over) return;
    stream.pause();
    this.#unread += 1;
    void relief.then(() => {
      this.#unread -= 1;
      this.#time.heard();
      stream.resume();
    });
  }
}
