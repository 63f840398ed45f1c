import type { OutputListener, Stream } from "./process.ts";

const LINE_FEED = 0x0a;

/** Keeps the end of a program's output, of at most `maxBytes`. Lines of stdout and stderr are not mixed. */
export class OutputEnd implements OutputListener {
  readonly #maxBytes: number;
  #lines = Buffer.alloc(0);
  /** The unfinished line of each stream. */
  readonly #begun = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the beginning is lost. */
  get isCut(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  chunk(stream: Stream, bytes: Buffer): undefined {
    const begun = this.#begun[stream];
    const next = bytes.lastIndexOf(LINE_FEED) + 1;
    this.#bytes += bytes.length;
    if (next > 0) this.#lines = this.#endOf(this.#lines, begun, bytes.subarray(0, next));
    this.#begun[stream] = next > 0 ? this.#endOf(bytes.subarray(next)) : this.#endOf(begun, bytes);
  }

  /** Without a character cut in half at its beginning and without the last line end. */
  text(): string {
    const { stdout, stderr } = this.#begun;
    const between = stdout.length > 0 && stderr.length > 0 ? "\n" : "";
    const bytes = this.#endOf(this.#lines, stdout, Buffer.from(between), stderr);
    const whole = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
    const start = bytes.length === this.#maxBytes ? Math.max(0, whole) : 0;
    return bytes.toString("utf8", start).replaceAll("\r\n", "\n").replace(/\n$/, "");
  }

  #endOf(...pieces: readonly Buffer[]): Buffer<ArrayBuffer> {
    return Buffer.concat(pieces).subarray(-this.#maxBytes);
  }
}
