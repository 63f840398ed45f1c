import type { RecordFile } from "../../log/reader.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { failedChecks } from "../failure-lines.ts";
import { OWN_LINE } from "../record-event.ts";

/** What a person looks for in a log. */
export type Marker = "error" | "question" | "decision" | "review";

/** What the player keeps of a record. The payload is read again when it is shown. */
export interface Entry {
  readonly sequence: number;
  /** In ms since 1970; the previous record's time if this one cannot be read. */
  readonly at: number;
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly ticket: string | undefined;
  readonly bytes: number;
  readonly marker: Marker | undefined;
}

/** A log as the player knows it. A record's place is its index. */
export interface Tape {
  readonly sequences: readonly number[];
  /** The records read so far, starting with the first. */
  readonly entries: readonly Entry[];
  /** Whether the session is still writing records. */
  readonly grows: boolean;
}

/** `failed`: the statuses of subjects that have failed. */
export function entryOf(
  { sequence, payload_type }: RecordFile,
  record: LogRecord | undefined,
  bytes: number,
  before: Entry | undefined,
  failed: readonly string[],
): Entry {
  return {
    sequence,
    at: record === undefined ? (before?.at ?? 0) : Date.parse(record.record.received_at),
    type: record?.payload_type ?? payload_type,
    source: record?.source ?? "",
    target: record?.target ?? "",
    ticket: record?.record.ticket_id,
    bytes,
    marker: record === undefined ? "error" : markerOf(record, failed),
  };
}

function markerOf({ payload_type, payload, record }: LogRecord, failed: readonly string[]): Marker | undefined {
  const isFailure = FAILURES.has(payload_type) || payload.status === "error" || failedChecks(payload).length > 0;
  if (isFailure || (record.effects ?? []).some(({ to }) => failed.includes(to))) return "error";
  if (payload_type === "clarification" || payload_type === "approval_request") return "question";
  if (payload_type === "review") return "review";
  // Every message from a person is a decision, except the first, the requirement.
  const isOfPerson = record.actor !== undefined && payload_type !== "requirement";
  return isOfPerson || OWN_LINE.has(payload_type) ? "decision" : undefined;
}

const FAILURES: ReadonlySet<string> = new Set(["turn_failed", "error"]);

export function isComplete({ sequences, entries }: Tape): boolean {
  return entries.length === sequences.length;
}

/** Whether each word of a filter occurs in the record's ticket, type, source or target. */
export function matches({ ticket = "", type, source, target }: Entry, filter: string): boolean {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const texts = [ticket, type, source, target].map((text) => text.toLowerCase());
  return words.every((word) => texts.some((text) => text.includes(word)));
}

export function nextPlace(
  { entries }: Tape,
  from: number,
  by: 1 | -1,
  isWanted: (entry: Entry, place: number) => boolean,
): number | undefined {
  for (let place = from + by; place >= 0; place += by) {
    const entry = entries[place];
    if (entry === undefined) return undefined;
    if (isWanted(entry, place)) return place;
  }
  return undefined;
}

/** The place of the last record up to a sequence; the first one if there is none. */
export function placeOf({ sequences }: Tape, sequence: number): number {
  return Math.max(
    0,
    sequences.findLastIndex((one) => one <= sequence),
  );
}

/** The place of the last record up to a time; undefined if that record may not have been read yet. */
export function placeAt(tape: Tape, time: number): number | undefined {
  const place = tape.entries.findLastIndex(({ at }) => at <= time);
  const mayFollow = place === tape.entries.length - 1 && !isComplete(tape);
  return mayFollow ? undefined : Math.max(0, place);
}
