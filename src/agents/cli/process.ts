import { setImmediate as nextPoll } from "node:timers/promises";
import type { Readable } from "node:stream";
import { LineSplitter } from "../../lib/lines.ts";
import type { Exit } from "../../protocol/record.ts";
import type { Launched } from "../launcher.ts";
import { AFTER_KILL_MS, becomesTrue, settlesWithin } from "../processes.ts";
import { awaitShare, countLine, hasShare } from "./loop-share.ts";
import { type TimeCause, TimeLimits, type TimeLimitSettings } from "./time-limits.ts";

/** How long the pipes of an exited process may stay open before its group is ended. */
const PIPE_GRACE_MS = 500;
/** How many times longer, while their output waits for its share of the event loop. */
const FLOODED_GRACES = 10;
/** Maximum time between SIGTERM and SIGKILL for the leftovers of an exited process. */
const LEFTOVER_GRACE_MS = 1_400;
/** How long the pipes may take to close once the group is gone; only an escaped process can still hold them. */
const CLOSE_GRACE_MS = 100;
/** After a run this long, a thorough search for escaped processes is not noticeable. */
const LONG_RUN_MS = 1_000;

/** Milliseconds and bytes. */
export interface RunLimits extends TimeLimitSettings {
  readonly kill_grace_ms: number;
  /** Maximum for stdout and stderr together. */
  readonly max_output_bytes: number;
}

export type Stream = "stdout" | "stderr";

/** Takes a run's output line by line. The bytes are only valid during the call. `line` may return a promise to wait for before reading on. */
export interface RunListener {
  capOf(stream: Stream, firstByte: number): number;
  line(stream: Stream, bytes: Buffer, cut: boolean): Promise<void> | undefined;
}

/** Takes a run's output in chunks as they arrive. The bytes are only valid during the call. */
export interface OutputListener {
  chunk(stream: Stream, bytes: Buffer): undefined;
}

type Splitter = Pick<LineSplitter, "end"> & { push(chunk: Buffer): number | undefined };

/** Why a run ended: it exited, or the reason for stopping it. */
export type EndCause = TimeCause | "exited" | "output_limit" | "cancelled" | "not_recorded";

export interface RunEnd {
  readonly cause: EndCause;
  /** Missing if the process survived SIGKILL. */
  readonly exit?: Exit;
  /** Whether the process printed anything. */
  readonly spoke: boolean;
}

/**
 * Supervises one process from start to end. It is stopped when it exceeds a limit, its group is gone when `ended` settles, and its output is read in
 * bounded chunks. `ended` never rejects, and settles within two seconds of the exit (seven where everything floods), or within `kill_grace_ms` and two
 * seconds of `stop`.
 *
 * Escaped processes (setsid) are also ended if they are found: see launch.ts. Others live on without the pipes.
 */
export class SupervisedRun {
  readonly ended: Promise<RunEnd>;
  readonly #launched: Launched;
  readonly #limits: RunLimits;
  readonly #listener: RunListener | OutputListener;
  /** Ends the run; the first cause wins. */
  readonly #decide: (cause: EndCause) => void;
  readonly #splitters = new Set<Splitter>();
  readonly #time: TimeLimits;
  #bytes = 0;
  #pausedPipes = 0;
  #waiting = 0;
  #waitFor: Promise<void> | undefined;
  #over = false;
  #exited = false;
  #isGiven = false;
  /** Text said before the input is given. */
  readonly #unsaid: (string | Buffer)[] = [];

