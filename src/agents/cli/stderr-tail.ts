import { stripVTControlCharacters } from "node:util";

const KEPT_BYTES = 2_048;
const CONTROL = /(?!\n|\t)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** The last lines an agent wrote to stderr, at most 2 KiB: usually the reason for its bad exit. */
export class StderrTail {
  #text = "";

  add(line: string): void {
    this.#text = `${this.#text}${line.slice(-KEPT_BYTES)}\n`.slice(-KEPT_BYTES);
  }

  /** Without control sequences and invisible characters, so that a message can quote it. */
  text(): string {
    const clean = stripVTControlCharacters(this.#text).replace(CONTROL, "?").trim();
    return lastBytes(clean, KEPT_BYTES);
  }
}

function lastBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  let start = Math.max(0, bytes.length - most);
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.toString("utf8", start);
}
