import type { Database } from "./database.ts";
import type { SealedRecord } from "../protocol/record.ts";

type Row = Omit<SealedRecord, "subject"> & { readonly subject: string | null };

/** The rows of `records`: a session's log, sequence by sequence, without gaps. */
export function recordQueries(database: Database) {
  const insert = database.prepare<[number, number, string, string | null, string, string]>(
    "INSERT INTO records (session, sequence, payload_type, subject, hash, line) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const payloadType = database
    .prepare<[number, number], string>("SELECT payload_type FROM records WHERE session = ? AND sequence = ?")
    .pluck();
  const line = database
    .prepare<[number, number], string>("SELECT line FROM records WHERE session = ? AND sequence = ?")
    .pluck();
  const sealed = database.prepare<[number, number], Row>(
    "SELECT sequence, payload_type, subject, hash, line FROM records WHERE session = ? AND sequence = ?",
  );

  return {
    insert(session: number, record: SealedRecord): void {
      insert.run(session, record.sequence, record.payload_type, record.subject ?? null, record.hash, record.line);
    },
    payloadType: (session: number, sequence: number): string | undefined => payloadType.get(session, sequence),
    line: (session: number, sequence: number): string | undefined => line.get(session, sequence),
    sealed: (session: number, sequence: number): SealedRecord | undefined => withoutNull(sealed.get(session, sequence)),
  };
}

function withoutNull(row: Row | undefined): SealedRecord | undefined {
  if (row === undefined) return undefined;
  const { subject, ...rest } = row;
  return subject === null ? rest : { ...rest, subject };
}