  constructor(launched: Launched, limits: RunLimits, listener: RunListener | OutputListener, signal: AbortSignal) {
    this.#launched = launched;
    this.#limits = limits;
    this.#listener = listener;
    this.#time = new TimeLimits(
      limits,
      () => this.#pausedPipes > 0,
      (cause) => this.stop(cause),
    );
    const { promise, resolve } = Promise.withResolvers<EndCause>();
    this.#decide = resolve;
    void launched.exited.then(() => resolve("exited"));
    this.ended = this.#run(promise, this.#read(), signal);
  }

  /** Writes the input, then ends stdin unless more will be said. The time limits start here. */
  give(input: string | Buffer, more = false): void {
    if (this.#over) return;
    this.#isGiven = true;
    for (const text of [input, ...this.#unsaid]) this.#launched.stdin.write(text);
    if (!more) this.#launched.stdin.end();
    this.#time.start();
  }

  /** Writes to a process that is given its input with `more`: after the input, if that has not been given yet. */
  say(text: string | Buffer): void {
    if (this.#over) return;
    if (this.#isGiven) this.#launched.stdin.write(text);
    else this.#unsaid.push(text);
  }

  /** Ends the stdin of a process that was given its input with `more`: it has `answer_grace_ms` to exit, and no other limit. */
  close(): void {
    this.#launched.stdin.end();
    this.#time.answered();
  }

  /** Suspends the time limits while waiting for a person. */
  async whileWaiting<T>(answer: Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#time.suspend();
    try {
      return await answer;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#time.proceed();
    }
  }

  /** Call when the agent has answered: it has `answer_grace_ms` to exit, and no other limit. */
  answered(): void {
    this.#time.answered();
  }

  /** Ends the process and its group. The first cause wins. */
  stop(cause: EndCause): void {
    this.#finish();
    this.#decide(cause);
  }

  get #isOverLimit(): boolean {
    return this.#bytes > this.#limits.max_output_bytes;
  }

  #finish(): void {
    this.#over = true;
    this.#time.end();
  }

  async #run(decided: Promise<EndCause>, closed: Promise<unknown>, signal: AbortSignal): Promise<RunEnd> {
    const { exited } = this.#launched;
    const began = performance.now();
    const cancel = () => this.stop("cancelled");
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    const cause = await decided;
    signal.removeEventListener("abort", cancel);
    this.#finish();
    this.#exited = cause === "exited";
    // Reads the rest of the pipes, which is bounded, even if a listener asked to wait.
    this.#launched.stdout.resume();
    this.#launched.stderr.resume();
    if (cause === "exited") {
      let pipesClosed = await settlesWithin(closed, PIPE_GRACE_MS);
      for (let more = 0; more < FLOODED_GRACES && !pipesClosed && this.#pausedPipes > 0; more += 1)
        pipesClosed = await settlesWithin(closed, PIPE_GRACE_MS);
      const expectEscaped = !pipesClosed || this.#launched.groupLives() || performance.now() - began >= LONG_RUN_MS;
      this.#launched.findEscaped(expectEscaped);
      if (this.#launched.groupLives()) {
        await endGroup(this.#launched, Math.min(this.#limits.kill_grace_ms, LEFTOVER_GRACE_MS));
      }
    } else {
      await endGroup(this.#launched, this.#limits.kill_grace_ms);
    }
    await settlesWithin(closed, CLOSE_GRACE_MS);
    this.#launched.destroyPipes();
    for (const splitter of this.#splitters) splitter.end();
    const exit = await Promise.race([exited, nextPoll(undefined)]);
    // Output over the limit after the answer does not invalidate the answer.
    const exceededOutput = cause === "exited" && this.#isOverLimit && !this.#time.isAnswered;
    return {
      cause: exceededOutput ? "output_limit" : cause,
      ...(exit === undefined ? {} : { exit }),
      spoke: this.#bytes > 0,
    };
  }

  /** Reads both pipes; settles when both are closed. */
  #read(): Promise<unknown> {
    return Promise.all([this.#listen("stdout"), this.#listen("stderr")]);
  }

  #listen(name: Stream): Promise<void> {
    const stream = this.#launched[name];
    // Created with the first output: most runs are silent for a long time, and many print nothing on stderr.
    let splitter: Splitter | undefined;
    stream.on("data", (chunk: Buffer) => this.#take(stream, (splitter ??= this.#splitterOf(name)), chunk));
    stream.on("end", () => splitter?.end());
    return new Promise((resolve) => void stream.on("close", resolve));
  }

  #splitterOf(name: Stream): Splitter {
    const listener = this.#listener;
    if ("chunk" in listener) return { push: (bytes) => listener.chunk(name, bytes), end() {} };
    const splitter = new LineSplitter(
      (firstByte) => listener.capOf(name, firstByte),
      (bytes, cut) => {
        this.#waitFor = listener.line(name, bytes, cut) ?? this.#waitFor;
        countLine(bytes.length);
        // What an exited process has left in its pipes has to be read soon.
        return !this.#exited && !hasShare();
      },
    );
    this.#splitters.add(splitter);
    return splitter;
  }

  #take(stream: Readable, splitter: Splitter, chunk: Buffer): void {
    if (this.#isOverLimit) return;
    this.#time.activity();
    const room = this.#limits.max_output_bytes - this.#bytes;
    // The chunk may hold an answer before the limit.
    const allowed = chunk.subarray(0, room);
    const taken = hasShare() ? (splitter.push(allowed) ?? allowed.length) : 0;
    this.#bytes += taken === allowed.length ? chunk.length : taken;
    if (this.#isOverLimit) {
      // The line that the limit cuts is dropped.
      this.#splitters.delete(splitter);
      this.stop("output_limit");
      this.#launched.destroyPipes();
      return;
    }
    const wait = this.#over ? undefined : this.#waitFor;
    this.#waitFor = undefined;
    if (wait !== undefined || taken < allowed.length) this.#pause(stream, chunk.subarray(taken), wait);
  }

  /** Reads on after `wait`, or when the event loop has had time for everything else. */
  #pause(stream: Readable, rest: Buffer, wait: Promise<void> | undefined): void {
    stream.pause();
    if (rest.length > 0) stream.unshift(rest);
    this.#pausedPipes += 1;
    const goOn = () => {
      this.#pausedPipes -= 1;
      if (stream.destroyed) return;
      this.#time.activity();
      stream.resume();
      // Handles the rest at once: `resume` would do it after others have had their share.
      stream.read();
    };
    if (wait === undefined) awaitShare(() => (this.#exited ? 0 : this.#bytes), goOn);
    else void wait.then(goOn);
  }
}

/** Sends SIGTERM to the group, waits `grace_ms`, sends SIGKILL. Also sends SIGCONT: a stopped process handles SIGTERM only when it continues. */
async function endGroup(launched: Launched, grace_ms: number): Promise<void> {
  launched.findEscaped(true);
  launched.signalGroup("SIGTERM");
  launched.signalGroup("SIGCONT");
  if (await groupEnds(launched, grace_ms)) return;
  launched.findEscaped(true);
  launched.signalGroup("SIGKILL");
  await groupEnds(launched, AFTER_KILL_MS);
}

async function groupEnds(launched: Launched, within_ms: number): Promise<boolean> {
  const deadline = performance.now() + within_ms;
  if (!(await settlesWithin(launched.exited, within_ms))) return false;
  return becomesTrue(() => !launched.groupLives(), deadline - performance.now());
}
