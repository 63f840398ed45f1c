import type { Terminal } from "../terminal.ts";
import { Decoder, type Key } from "./decoder.ts";

/** How long the rest of a key's bytes is awaited, in ms; longer over a network. */
const HOLD_MS = 100;
const REMOTE_HOLD_MS = 300;

/** Makes the terminal mark pasted text, so that its line breaks can be told from Enter. */
const MARK_PASTES = "\u001B[?2004h";
const STOP_MARKING_PASTES = "\u001B[?2004l";

const DEADLY = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The keys of this terminal for one reader, from when it is made until `close`. The terminal neither edits lines nor makes signals meanwhile. */
export class Keyboard {
  readonly #input: NodeJS.ReadStream;
  readonly #stream: NodeJS.WriteStream;
  readonly #onKey: (key: Key) => void;
  readonly #decoder: Decoder;
  readonly #signals: readonly NodeJS.Signals[];
  #waiting: NodeJS.Timeout | undefined;
  #isOpen = false;

  constructor({ input, isRemote }: Terminal, stream: NodeJS.WriteStream, onKey: (key: Key) => void) {
    this.#input = input;
    this.#stream = stream;
    this.#onKey = onKey;
    this.#decoder = new Decoder(isRemote ? REMOTE_HOLD_MS : HOLD_MS);
    // Where somebody listens, the process lives on or restores the terminal as it exits.
    this.#signals = DEADLY.filter((signal) => process.listenerCount(signal) === 0);
    for (const signal of this.#signals) process.on(signal, this.#die);
    process.on("exit", this.#leave);
    input.on("error", ignore);
    this.enter();
    input.on("data", this.#hear).resume();
    this.#isOpen = true;
  }

  /** Sets the terminal's modes, which a shell may have changed meanwhile. */
  enter(): void {
    // Node keeps the mode it set last, and does nothing if that stays the same.
    this.#input.setRawMode(false).setRawMode(true);
    this.#stream.write(MARK_PASTES);
  }

  /** Suspends the job, with the modes that a shell expects. */
  suspend(): void {
    this.#leave();
    suspendJob();
  }

  /** Restores the modes that a shell expects. What is left of the last read is nobody's. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#waiting);
    this.#input.off("data", this.#hear).pause();
    for (const signal of this.#signals) process.off(signal, this.#die);
    process.off("exit", this.#leave);
    this.#leave();
    this.#input.off("error", ignore);
  }

  readonly #hear = (bytes: Buffer) => {
    this.#tell(this.#decoder.read(bytes, performance.now()));
  };

  #tell(keys: readonly Key[]): void {
    for (const key of keys) if (this.#isOpen) this.#onKey(key);
    clearTimeout(this.#waiting);
    const { due } = this.#decoder;
    if (due === undefined || !this.#isOpen) return;
    // After a stall of this process, timers come before the input that has arrived meanwhile.
    const flush = () => this.#isOpen && this.#decoder.due === due && this.#tell(this.#decoder.flush());
    this.#waiting = setTimeout(() => setImmediate(flush), due - performance.now());
  }

  readonly #leave = () => {
    this.#stream.write(STOP_MARKING_PASTES);
    this.#input.setRawMode(false);
  };

  readonly #die = (signal: NodeJS.Signals) => {
    this.close();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
}

/** A terminal that is gone has no modes. The end of its input tells the reader. */
function ignore(): void {}

/**
 * Suspends the whole job, as the terminal does outside raw mode, because a shell watches only its own child, which may be npm. Returns once the job
 * continues, or at once if no shell could continue it.
 */
export function suspendJob(): void {
  process.kill(0, "SIGTSTP");
}
