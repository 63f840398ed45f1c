import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { dirname } from "node:path";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { settlesWithin } from "../processes.ts";

const BUFFERED_BYTES = 262_144;
const CLOSE_MS = 1_000;

/**
 * Writes an agent's console lines to a file of at most `maxBytes`, created with the first line. If writing fails, the log is abandoned and the turn
 * continues.
 */
export class ConsoleLog {
  readonly #path: string;
  readonly #maxBytes: number;
  #bytes = 0;
  #file: WriteStream | undefined;
  #closed = false;
  #drained: Promise<void> | undefined;

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** Appends a line. If the disk is behind, returns a promise to wait for before the next line. */
  write(line: string): Promise<void> | undefined {
    if (this.#closed || this.#bytes >= this.#maxBytes) return undefined;
    const room = this.#maxBytes - this.#bytes;
    const bytes = Buffer.from(`${line}\n`).subarray(0, room);
    this.#bytes += bytes.length;
    this.#file ??= this.#open();
    const file = this.#file;
    if (file === undefined || file.write(bytes)) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const drained = () => {
        this.#drained = undefined;
        file.off("drain", drained);
        file.off("close", drained);
        resolve();
      };
      file.on("drain", drained);
      file.on("close", drained);
    });
    return this.#drained;
  }

  /** Settles once the file is written and closed, or after a second if the disk hangs. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    const file = this.#file;
    if (file === undefined || file.closed) return;
    const written = once(file, "close").catch(() => {});
    file.end();
    await settlesWithin(written, CLOSE_MS);
    file.destroy();
  }

  #open(): WriteStream | undefined {
    try {
      makeDirectory(dirname(this.#path));
    } catch {
      this.#closed = true;
      return undefined;
    }
    const file = createWriteStream(this.#path, { flags: "a", ...OWN, highWaterMark: BUFFERED_BYTES });
    file.on("error", () => {
      this.#closed = true;
    });
    return file;
  }
}
