import { seal } from "../../src/log/chain.ts";
import { GENESIS, type SealedRecord, type UnsealedRecord } from "../../src/protocol/record.ts";
import type { Owner } from "../../src/store/store.ts";

export const OWNER: Owner = { pid: process.pid, host: "here", started_at: "2026-01-01T00:00:00Z" };

/** A small record like the runtime's, different for each sequence. */
export function unsealed(sequence: number, more: Partial<UnsealedRecord> = {}): UnsealedRecord {
  return {
    session_id: "s1",
    timestamp: "2026-01-01T00:00:00Z",
    source: "worker",
    target: "scheduler",
    payload_type: sequence === 1 ? "session_opened" : "report",
    version: "1.0",
    payload: { status: "completed", summary: `Work ${sequence} is done.` },
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
