import { type Json, listOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { wordsOf } from "../words.ts";

/** What a worker noted for the others. */
export interface Noted {
  readonly sequence: number;
  readonly at: string;
  readonly ticket_id: string | undefined;
  readonly role_id: string;
  readonly text: string;
}

/** The notes in a record; empty if it is no report that counts. */
export function notedIn(sequence: number, { payload_type, payload, source, record }: UnsealedRecord): Noted[] {
  if (payload_type !== "report" || record.disposition !== "applied") return [];
  const { received_at: at, ticket_id } = record;
  return listOf(payload.notes).map((note: Json) => ({ sequence, at, ticket_id, role_id: source, text: wordsOf(note) }));
}
