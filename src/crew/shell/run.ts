import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import type { Readable } from "node:stream";

/** How much of a step's output is passed on as console text; what comes after is counted, so that the scheduler's own cap is never met. */
const SHOWN_BYTES = 1024 * 1024;
const TAIL_BYTES = 4096;
/** A line longer than this is shown in pieces. */
const LINE_BYTES = 16 * 1024;
/** How often a step that prints beyond the limit is still shown to be alive. */
const ALIVE_EVERY_MS = 5000;
/** How long the output may stay open after the step itself has ended, held by something it left behind. */
const DRAIN_MS = 500;
const KILL_AFTER_MS = 2000;

/** How a step ended. */
interface Ended {
  /** The exit code; 128 + n after signal n, 127 when there is no such program, 126 when it cannot be started, as shells have it. */
  readonly exit_code: number;
  /** The end of what it printed on both channels, at most 4 KiB. */
  readonly output: string;
}

/** A step that is under way. */
export interface Running {
  readonly ended: Promise<Ended>;
  /** Asks it to end, and ends it after two seconds. */
  stop(): void;
}

/**
 * Starts a program in `directory`, in this process's own group so that whoever ends the group ends the step too. Its output appears on our
 * stdout, each line behind `| `: a step that prints an envelope must not speak for us.
 */
export function run(argv: readonly string[], directory: string, env: NodeJS.ProcessEnv): Running {
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
      const place = existsSync(directory) ? "" : ` (the directory ${directory} is not there)`;
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

/** What a step prints: shown line by line up to the limit, the end kept. */
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

  /** Shows what is left without a newline, and gives the end of everything printed. */
  end(): string {
    for (const rest of this.#partial.values()) if (rest.length > 0) this.#print(rest);
    this.#partial.clear();
    if (this.#dropped > 0) process.stdout.write(`… ${this.#dropped} bytes more were not shown\n`);
    // A cut may have left the middle of a character in front.
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
