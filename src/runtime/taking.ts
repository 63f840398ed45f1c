import { type Advance, advance, type Engine } from "../kernel/engine.ts";
import type { Fact } from "../kernel/mode.ts";
import { resolve } from "../kernel/references.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Clock } from "./clock.ts";
import type { FactInput } from "./facts.ts";
import type { Journal } from "./journal.ts";
import { decidedRecord, factFrom, factRecord } from "./recordings.ts";
import type { SessionRecords } from "./records.ts";

export interface TakingParts<S> {
  readonly session_id: string;
  readonly engine: Engine<S>;
  readonly records: SessionRecords;
  readonly clock: Clock;
}

/** A fact that was decided in memory, and is in the journal with all that was written on it. */
export interface Taken {
  readonly fact: Fact;
  readonly at: Instant;
  readonly done: Advance;
}

/** Decides what came in, and puts the fact, what it changed and what the mode wrote on it into the next commit. */
export function take<S>(
  { session_id, engine, records, clock }: TakingParts<S>,
  journal: Journal,
  input: FactInput,
): Taken {
  const sequence = journal.head.sequence + 1;
  const at = input.at ?? clock.now();
  const fact = factFrom(input, sequence, at);
  const done = advance(engine, fact);
  journal.record(factRecord(session_id, input, at, done));
  journal.changes(done.changes);
  if (input.artifact && done.disposition === "applied") journal.artifact({ ...input.artifact, sequence });
  if (input.taken !== undefined) journal.took(input.taken);
  for (const envelope of done.envelopes) {
    const payload = resolve(envelope.payload, records) as JsonObject;
    journal.record(decidedRecord(session_id, envelope, at, payload));
  }
  return { fact, at, done };
}
