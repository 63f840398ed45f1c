import { isJsonObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { at } from "../lib/json-pointer.ts";
import { type Cut, cutEntries, cutQuoted, LEVELS, sizeOf } from "./cut.ts";
import type { Reference } from "./mode.ts";

/** The part of a record that references need. */
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

/** The targets of references: records, and files with a recorded value for programs that want a path. */
export interface Lookup {
  record(sequence: number): Recorded;
  /** An upper bound for the size of a record, in bytes. Must be cheap. */
  bytes(sequence: number): number;
  file(sequence: number, pointer: string): string;
}

/** A reference to a value inside the payload of record `sequence`, by JSON pointer ("" is the whole payload). */
export function from(sequence: number, pointer = ""): Reference {
  return { $from: [sequence, pointer] };
}

/** A reference to records, resolved as the `history[]` entries of SPEC.md. */
export function historyOf(sequences: readonly number[]): JsonObject {
  return { $history: sequences };
}

/** A reference to records, resolved as `history[]` entries without payloads. */
export function eventsOf(sequences: readonly number[]): JsonObject {
  return { $events: sequences };
}

/** The first of these values that exists. */
export function firstOf(...choices: readonly Json[]): JsonObject {
  return { $first: choices };
}

/** One text with the parts as lines. A list becomes lines with a dash. A heading is left out if its part is empty. */
export function linesOf(
  ...parts: readonly (string | Reference | readonly [heading: string, JsonObject])[]
): JsonObject {
  return { $lines: parts };
}

/** A text in which `{name}` stands for the text of a value. Braces around other words, and in the values, are text. */
export function filled(text: Json, values: JsonObject): JsonObject {
  return { $filled: [text, values] };
}

/** The value with its references shortened. With `commands`, executable values stay whole. */
export function cutTo(value: Json, { characters, items }: Omit<Cut, "commands">, commands = false): JsonObject {
  return { $cut: [value, characters, items, commands] };
}

export function isCut(value: Json | undefined): boolean {
  return typeof value === "object" && value !== null && "$cut" in value;
}

/** Whether a value was cut, including its executable values. */
export function hasCutCommands(value: Json | undefined): boolean {
  return isJsonObject(value) && Array.isArray(value.$cut) && value.$cut[3] === false;
}

/** The value with its references shortened as far as needed to fit into `bytes`. */
export function fitting(value: JsonObject | readonly Json[], bytes: number): JsonObject {
  return { $fit: [value, bytes] };
}

interface Resolving {
  readonly lookup: Lookup;
  /** How quoted values are shortened; whole if absent. */
  readonly cut?: Cut;
  /** Counts down the bytes that may still be resolved. Resolving stops when none are left. */
  readonly meter?: { left: number };
}

/**
 * Replaces references with recorded values: `$from` with a value, `$history` and `$events` with `history[]` entries of SPEC.md, `$file` with a path,
 * `$first` with the first value that exists, `$lines` and `$filled` with one text, `$cut` and `$fit` with a shortened value. A member whose reference leads nowhere
 * is left out. The result depends only on the draft and the log, so a replay rebuilds every request byte for byte.
 */
export function resolve(value: Json, lookup: Lookup): Json | undefined {
  return valueOf(value, { lookup });
}

/** Returns the resolved value, or undefined if it has more than `bytes` bytes as canonical JSON. */
export function resolveWithin(value: Json, lookup: Lookup, bytes: number): Json | undefined {
  const meter = { left: bytes };
  const found = valueOf(value, { lookup, meter });
  return meter.left < 0 ? undefined : found;
}

function valueOf(value: Json, how: Resolving): Json | undefined {
  const { meter } = how;
  if (meter && meter.left < 0) return undefined;
  if (value === null || typeof value !== "object") return counted(value, how);
  if (Array.isArray(value)) return listFrom(value as readonly Json[], how);
  const object = value as JsonObject;
  const keys = Object.keys(object);
  const [only = ""] = keys;
  const referred = keys.length === 1 ? REFERENCES.get(only) : undefined;
  if (referred && Array.isArray(object[only])) return referred(object[only] as never, how);
  if (meter) meter.left -= 2;
  // Copied only if a member changes: most objects contain no reference.
  let resolved: Record<string, Json> | undefined;
  for (let place = 0; place < keys.length; place += 1) {
    const key = keys[place] as string;
    const inner = object[key];
    const found = inner === undefined ? undefined : valueOf(inner, how);
    if (meter && found !== undefined) meter.left -= key.length + 4;
    if (found !== inner) resolved ??= membersOf(object, keys.slice(0, place));
    if (resolved && found !== undefined) resolved[key] = found;
  }
  return resolved ?? object;
}

/** Separate from `valueOf` for speed: there, its closures would also be allocated for values that are not lists. */
function listFrom(values: readonly Json[], how: Resolving): Json {
  const { cut, meter } = how;
  if (meter) meter.left -= 1 + values.length;
  const entries = cut ? cutEntries(values, cut) : values;
  const found = entries.map((item) => valueOf(item, how) ?? null);
  return found.length === values.length && found.every((item, place) => item === values[place]) ? values : found;
}

type Resolver = (of: never, how: Resolving) => Json | undefined;

/** An object is a reference if its only member has one of these names and a list as its value. */
const REFERENCES: ReadonlyMap<string, Resolver> = new Map<string, Resolver>([
  [
    "$from",
    ([sequence, pointer]: [number, string], how) =>
      quoted(at(how.lookup.record(sequence).payload, pointer), sequence, how),
  ],
  [
    "$history",
    (sequences: readonly number[], how) =>
      sequences.map((sequence) => {
        const recorded = how.lookup.record(sequence);
        const entry = counted(historyEntry(sequence, recorded), how) as JsonObject;
        return { ...entry, payload: quoted(recorded.payload, sequence, how) };
      }),
  ],
  [
    "$events",
    (sequences: readonly number[], how) =>
      sequences.map((sequence) => counted(historyEntry(sequence, how.lookup.record(sequence)), how)),
  ],
  ["$file", (place: [number, string], how) => counted(how.lookup.file(...place), how)],
  ["$first", firstFound],
  ["$lines", (parts: readonly Json[], how) => parts.flatMap((part) => linesFrom(part, how)).join("\n")],
  [
    "$filled",
    ([text, values]: [Json, JsonObject], how) => {
      const [whole = ""] = textOf(valueOf(text, how));
      const texts = objectOf(valueOf(values, how));
      return whole.replaceAll(/\{(\w+)\}/g, (mark, name: string) => textOf(texts[name])[0] ?? mark);
    },
  ],
  [
    "$cut",
    ([inner, characters, items, commands]: [Json, number, number, boolean], how) =>
      valueOf(inner, { ...how, cut: { characters, items, commands } }),
  ],
  ["$fit", ([value, bytes]: [JsonObject, number], { lookup }) => fitted(value, bytes, lookup)],
]);

function membersOf(object: JsonObject, keys: readonly string[]): Record<string, Json> {
  const members: Record<string, Json> = {};
  for (const key of keys) members[key] = object[key] as Json;
  return members;
}

function counted(value: Json, { meter }: Resolving): Json {
  if (meter) meter.left -= sizeOf(value, meter.left);
  return value;
}

function quoted(value: Json | undefined, sequence: number, how: Resolving): Json | undefined {
  if (value === undefined) return undefined;
  return counted(how.cut ? cutQuoted(value, how.cut, sequence) : value, how);
}

/** Tries the levels until the value fits; returns the last one in any case. A cut object says so in its `metadata`. */
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

function firstFound(choices: readonly Json[], how: Resolving): Json | undefined {
  for (const choice of choices) {
    const found = valueOf(choice, how);
    if (found !== undefined) return found;
  }
  return undefined;
}

function linesFrom(part: Json, how: Resolving): string[] {
  const [heading, value] = Array.isArray(part) ? (part as [string, Json]) : [undefined, part];
  const found = valueOf(value, how);
  const texts = Array.isArray(found) ? found.flatMap(textOf).map((text) => `- ${text}`) : textOf(found);
  return heading === undefined || texts.length === 0 ? texts : [heading, ...texts];
}

/** The text of a string, or of an object with a `text`; otherwise nothing. */
function textOf(value: Json | undefined): string[] {
  const text = isJsonObject(value) ? value.text : value;
  return typeof text === "string" ? [text] : [];
}

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
