import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { LineSplitter } from "../../lib/lines.ts";

/** Maximum number of lines emitted of a turn, both streams together; the process that runs the turn has the same limit. */
const MAX_LINES = 1_000;

/** Maximum number of characters emitted of a line, and its maximum size in UTF-8, in bytes. */
const LINE_CHARACTERS = 8_192;
const LINE_BYTES = LINE_CHARACTERS * 4;

/** Maximum number of bytes read of a file at once. */
const READ_BYTES = 65_536;

const STREAMS = ["stdout", "stderr"] as const;

export interface OutputLine {
  readonly stream: (typeof STREAMS)[number];
  readonly text: string;
}

/**
 * Follows the output of one run of a turn, in the files that its scheduler writes. They appear with the first line, or never. Only whole lines
 * are emitted. A file that cannot be read is no longer followed: output is shown as far as possible, and is no evidence.
 */
export class TurnOutput {
  readonly #files: readonly FollowedFile[];
  readonly #most: number;
  #told = 0;

  /** With `fromNow`, existing content is skipped. `most` is the maximum number of lines in total. */
  constructor(
    folder: string,
    { turn_id, run }: { turn_id: string; run: number },
    fromNow: boolean,
    most: number = MAX_LINES,
  ) {
    this.#most = most;
    const begin = join(folder, `${turn_id}.${run}`);
    this.#files = STREAMS.map((stream) => new FollowedFile(`${begin}.${stream}.log`, stream, fromNow));
  }

  /** The lines since the last call; with `toEnd` all there are, including an unfinished last line. */
  read(toEnd = false): OutputLine[] {
    const lines = this.#files.flatMap((file) => (this.#told < this.#most ? file.read(toEnd) : []));
    const told = lines.slice(0, this.#most - this.#told);
    this.#told += told.length;
    return told;
  }
}

class FollowedFile {
  readonly #path: string;
  readonly #lines: LineSplitter;
  #found: OutputLine[] = [];
  #position = 0;
  #isBroken = false;

  constructor(path: string, stream: OutputLine["stream"], fromNow: boolean) {
    this.#path = path;
    if (fromNow) this.#position = this.#size();
    this.#lines = new LineSplitter(
      () => LINE_BYTES,
      (line) => void this.#found.push({ stream, text: line.toString("utf8").slice(0, LINE_CHARACTERS) }),
    );
  }

  read(toEnd: boolean): OutputLine[] {
    this.#found = [];
    if (!toEnd) this.#readMore();
    else {
      while (this.#found.length < MAX_LINES && this.#readMore());
      this.#lines.end();
    }
    return this.#found;
  }

  /** Returns whether there was anything to read. */
  #readMore(): boolean {
    if (this.#isBroken || this.#size() <= this.#position) return false;
    try {
      const file = openSync(this.#path, "r");
      try {
        const chunk = Buffer.allocUnsafe(READ_BYTES);
        const length = readSync(file, chunk, 0, READ_BYTES, this.#position);
        this.#position += length;
        this.#lines.push(chunk.subarray(0, length));
        return length > 0;
      } finally {
        closeSync(file);
      }
    } catch {
      this.#isBroken = true;
      return false;
    }
  }

  #size(): number {
    try {
      return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    } catch {
      this.#isBroken = true;
      return 0;
    }
  }
}
