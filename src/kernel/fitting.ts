import type { Json, JsonObject } from "../lib/json.ts";
import { at } from "../lib/json-pointer.ts";
import { LEVELS, sizeOf } from "./cut.ts";
import { cutTo, type Lookup, resolveWithin } from "./references.ts";

/** A message for an agent, and its context. */
export interface Quoting {
  readonly message: Json;
  readonly context: JsonObject;
}

/** The context is cut to these levels before the message is cut, and to the other levels after it. */
const CONTEXT_FIRST = LEVELS.filter(({ characters }) => characters >= 4_096);
const CONTEXT_LAST = LEVELS.filter(({ characters }) => characters < 4_096);

/** Placeholder for a path while a draft is measured, so that no file is written for it. */
const LONGEST_PATH = "/".repeat(4_096);

/**
 * Returns a draft that resolves to at most `bytes` bytes. A draft that is too long is cut: first its context, then its message except for commands,
 * then the commands too, unless the reader `runs` them. `note` is added to a context that was cut. The last level is returned even if it is still too
 * long.
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
  const fits = (value: unknown) => resolveWithin(value as Json, measured, bytes) !== undefined;
  // A message that is too long by itself is not measured again with each context.
  const contexts = fits(draft.message) ? CONTEXT_FIRST : CONTEXT_FIRST.slice(-1);
  let last = draft;
  for (last of candidates(draft, contexts, note, runs)) if (fits(last)) break;
  return last;
}

export function withNote(context: JsonObject, note: string): JsonObject {
  const notes = Array.isArray(context.notes) ? (context.notes as readonly Json[]) : [];
  return { ...context, notes: [...notes, note] };
}

function* candidates<D extends Quoting>(draft: D, contexts: typeof LEVELS, note: string, runs: boolean): Iterable<D> {
  yield draft;
  const context = withNote(draft.context, note);
  let next = draft;
  for (const level of contexts) yield (next = { ...next, context: cutTo(context, level) });
  for (const level of LEVELS) yield (next = { ...next, message: cutTo(draft.message, level, true) });
  for (const level of CONTEXT_LAST) yield (next = { ...next, context: cutTo(context, level) });
  if (!runs) for (const level of LEVELS) yield (next = { ...next, message: cutTo(draft.message, level) });
}

/** Size in bytes above which a record is not counted whole; the quoted value is measured instead. */
const LONG_RECORD = 65_536;

/** Upper bound for the size of a `history[]` entry without its payload, in bytes. */
const LONGEST_EVENT = 400;

/** An upper bound for the bytes that a draft resolves to, mostly from the sizes of its records. Exact only up to `limit`. */
function atMost(value: Json | undefined, lookup: Lookup, limit: number): number {
  // A UTF-16 unit takes at most 6 bytes. Texts in the draft itself are short, so measuring them is not worth it.
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
    if (key === "$history" && Array.isArray(member))
      return (member as number[]).reduce((sum, sequence) => sum + lookup.bytes(sequence), 4);
    if (key === "$events" && Array.isArray(member)) return 4 + LONGEST_EVENT * member.length;
    if (key === "$file" && Array.isArray(member)) return LONGEST_PATH.length;
    bytes += 6 * key.length + 4 + atMost(member, lookup, limit);
  }
  return bytes;
}

function quotedAtMost([sequence, pointer]: readonly [number, string], lookup: Lookup, limit: number): number {
  const bytes = lookup.bytes(sequence);
  // A plan is long, and every request quotes small parts of it.
  return bytes <= LONG_RECORD ? bytes : sizeOf(at(lookup.record(sequence).payload, pointer), limit);
}
