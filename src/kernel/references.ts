import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";
import { at } from "../lib/json-pointer.ts";
import { type Cut, cutEntries, cutQuoted, LEVELS, sizeOf } from "./cut.ts";
import type { Reference } from "./mode.ts";

/** A recorded envelope as far as references need it. */
export interface Recorded {
  readonly payload_type: string;
  readonly payload: JsonObject;
  readonly record: {
    readonly received_at: string;
    readonly ticket_id?: string;
    readonly attempt?: number;
    readonly effects?: readonly { readonly ticket_id: string; readonly event: string }[];
  };
}

/** Where references lead: records by sequence, and files that hold a recorded value for programs that want a path. */
export interface Lookup {
  record(sequence: number): Recorded;
  /** No fewer than the record has bytes; cheap, and not exact. */
  bytes(sequence: number): number;
  file(sequence: number, pointer: string): string;
}

/** A reference to a value inside the payload of record `sequence`, by JSON pointer ("" is the whole payload). */
export function from(sequence: number, pointer = ""): Reference {
  return { $from: [sequence, pointer] };
}

/** References to records as the `history[]` entries of SPEC.md. */
export function historyOf(sequences: readonly number[]): JsonObject {
  return { $history: sequences };
}

/** The first of these that there is in the record. */
export function firstOf(...choices: readonly Reference[]): JsonObject {
  return { $first: choices.map((choice) => ({ ...choice })) };
}

/** Texts below each other; a heading is left out with what it is the heading of. A list has a dash before each entry. */
export function linesOf(
  ...parts: readonly (string | Reference | readonly [heading: string, Reference | JsonObject])[]
): JsonObject {
  return { $lines: parts as unknown as Json };
}

/** The value with whatever it quotes cut; with `commands`, what can be run stays whole. */
export function cutTo(value: Json, { characters, items }: Omit<Cut, "commands">, commands = false): JsonObject {
  return { $cut: [value, characters, items, commands] };
}

export function isCut(value: Json | undefined): boolean {
  return typeof value === "object" && value !== null && "$cut" in value;
}

/** Whether also what can be run is cut in it. */
export function hasCutCommands(value: Json | undefined): boolean {
  return isJsonObject(value) && Array.isArray(value.$cut) && value.$cut[3] === false;
}

/** The value whole if it has at most so many bytes, else with whatever it quotes cut so far that it has. */
export function fitting(value: JsonObject | readonly Json[], bytes: number): JsonObject {
  return { $fit: [value, bytes] };
}

/** What is resolved is counted, and what is over the limit is not resolved any further. */
interface Meter {
  left: number;
}

/**
 * Puts the recorded texts in place of references: `$from` a value, `$history` entries of SPEC.md's `history[]`, `$file` a path,
 * `$first` the first that exists, `$lines` texts below each other, `$cut` and `$fit` a value that may be too long. What is missing in the record is left out of its
 * object. The result of a draft is therefore a function of the draft and the log: what was sent can be rebuilt byte for byte.
 */
export function resolve(value: Json, lookup: Lookup, cut?: Cut, meter?: Meter): Json | undefined {
  if (meter && meter.left < 0) return undefined;
  if (value === null || typeof value !== "object") return counted(value, meter);
  if (Array.isArray(value)) return listFrom(value as readonly Json[], lookup, cut, meter);
  const object = value as JsonObject;
  const keys = Object.keys(object);
  const [only = ""] = keys;
  const referred = keys.length === 1 ? REFERENCES.get(only) : undefined;
  if (referred && Array.isArray(object[only])) return referred(object[only] as never, lookup, cut, meter);
  if (meter) meter.left -= 2;
  // Copied only where something is put in or left out: most of what is put to somebody holds no reference.
  let resolved: Record<string, Json> | undefined;
  for (let place = 0; place < keys.length; place += 1) {
    const key = keys[place] as string;
    const inner = object[key];
    const found = inner === undefined ? undefined : resolve(inner, lookup, cut, meter);
    if (meter && found !== undefined) meter.left -= key.length + 4;
    if (found !== inner) resolved ??= membersOf(object, keys.slice(0, place));
    if (resolved && found !== undefined) resolved[key] = found;
  }
  return resolved ?? object;
}

/** Not in `resolve` itself: there what its two functions reach would be put aside for each value that is no list, too. */
function listFrom(values: readonly Json[], lookup: Lookup, cut: Cut | undefined, meter: Meter | undefined): Json {
  if (meter) meter.left -= 1 + values.length;
  const entries = cut ? cutEntries(values, cut) : values;
  const found = entries.map((item) => resolve(item, lookup, cut, meter) ?? null);
  return found.length === values.length && found.every((item, place) => item === values[place]) ? values : found;
}

