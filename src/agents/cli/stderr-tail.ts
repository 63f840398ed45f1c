import type { RunListener, Stream } from "./process.ts";
import { replaceEachUnsafe, withoutSequences } from "../../lib/terminal-text.ts";

const KEPT_BYTES = 2_048;

/** The last lines of an agent's stderr, at most 2 KiB: usually the reason for a failed exit. */
export class StderrTail implements RunListener {
  #text = "";

  capOf(): number {
    return KEPT_BYTES;
  }

  /** As a run's listener, keeps nothing but stderr. */
  line(stream: Stream, bytes: Buffer): undefined {
    if (stream === "stderr") this.add(bytes.toString("utf8"));
    return undefined;
  }

  add(line: string): void {
    this.#text = `${this.#text}${line.slice(-KEPT_BYTES)}\n`.slice(-KEPT_BYTES);
  }

  /** The kept text without control sequences and invisible characters, so that messages can quote it. */
  text(): string {
    const kept = (character: string) => (character === "\n" || character === "\t" ? character : "?");
    return lastBytes(replaceEachUnsafe(withoutSequences(this.#text), kept).trim(), KEPT_BYTES);
  }
}

function lastBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - most);
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.toString("utf8", start);
}
