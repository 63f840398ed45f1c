import type { Json } from "../lib/json.ts";

/** A value and where each part of it stands in the text it came from. */
export interface Located {
  readonly value: Json;
  /** By JSON pointer; undefined for what the text does not hold. */
  readonly locate: (pointer: string) => Spot | undefined;
}

/** Offsets in UTF-16 units: of the value, and of its key where it has one. */
export interface Spot {
  readonly key?: number;
  readonly value: number;
}

/** Where a text stops being what it should be, as an offset in UTF-16 units, and what would have been right there. */
export interface Fault {
  readonly offset: number;
  /** Of the value concerned, where there is one. */
  readonly pointer?: string;
  readonly what: string;
  readonly expected?: string | undefined;
  readonly nearest?: string | undefined;
}
