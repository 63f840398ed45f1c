import type { Json, JsonObject } from "../lib/json.ts";
import { at } from "../lib/json-pointer.ts";
import { LEVELS, sizeOf } from "./cut.ts";
import { cutTo, type Lookup, resolveWithin } from "./references.ts";

/** What is put to somebody, and what they need to know for it. */
export interface Quoting {
  readonly message: Json;
  readonly context: JsonObject;
}

/** So far the context is cut before the message is. */
const CONTEXT_FIRST = LEVELS.filter(({ characters }) => characters >= 4_096);
const CONTEXT_LAST = LEVELS.filter(({ characters }) => characters < 4_096);

/** No path is longer; none is made only to be measured. */
const LONGEST_PATH = "/".repeat(4_096);

/**
 * A draft that resolves to at most so many bytes: itself, mostly, and else with its context cut, then its message, of which what can
 * be run stays whole; last that, too, unless the reader is one who `runs` it. `note` is told with what is cut. Should the last level not
 * suffice, it is given all the same.
 */
export function fittingDraft<D extends Quoting>(
  draft: D,
  lookup: Lookup,
  bytes: number,
  { note, runs }: { readonly note: string; readonly runs: boolean },
): D {
  if (atMost(draft as unknown as Json, lookup, bytes) <= bytes) return draft;
  const measured: Lookup = {
    record: (sequence) => lookup.record(sequence),
    bytes: (sequence) => lookup.bytes(sequence),
    file: () => LONGEST_PATH,
  };
  let last = draft;
  for (last of candidates(draft, note, runs)) {
    if (resolveWithin(last as unknown as Json, measured, bytes) !== undefined) break;
  }
  return last;
}

/** A context with one more note. */
export function withNote(context: JsonObject, note: string): JsonObject {
  const notes = Array.isArray(context.notes) ? (context.notes as readonly Json[]) : [];
  return { ...context, notes: [...notes, note] };
}

function* candidates<D extends Quoting>(draft: D, note: string, runs: boolean): IterableIterator<D> {
  yield draft;
  const context = withNote(draft.context, note);
  let next = draft;
  for (const level of CONTEXT_FIRST) yield (next = { ...next, context: cutTo(context, level) });
  for (const level of LEVELS) yield (next = { ...next, message: cutTo(draft.message, level, true) });
  for (const level of CONTEXT_LAST) yield (next = { ...next, context: cutTo(context, level) });
  if (!runs) for (const level of LEVELS) yield (next = { ...next, message: cutTo(draft.message, level) });
}

/** Of a longer record, in bytes, only what is quoted is measured. */
const LONG_RECORD = 65_536;

/** No fewer bytes than the draft resolves to if they are at most `limit`, mostly from the sizes of the records alone. */
function atMost(value: Json | undefined, lookup: Lookup, limit: number): number {
  // No UTF-16 unit takes more, and what stands in a draft itself is short: it is not worth measuring.
  if (typeof value === "string") return 2 + 6 * value.length;
  if (value === null || typeof value !== "object") return sizeOf(value);
  let bytes = 4;
  if (Array.isArray(value)) {
    for (const entry of value as readonly Json[]) bytes += 1 + atMost(entry, lookup, limit);
    return bytes;
  }
  const object = value as JsonObject;
  for (const key of Object.keys(object)) {
    const member = object[key];
    if (key === "$from" && Array.isArray(member)) return quotedAtMost(member as never, lookup, limit);
    if (key === "$history" && Array.isArray(member)) return historyAtMost(member as never, lookup);
    if (key === "$file" && Array.isArray(member)) return LONGEST_PATH.length;
    bytes += 6 * key.length + 4 + atMost(member, lookup, limit);
  }
  return bytes;
}

function quotedAtMost([sequence, pointer]: readonly [number, string], lookup: Lookup, limit: number): number {
  const bytes = lookup.bytes(sequence);
  // A plan is long, and every request quotes a little of it in several places.
  return bytes <= LONG_RECORD ? bytes : sizeOf(at(lookup.record(sequence).payload, pointer), limit);
}

function historyAtMost(sequences: readonly number[], lookup: Lookup): number {
  let bytes = 4;
  for (const sequence of sequences) bytes += lookup.bytes(sequence);
  return bytes;
}
