import type { OutputListener, Stream } from "../agents/cli/process.ts";
import { sizeOf } from "../kernel/cut.ts";

/** How much of a check's output is kept as evidence: its end, in bytes. */
const OUTPUT_BYTES = 8 * 1024;

/**
 * What the outputs of one result may have together, in bytes of its record. The criteria stood in records before, so both fit
 * into one; and two thousand checks have room for all that is kept of each.
 */
const OUTPUTS_BYTES = 16 * 1024 * 1024;

const LINE_FEED = 0x0a;

/** Keeps the end of what a check prints. A line of one stream is not torn by what comes on the other meanwhile. */
export class OutputEnd implements OutputListener {
  #lines = Buffer.alloc(0);
  /** What each stream has said of a line that has not ended. */
  readonly #begun = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  chunk(stream: Stream, bytes: Buffer): void {
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

/** Without what is left of a character whose first bytes were cut off, and the line end that the last line has like any other. */
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

/** Gives of each output of a result, one after the other, the end for which there is still room. */
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
