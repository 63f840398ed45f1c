import type { JsonObject } from "../../src/lib/json.ts";
import { seal } from "../../src/log/chain.ts";
import { GENESIS, type SealedRecord, type UnsealedRecord } from "../../src/protocol/record.ts";
import type { Owner } from "../../src/store/store.ts";
import { schemaFiles } from "../protocol/examples.ts";

export const OWNER: Owner = { pid: process.pid, host: "here", started_at: "2026-01-01T00:00:00Z" };

const OPENED = schemaFiles.find(({ name }) => name === "session_opened")?.schema.examples?.[0] as JsonObject;

/** Payloads that fit the schemas, of the types that reports do not cover. */
const PAYLOADS: Readonly<Record<string, JsonObject>> = {
  session_opened: OPENED,
  session_closed: { outcome: "done", exit_code: 0 },
  review: { decision: "approved", notes: "Well done." },
};

/** A small record like the runtime's, different for each sequence. */
export function unsealed(sequence: number, more: Partial<UnsealedRecord> = {}): UnsealedRecord {
  const { payload_type = sequence === 1 ? "session_opened" : "report" } = more;
  return {
    session_id: "s1",
    timestamp: "2026-01-01T00:00:00Z",
    source: "worker",
    target: "scheduler",
    payload_type,
    version: "1.0",
    payload: PAYLOADS[payload_type] ?? { status: "completed", summary: `Work ${sequence} is done.` },
    record: {
      kind: "fact",
      received_at: "2026-01-01T00:00:00.250Z",
      ticket_id: `T-${sequence}`,
      disposition: "applied",
      effects: [{ ticket_id: `T-${sequence}`, from: "in_progress", event: "report_submitted", to: "awaiting_review" }],
    },
    ...more,
  };
}

/** A chain of records from sequence 1; `more` changes each before it is sealed. */
export function chain(
  length: number,
  more: (sequence: number) => Partial<UnsealedRecord> = () => ({}),
): SealedRecord[] {
  const records: SealedRecord[] = [];
  for (let sequence = 1; sequence <= length; sequence++) {
    const previous = records.at(-1)?.hash ?? GENESIS;
    records.push(seal(unsealed(sequence, more(sequence)), { sequence, previous }));
  }
  return records;
}
