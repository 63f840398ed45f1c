import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { LineSplitter } from "../../lib/lines.ts";

/** As many lines of a turn are told, of both streams together, as the process that runs the turn tells. */
const MAX_LINES = 1_000;

/** As many characters of a line are told, and what they take in UTF-8 at most. */
const LINE_CHARACTERS = 8_192;
const LINE_BYTES = LINE_CHARACTERS * 4;

/** So much of a file is read at one look; the rest at the next. */
const READ_BYTES = 65_536;

const STREAMS = ["stdout", "stderr"] as const;

export interface OutputLine {
  readonly stream: (typeof STREAMS)[number];
  readonly text: string;
}

/**
 * Follows what one run of a turn prints, in the files its scheduler writes. They appear with the first line, or never. Only whole lines are
 * told. A file that cannot be read is not followed any more: output is shown as far as it can be, and is no evidence.
 */
export class TurnOutput {
  readonly #files: readonly FollowedFile[];
  readonly #most: number;
  #told = 0;

  /** With `fromNow` what the files hold already is skipped. `most`: so many lines are told in all. */
  constructor(
    folder: string,
    { turn_id, run }: { turn_id: string; run: number },
    fromNow: boolean,
    most: number = MAX_LINES,
  ) {
    this.#most = most;
    this.#files = STREAMS.map((stream) => {
      const path = join(folder, `${turn_id}.${run}.${stream}.log`);
      return new FollowedFile(path, fromNow, (text) => ({ stream, text }));
    });
  }

  /** The lines since the last call; with `toEnd` all there are, and a last one without its end. */
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

  constructor(path: string, fromNow: boolean, lineOf: (text: string) => OutputLine) {
    this.#path = path;
    if (fromNow) this.#position = this.#size();
    this.#lines = new LineSplitter(
      () => LINE_BYTES,
      (line) => void this.#found.push(lineOf(line.toString("utf8").slice(0, LINE_CHARACTERS))),
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

  /** Whether there was anything. */
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
