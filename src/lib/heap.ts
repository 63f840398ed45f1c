/** An entry stores its position, so that it can be removed from the middle. */
export interface HeapEntry {
  /** Set by the heap. */
  position: number;
}

/** A binary heap from which any entry can be removed. Adding and removing take logarithmic time. */
export class Heap<E extends HeapEntry> {
  readonly #entries: E[] = [];
  readonly #goesBefore: (a: E, b: E) => boolean;

  constructor(goesBefore: (a: E, b: E) => boolean) {
    this.#goesBefore = goesBefore;
  }

  get size(): number {
    return this.#entries.length;
  }

  first(): E | undefined {
    return this.#entries[0];
  }

  add(entry: E): void {
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  /** The entry must be in this heap. */
  remove(entry: E): void {
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#rise(last, entry.position);
    this.#sink(last, last.position);
  }

  /** Puts the entry at `from`, or higher while it goes before its parent. */
  #rise(entry: E, from: number): void {
    let position = from;
    while (position > 0) {
      const parent = this.#entries[(position - 1) >> 1];
      if (parent === undefined || !this.#goesBefore(entry, parent)) break;
      const above = parent.position;
      this.#set(position, parent);
      position = above;
    }
    this.#set(position, entry);
  }

  #sink(entry: E, from: number): void {
    let position = from;
    for (;;) {
      const left = this.#entries[2 * position + 1];
      const right = this.#entries[2 * position + 2];
      const child = left !== undefined && right !== undefined && this.#goesBefore(right, left) ? right : left;
      if (child === undefined || !this.#goesBefore(child, entry)) break;
      const below = child.position;
      this.#set(position, child);
      position = below;
    }
    this.#set(position, entry);
  }

  #set(position: number, entry: E): void {
    this.#entries[position] = entry;
    entry.position = position;
  }
}
