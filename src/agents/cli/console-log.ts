import { once } from "node:events";
import { createWriteStream, mkdirSync, type WriteStream } from "node:fs";
import { dirname } from "node:path";
import { within } from "./ending.ts";

const BUFFERED_BYTES = 262_144;
const CLOSE_MS = 1_000;

/**
 * Keeps what an agent printed that is no message, in a file of at most `maxBytes`, made with the first line. A file that
 * cannot be written is given up for good: it is evidence only, and the turn goes on.
 */
export class ConsoleLog {
  readonly #path: string;
  readonly #maxBytes: number;
  #bytes = 0;
  #file: WriteStream | undefined;
  #closed = false;
  #relief: Promise<void> | undefined;

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** Appends a line; returns what to wait for before more is written, if the disk is behind. */
  write(line: string): Promise<void> | undefined {
    if (this.#closed || this.#bytes >= this.#maxBytes) return undefined;
    const room = this.#maxBytes - this.#bytes;
    const bytes = Buffer.from(`${line}\n`).subarray(0, room);
    this.#bytes += bytes.length;
    this.#file ??= this.#open();
    const file = this.#file;
    if (file === undefined || file.write(bytes)) return undefined;
    this.#relief ??= new Promise((resolve) => {
      const relieve = () => {
        this.#relief = undefined;
        file.off("drain", relieve);
        file.off("close", relieve);
        resolve();
      };
      file.on("drain", relieve);
      file.on("close", relieve);
    });
    return this.#relief;
  }

  /** Settles when everything is with the system and the file is closed, or a hanging disk has had its time. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    const file = this.#file;
    if (file === undefined || file.closed) return;
    const written = once(file, "close").catch(() => {});
    file.end();
    await within(written, CLOSE_MS);
    file.destroy();
  }

  #open(): WriteStream | undefined {
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
    } catch {
      this.#closed = true;
      return undefined;
    }
    const file = createWriteStream(this.#path, { flags: "a", mode: 0o600, highWaterMark: BUFFERED_BYTES });
    file.on("error", () => {
      this.#closed = true;
    });
    return file;
  }
}
