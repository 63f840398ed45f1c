import type { Json, JsonObject } from "../lib/json.ts";
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
  file(sequence: number, pointer: string): string;
}

/** A reference to a value inside the payload of record `sequence`, by JSON pointer ("" is the whole payload). */
export function from(sequence: number, pointer = ""): Reference {
  return { $from: [sequence, pointer] };
}

/** References to records as the `history[]` entries of WIRE.md. */
export function historyOf(sequences: readonly number[]): JsonObject {
  return { $history: sequences };
}

/**
 * Puts the recorded texts in place of references: `$from` a value, `$history` entries of WIRE.md's `history[]`, `$file` a path,
 * `$first` the first that exists. What is missing in the record is left out of its object. The result of a
 * draft is therefore a function of the draft and the log: what was sent can be rebuilt byte for byte.
 */
export function resolve(value: Json, lookup: Lookup): Json | undefined {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: Json) => resolve(item, lookup) ?? null);
  const object = value as JsonObject;
  if (Array.isArray(object.$from)) {
    const [sequence, pointer] = object.$from as [number, string];
    return at(lookup.record(sequence).payload, pointer);
  }
  if (Array.isArray(object.$history))
    return (object.$history as number[]).map((sequence) => historyEntry(sequence, lookup.record(sequence)));
  if (Array.isArray(object.$file)) return lookup.file(...(object.$file as [number, string]));
  if (Array.isArray(object.$first)) return firstOf(object.$first as Json[], lookup);
  const resolved: Record<string, Json | undefined> = {};
  for (const key of Object.keys(object)) {
    const inner = object[key];
    const found = inner === undefined ? undefined : resolve(inner, lookup);
    if (found !== undefined) resolved[key] = found;
  }
  return resolved;
}

function firstOf(candidates: readonly Json[], lookup: Lookup): Json | undefined {
  for (const candidate of candidates) {
    const found = resolve(candidate, lookup);
    if (found !== undefined) return found;
  }
  return undefined;
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
    payload: recorded.payload,
  };
}

function at(value: Json, pointer: string): Json | undefined {
  if (pointer === "") return value;
  let current: Json | undefined = value;
  for (const part of pointer.split("/").slice(1)) {
    if (current === null || typeof current !== "object") return undefined;
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    current = Array.isArray(current) ? (current as Json[])[Number(key)] : (current as JsonObject)[key];
  }
  return current;
}