type Resolver = (of: never, lookup: Lookup, cut: Cut | undefined, meter: Meter | undefined) => Json | undefined;

/** A reference is an object whose only member has one of these names, and holds a list. */
const REFERENCES: ReadonlyMap<string, Resolver> = new Map<string, Resolver>([
  [
    "$from",
    ([sequence, pointer]: [number, string], lookup, cut, meter) =>
      quoted(at(lookup.record(sequence).payload, pointer), sequence, cut, meter),
  ],
  [
    "$history",
    (sequences: readonly number[], lookup, cut, meter) =>
      sequences.map((sequence) => {
        const recorded = lookup.record(sequence);
        const entry = counted(historyEntry(sequence, recorded), meter) as JsonObject;
        return { ...entry, payload: quoted(recorded.payload, sequence, cut, meter) };
      }),
  ],
  ["$file", (place: [number, string], lookup, _cut, meter) => counted(lookup.file(...place), meter)],
  ["$first", firstFound],
  [
    "$lines",
    (parts: readonly Json[], lookup, cut, meter) =>
      parts.flatMap((part) => linesFrom(part, lookup, cut, meter)).join("\n"),
  ],
  [
    "$cut",
    ([inner, characters, items, commands]: [Json, number, number, boolean], lookup, _cut, meter) =>
      resolve(inner, lookup, { characters, items, commands }, meter),
  ],
  ["$fit", ([value, bytes]: [JsonObject, number], lookup) => fitted(value, bytes, lookup)],
]);

function membersOf(object: JsonObject, keys: readonly string[]): Record<string, Json> {
  const members: Record<string, Json> = {};
  for (const key of keys) members[key] = object[key] as Json;
  return members;
}

function counted(value: Json, meter: Meter | undefined): Json {
  if (meter) meter.left -= sizeOf(value, meter.left);
  return value;
}

function quoted(
  value: Json | undefined,
  sequence: number,
  cut: Cut | undefined,
  meter: Meter | undefined,
): Json | undefined {
  if (value === undefined) return undefined;
  return counted(cut ? cutQuoted(value, cut, sequence) : value, meter);
}

/** The value with its references resolved if that has at most so many bytes as canonical JSON. */
export function resolveWithin(value: Json, lookup: Lookup, bytes: number): Json | undefined {
  const meter = { left: bytes };
  const found = resolve(value, lookup, undefined, meter);
  return meter.left < 0 ? undefined : found;
}

/** An object says in its `metadata` that it was cut. Should the last level not suffice, it is given all the same. */
function fitted(value: JsonObject, bytes: number, lookup: Lookup): Json | undefined {
  const whole = resolveWithin(value, lookup, bytes);
  if (whole !== undefined) return whole;
  let smallest: JsonObject = value;
  for (const level of LEVELS) {
    smallest = cutTo(Array.isArray(value) ? value : { ...value, metadata: { cut: { ...level } } }, level);
    const found = resolveWithin(smallest, lookup, bytes);
    if (found !== undefined) return found;
  }
  return resolve(smallest, lookup);
}

function firstFound(
  choices: readonly Json[],
  lookup: Lookup,
  cut: Cut | undefined,
  meter: Meter | undefined,
): Json | undefined {
  for (const choice of choices) {
    const found = resolve(choice, lookup, cut, meter);
    if (found !== undefined) return found;
  }
  return undefined;
}

function linesFrom(part: Json, lookup: Lookup, cut: Cut | undefined, meter: Meter | undefined): string[] {
  const [heading, value] = Array.isArray(part) ? (part as [string, Json]) : [undefined, part];
  const found = resolve(value, lookup, cut, meter);
  const texts = Array.isArray(found) ? found.flatMap(textOf).map((text) => `- ${text}`) : textOf(found);
  return heading === undefined || texts.length === 0 ? texts : [heading, ...texts];
}

/** The text, or that of an object which has one; nothing if it is neither. */
function textOf(value: Json | undefined): string[] {
  const text = isJsonObject(value) ? value.text : value;
  return typeof text === "string" ? [text] : [];
}

/** All but its payload. */
function historyEntry(sequence: number, recorded: Recorded): Json {
  const subject = recorded.record.ticket_id;
  const effect = recorded.record.effects?.find((one) => subject === undefined || one.ticket_id === subject);
  return {
    sequence,
    at: recorded.record.received_at,
    event: effect?.event ?? recorded.payload_type,
    payload_type: recorded.payload_type,
    attempt: recorded.record.attempt ?? 0,
  };
}
