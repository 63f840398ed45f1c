import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordedEffect, RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel, type SessionModel } from "../../src/ui/model/model.ts";

/** A record with the given payload; by default it is applied, and from `w`. */
export function record(
  payload_type: string,
  payload: JsonObject,
  meta: Partial<RecordMeta> = {},
  source = "w",
  target = "scheduler",
): UnsealedRecord {
  const at = meta.received_at ?? "2026-01-02T03:04:05Z";
  return {
    session_id: "s-1",
    timestamp: at,
    source,
    target,
    payload_type,
    version: "1.0",
    payload,
    record: { kind: "fact", received_at: at, disposition: "applied", ...meta },
  };
}

export function effect(ticket_id: string, from: string | null, to: string, reason?: string): RecordedEffect {
  return { ticket_id, from, event: "e", to, ...(reason === undefined ? {} : { reason }) };
}

/** A transition of ticket `t` in its second attempt. */
export function moved(from: string | null, to: string, reason?: string): Partial<RecordMeta> {
  return { effects: [effect("t", from, to, reason)], ticket_id: "t", attempt: 2 };
}

export const PERSON = { actor: { user: "ada", host: "h", via: "cli" } } satisfies Partial<RecordMeta>;

/** The model of a session with these records. */
export function modelOf(records: readonly UnsealedRecord[]): SessionModel {
  const model = emptyModel();
  for (const [index, one] of records.entries()) applyRecord(model, index + 1, one);
  return model;
}
