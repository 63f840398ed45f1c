import type { Deltas } from "../kernel/deltas.ts";
import type { Advance } from "../kernel/engine.ts";
import type { EnvelopeDraft, Fact } from "../kernel/mode.ts";
import { type Lookup, resolve } from "../kernel/references.ts";
import { defined, type JsonObject } from "../lib/json.ts";
import type { ChangedSubject } from "../protocol/generated/types.ts";
import type { Disposition, RecordedDeltas, UnsealedRecord } from "../protocol/record.ts";
import { recordOf } from "../protocol/recording.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { FactInput } from "./facts.ts";

/** The fact that a mode decides on. */
export function factFrom(input: FactInput, sequence: number, at: Instant): Fact {
  const { source, payload_type, payload, subject, turn, usage, conversation, quota, changed_files, work, actor } =
    input;
  const known = defined({ subject, turn, usage, conversation, quota, changed_files, work, actor });
  return { sequence, received_at: at, source, payload_type, payload, ...known } as unknown as Fact;
}

/** The record of a fact, with its disposition and effects, and what it opened, ended and changed. */
export function factRecord(
  session_id: string,
  input: FactInput,
  at: Instant,
  done: Advance,
  records: Lookup,
): UnsealedRecord {
  return recordOf({
    ...input,
    session_id,
    at,
    target: input.target ?? targetOf(input.source),
    kind: "fact",
    disposition: done.disposition,
    effects: done.step.effects,
    deltas: recordedDeltas(done.deltas, records),
  });
}

/** Deltas as they are recorded: a title of another record is repeated. */
export function recordedDeltas(deltas: Deltas, records: Lookup): RecordedDeltas {
  const { changed } = deltas;
  if (!changed?.some(({ title }) => typeof title === "object")) return deltas as RecordedDeltas;
  const resolved = changed.map((delta) => resolve(delta, records) as unknown as ChangedSubject);
  return { ...deltas, changed: resolved };
}

/** The record of an envelope that the mode wrote, with its references resolved. */
export function decidedRecord(
  session_id: string,
  envelope: EnvelopeDraft,
  at: Instant,
  records: Lookup,
): UnsealedRecord {
  const payload = resolve(envelope.payload, records) as JsonObject;
  return recordOf({
    ...envelope,
    session_id,
    at,
    source: "scheduler",
    payload,
    kind: "decided",
    disposition: "applied",
  });
}

/** A message from an agent or a person that changes nothing. */
export interface Note extends Pick<FactInput, "source" | "payload_type" | "payload" | "turn" | "actor"> {
  readonly disposition: Exclude<Disposition, "applied">;
}

export function noteRecord(session_id: string, note: Note, at: Instant): UnsealedRecord {
  return recordOf({
    ...note,
    session_id,
    at,
    target: targetOf(note.source),
    kind: "fact",
    subject: note.turn?.subject,
  });
}

function targetOf(source: string): string {
  return source === "scheduler" ? "session" : "scheduler";
}
