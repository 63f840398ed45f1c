import type { Terminal } from "../terminal.ts";
import { Decoder, type Key } from "./decoder.ts";

/** How long the rest of a key's bytes is awaited, in ms; longer over a network. */
const HOLD_MS = 100;
const REMOTE_HOLD_MS = 300;

/** Makes the terminal mark pasted text, so that its line breaks can be told from Enter. */
const MARK_PASTES = "\u001B[?2004h";
const STOP_MARKING_PASTES = "\u001B[?2004l";

/** The keys of a terminal for one reader, until `close`. Meanwhile the terminal itself neither edits lines nor sends signals. */
export class Keyboard {
  readonly #input: NodeJS.ReadStream;
  readonly #stream: NodeJS.WriteStream;
  readonly #onKey: (key: Key) => void;
  readonly #decoder: Decoder;
  /** The signals that would end this process at once. Where somebody listens, it exits or closes this in time. */
  readonly #deadly = (["SIGINT", "SIGTERM", "SIGHUP"] as const).filter((signal) => process.listenerCount(signal) === 0);
  #waiting: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor({ input, isRemote }: Terminal, stream: NodeJS.WriteStream, onKey: (key: Key) => void) {
    this.#input = input;
    this.#stream = stream;
    this.#onKey = onKey;
    this.#decoder = new Decoder(isRemote ? REMOTE_HOLD_MS : HOLD_MS);
    for (const signal of this.#deadly) process.on(signal, this.#die);
    process.on("exit", this.leave);
    input.on("error", ignore).on("data", this.#hear);
    this.enter();
    input.resume();
  }

  /** Sets the terminal's modes, which a shell may have changed meanwhile. */
  enter(): void {
    // Node keeps the mode it set last, and does nothing if that stays the same.
    this.#input.setRawMode(false).setRawMode(true);
    this.#stream.write(MARK_PASTES);
  }

  /** Sets the modes that a shell expects. */
  readonly leave = () => {
    this.#stream.write(STOP_MARKING_PASTES);
    this.#input.setRawMode(false);
  };

  /** What is left of the last read is nobody's. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#waiting);
    this.leave();
    this.#input.off("error", ignore).off("data", this.#hear).pause();
    process.off("exit", this.leave);
    for (const signal of this.#deadly) process.off(signal, this.#die);
  }

  readonly #hear = (bytes: Buffer) => this.#tell(this.#decoder.read(bytes, performance.now()));

  #tell(keys: readonly Key[]): void {
    for (const key of keys) if (this.#isOpen) this.#onKey(key);
    clearTimeout(this.#waiting);
    const { due } = this.#decoder;
    if (due === undefined || !this.#isOpen) return;
    // After a stall of this process, timers come before the input that has arrived meanwhile.
    const flush = () => this.#isOpen && this.#decoder.due === due && this.#tell(this.#decoder.flush());
    this.#waiting = setTimeout(() => setImmediate(flush), due - performance.now());
  }

  readonly #die = (signal: NodeJS.Signals) => {
    this.close();
    process.kill(process.pid, signal);
  };
}

/** A terminal that is gone has no modes. The end of its input tells the reader. */
function ignore(): void {}

/**
 * Suspends the whole job, as the terminal does outside raw mode, because a shell watches only its own child, which may be npm. Calls `continued`, which
 * listens to SIGCONT, once the job continues, or at once if no shell could continue it.
 */
export function suspendJob(continued: () => void): void {
  process.off("SIGCONT", continued);
  process.kill(0, "SIGTSTP");
  process.on("SIGCONT", continued);
  continued();
}
