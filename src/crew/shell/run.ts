import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";

/** Maximum output shown for a step; the rest is only counted. It stays below the scheduler's own limit. */
const SHOWN_BYTES = 1024 * 1024;
const TAIL_BYTES = 4096;
/** Longer lines are shown in pieces. */
const LINE_BYTES = 16 * 1024;
/** How often a step that prints beyond the limit shows that it is alive, in ms. */
const ALIVE_EVERY_MS = 5000;
/** How long to wait for the output to close after the step has ended: a process that it left behind may hold it open. */
const DRAIN_MS = 500;
const KILL_AFTER_MS = 2000;

interface Ended {
  /** As in a shell: 128 + n after signal n, 127 for a missing program, 126 for one that cannot be started. */
  readonly exit_code: number;
  /** The end of its output, stdout and stderr together; at most 4 KiB. */
  readonly output: string;
}

export interface RunningStep {
  readonly ended: Promise<Ended>;
  /** Sends SIGTERM, and SIGKILL after two seconds. */
  stop(): void;
}

/**
 * Starts a program in `directory` and in this process's own group, so that ending the group ends the step. Its output appears on stdout with `| `
 * before each line, so that a step cannot print an envelope. Does not use execa: every turn starts this program anew, and loading execa takes longer
 * than starting Node.
 */
export function run(argv: readonly string[], directory: string, env: NodeJS.ProcessEnv): RunningStep {
  const output = new Output();
  let stop = (): void => {};
  const ended = new Promise<Ended>((resolve) => {
    const finish = (exit_code: number, note = ""): void =>
      resolve({ exit_code, output: (output.end() + note).trimEnd() });
    let child: ReturnType<typeof spawn>;
    try {
      child = spawn(argv[0] ?? "", argv.slice(1), { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
    } catch (error) {
      finish(126, `cannot be started: ${(error as Error).message}`);
      return;
    }
    let killer: NodeJS.Timeout | undefined;
    stop = () => {
      child.kill("SIGTERM");
      killer ??= setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
    };
    child.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(killer);
      const place = existsSync(directory) ? "" : ` (the directory ${directory} does not exist)`;
      finish(error.code === "ENOENT" ? 127 : 126, `cannot be started: ${error.message}${place}`);
    });
    const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
    for (const stream of streams) output.follow(stream);
    child.once("exit", (code, signal) => {
      clearTimeout(killer);
      const drained = setTimeout(() => {
        for (const stream of streams) stream.destroy();
      }, DRAIN_MS);
      child.once("close", () => {
        clearTimeout(drained);
        finish(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
      });
    });
  });
  return { ended, stop: () => stop() };
}

/** The output of a step: shown line by line up to the limit; the end is kept. */
class Output {
  #shown = 0;
  #dropped = 0;
  #aliveAt = 0;
  #tail = Buffer.alloc(0);
  readonly #partial = new Map<Readable, Buffer>();

  follow(stream: Readable): void {
    stream.on("data", (chunk: Buffer) => {
      this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
      this.#show(stream, chunk);
      if (process.stdout.writableNeedDrain) {
        stream.pause();
        process.stdout.once("drain", () => stream.resume());
      }
    });
  }

  /** Shows the last line without a newline, and returns the end of the whole output. */
  end(): string {
    for (const rest of this.#partial.values()) if (rest.length > 0) this.#print(rest);
    this.#partial.clear();
    if (this.#dropped > 0) process.stdout.write(`… ${this.#dropped} bytes more were not shown\n`);
    // The cut may have left half a character at the start.
    const start = this.#tail.length < TAIL_BYTES ? 0 : this.#tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return this.#tail.subarray(Math.max(0, start)).toString("utf8");
  }

  #show(stream: Readable, chunk: Buffer): void {
    if (this.#shown >= SHOWN_BYTES) return this.#drop(chunk.length);
    let rest = Buffer.concat([this.#partial.get(stream) ?? Buffer.alloc(0), chunk]);
    for (;;) {
      const newline = rest.indexOf(0x0a);
      if (newline < 0 && rest.length < LINE_BYTES) break;
      const end = newline < 0 ? LINE_BYTES : Math.min(newline, LINE_BYTES);
      this.#print(rest.subarray(0, end));
      rest = rest.subarray(end === newline ? end + 1 : end);
    }
    this.#partial.set(stream, rest);
  }

  #print(line: Buffer): void {
    this.#shown += line.length + 1;
    process.stdout.write(Buffer.concat([Buffer.from("| "), line, Buffer.from("\n")]));
  }

  #drop(bytes: number): void {
    this.#dropped += bytes;
    const now = Date.now();
    if (now - this.#aliveAt < ALIVE_EVERY_MS) return;
    this.#aliveAt = now;
    process.stdout.write(`… still printing; ${this.#dropped} bytes not shown\n`);
  }
}
