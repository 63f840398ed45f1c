import type { Database } from "./database.ts";
import type { SealedRecord } from "../protocol/record.ts";

type Row = Omit<SealedRecord, "subject"> & { readonly subject: string | null };

/** The rows of `records`: a session's log, sequence by sequence, without gaps. */
export function recordQueries(database: Database) {
  const insert = database.prepare<[number, number, string, string | null, string, string]>(
    "INSERT INTO records (session, sequence, payload_type, subject, hash, line) VALUES (?, ?, ?, ?, ?, ?)",
  );
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
    line: (session: number, sequence: number): string | undefined => line.get(session, sequence),
    lines: (session: number, from: number, to?: number): IterableIterator<string> =>
      range((sequence) => line.get(session, sequence), from, to),
    sealed: (session: number, from: number, to?: number): IterableIterator<SealedRecord> =>
      range((sequence) => withoutNull(sealed.get(session, sequence)), from, to),
  };
}

/**
 * One lookup for each record, and no statement left open between them: a connection that iterates cannot write, and the owner
 * commits while others read.
 */
function* range<T>(
  at: (sequence: number) => T | undefined,
  from: number,
  to = Number.MAX_SAFE_INTEGER,
): IterableIterator<T> {
  for (let sequence = Math.max(from, 1); sequence <= to; sequence++) {
    const found = at(sequence);
    if (found === undefined) return;
    yield found;
  }
}

function withoutNull(row: Row | undefined): SealedRecord | undefined {
  if (row === undefined) return undefined;
  const { subject, ...rest } = row;
  return subject === null ? rest : { ...rest, subject };
}
