import type { OutputListener, Stream } from "../agents/cli/process.ts";
import { sizeOf } from "../kernel/cut.ts";

/** Number of bytes kept of the end of a check's output, as evidence. */
const OUTPUT_BYTES = 8 * 1024;

/** Maximum size of all outputs in one result record, in bytes. It leaves room for the criteria, and 2,000 checks keep all of theirs. */
const OUTPUTS_BYTES = 16 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** Keeps the end of a check's output. Lines of stdout and stderr are not mixed. */
export class OutputEnd implements OutputListener {
  #lines = Buffer.alloc(0);
  /** The unfinished line of each stream. */
  readonly #begun = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  chunk(stream: Stream, bytes: Buffer): undefined {
    const begun = this.#begun[stream];
    const next = bytes.lastIndexOf(LINE_FEED) + 1;
    if (next > 0) this.#lines = endOf(this.#lines, begun, bytes.subarray(0, next));
    this.#begun[stream] = next > 0 ? endOf(bytes.subarray(next)) : endOf(begun, bytes);
  }

  text(): string {
    const { stdout, stderr } = this.#begun;
    const between = stdout.length > 0 && stderr.length > 0 ? "\n" : "";
    return textOf(endOf(this.#lines, stdout, Buffer.from(between), stderr));
  }
}

function endOf(...pieces: readonly Buffer[]): Buffer<ArrayBuffer> {
  return Buffer.concat(pieces).subarray(-OUTPUT_BYTES);
}

/** Decodes the text, without a character cut in half at its beginning and without the last line end. */
function textOf(bytes: Buffer): string {
  const isCut = bytes.length === OUTPUT_BYTES;
  const start = isCut
    ? Math.max(
        0,
        bytes.findIndex((byte) => (byte & 0xc0) !== 0x80),
      )
    : 0;
  return bytes.toString("utf8", start).replaceAll("\r\n", "\n").replace(/\n$/, "");
}

/** Returns a function that cuts each output of a result to the part of its end that still fits. */
export function outputsOfResult(): (output: string) => string {
  let left = OUTPUTS_BYTES;
  return (output) => {
    const kept = endWithin(output, left);
    left -= sizeOf(kept);
    return kept;
  };
}

function endWithin(text: string, bytes: number): string {
  let size = sizeOf(text);
  if (size <= bytes) return text;
  const characters = Array.from(text);
  const first = characters.findIndex((character) => {
    if (size <= bytes) return true;
    size -= sizeOf(character) - 2;
    return false;
  });
  return first < 0 ? "" : characters.slice(first).join("");
}
