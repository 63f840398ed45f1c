const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const FIRST_CAPACITY = 4096;
const KEPT_CAPACITY = 65_536;
const EMPTY = Buffer.alloc(0);

/**
 * Splits a byte stream into lines at LF, with bounded memory for hostile output. `node:readline` also splits at other line ends (U+2028),
 * which are legal inside JSON texts.
 *
 * `capOf` returns the maximum size of a line, in bytes, from its first byte. `deliver` gets each line without its LF or CRLF. A longer line is
 * delivered once, as soon as it is too long: its first bytes, with `cut` true. The buffer is valid only during the call. `deliver` returns true to
 * get no further line of the chunk now.
 */
export class LineSplitter {
  readonly #capOf: (firstByte: number) => number;
  readonly #deliver: (line: Buffer, cut: boolean) => boolean | undefined;
  #pending = EMPTY;
  #length = 0;
  #discarding = false;

  constructor(capOf: (firstByte: number) => number, deliver: (line: Buffer, cut: boolean) => boolean | undefined) {
    this.#capOf = capOf;
    this.#deliver = deliver;
  }

  /** Takes a chunk, and returns how many of its bytes: fewer than there are if `deliver` returned true. */
  push(chunk: Buffer): number {
    for (let start = 0; start < chunk.length; ) {
      const lineFeed = chunk.indexOf(LINE_FEED, start);
      if (lineFeed === -1) {
        this.#keep(chunk.subarray(start));
        break;
      }
      const stops = this.#finish(chunk.subarray(start, lineFeed));
      start = lineFeed + 1;
      if (stops) return start;
    }
    return chunk.length;
  }

  /** Delivers the rest after the last LF. Further calls do nothing. */
  end(): void {
    if (this.#length > 0 && !this.#discarding) {
      const cap = this.#capOf(this.#pending.readUInt8(0));
      this.#deliver(this.#pending.subarray(0, Math.min(this.#length, cap)), this.#length > cap);
    }
    this.#reset();
  }

  #finish(rest: Buffer): boolean {
    const isBegun = this.#length > 0 || this.#discarding;
    if (isBegun) this.#keep(rest);
    const stops = !this.#discarding && this.#deliverWhole(isBegun ? this.#pending.subarray(0, this.#length) : rest);
    this.#reset();
    return stops === true;
  }

  #deliverWhole(line: Buffer): boolean | undefined {
    const text = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
    const cap = text.length === 0 ? 0 : this.#capOf(text.readUInt8(0));
    return this.#deliver(text.subarray(0, cap), text.length > cap);
  }

  /** Keeps one byte beyond the cap, because a CR there may be part of the line end. */
  #keep(piece: Buffer): void {
    if (this.#discarding || piece.length === 0) return;
    const cap = this.#capOf(this.#length > 0 ? this.#pending.readUInt8(0) : piece.readUInt8(0));
    const kept = piece.subarray(0, cap + 1 - this.#length);
    this.#reserve(this.#length + kept.length, cap + 1);
    kept.copy(this.#pending, this.#length);
    this.#length += kept.length;
    const mayStillFit = this.#length <= cap || this.#pending[cap] === CARRIAGE_RETURN;
    if (kept.length === piece.length && mayStillFit) return;
    this.#deliver(this.#pending.subarray(0, cap), true);
    this.#discarding = true;
  }

  #reserve(needed: number, most: number): void {
    if (needed <= this.#pending.length) return;
    const capacity = Math.min(most, Math.max(needed, this.#pending.length * 2, FIRST_CAPACITY));
    const larger = Buffer.allocUnsafeSlow(capacity);
    this.#pending.copy(larger, 0, 0, this.#length);
    this.#pending = larger;
  }

  #reset(): void {
    this.#length = 0;
    this.#discarding = false;
    if (this.#pending.length > KEPT_CAPACITY) this.#pending = EMPTY;
  }
}
