import { existsSync } from "node:fs";
import { join } from "node:path";
import { expectedHash } from "../log/chain.ts";
import { readPlainFile, recordIn, recordName } from "../log/reader.ts";
import { MAX_RECORD_BYTES } from "../protocol/limits.ts";
import { GENESIS, type LogRecord, type SealedRecord } from "../protocol/record.ts";
import { verificationFailed } from "../store/failures.ts";
import { StorageError } from "../store/storage-error.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import type { Kept } from "./records.ts";

/** Bytes kept of each hash: enough that nobody finds another record for them. */
const KEPT_BYTES = 16;

/** Hashes of a session's records, as they were sealed or checked. Rows that are read later must still have them. */
export class RecordHashes {
  #bytes = Buffer.alloc(KEPT_BYTES * 256);
  #last = 0;

  /** Takes in the hash of the next record. Returns false for another hash than is known of this record. */
  accept(sequence: number, hash: string): boolean {
    if (sequence <= this.#last) return this.#has(sequence, hash);
    const at = (sequence - 1) * KEPT_BYTES;
    if (at === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(at)]);
    this.#bytes.write(hash.slice("sha256:".length), at, KEPT_BYTES, "hex");
    this.#last = sequence;
    return true;
  }

  #has(sequence: number, hash: string | undefined): boolean {
    const at = (sequence - 1) * KEPT_BYTES;
    const known = this.#bytes.toString("hex", at, at + KEPT_BYTES);
    return hash?.startsWith(known, "sha256:".length) === true;
  }

  /** Reads a record whose hash is known. Throws a `StorageError` if its row was changed. */
  read(store: Pick<StoreReader, "location" | "record">, session_id: string, sequence: number): Kept {
    const line = store.record(session_id, sequence) ?? "";
    if (!this.#has(sequence, expectedHash(line))) throw differs(store, session_id, sequence);
    return { record: JSON.parse(line) as Kept["record"], bytes: Buffer.byteLength(line) };
  }
}

/**
 * Checks each stored record of a session against its hash and the record before it, against what is `known` of it, and the last one against its
 * file in the folder `log`. Throws a `StorageError`, `verification_failed`, that names the first record that differs.
 */
export function checkRecords(
  store: StoreReader,
  row: SessionRow,
  log: string,
  known = new RecordHashes(),
): RecordHashes {
  const { session_id, last_sequence, head } = row;
  let previous = GENESIS;
  let sequence = 0;
  for (const record of store.sealed(session_id, 1, last_sequence)) {
    sequence += 1;
    if (!follows(record, previous) || !known.accept(sequence, record.hash)) throw differs(store, session_id, sequence);
    if (sequence === 1 && !opens(record, row)) throw differs(store, session_id, sequence);
    previous = record.hash;
  }
  if (sequence < last_sequence || previous !== head) throw differs(store, session_id, last_sequence);
  const now = store.session(session_id);
  const isLast = now.ok && now.value.last_sequence === last_sequence;
  if (isLast && store.payloadType(session_id, last_sequence + 1) !== undefined)
    throw differs(store, session_id, last_sequence + 1);
  // Whoever changes a record and all after it must change the log folder too. Its last whole file is enough to see that.
  for (sequence = existsSync(log) ? last_sequence : 0; sequence > 0; sequence -= 1) {
    const name = recordName(sequence, store.payloadType(session_id, sequence) ?? "");
    const file = recordIn(readPlainFile(join(log, name), MAX_RECORD_BYTES));
    if (file === null) continue;
    if (!known.accept(sequence, file.integrity.hash)) throw differs(store, session_id, sequence);
    break;
  }
  return known;
}

/** Checks the stored records of a running session again. Throws like `checkRecords`, and a `StorageError` if the session cannot be read. */
export function checkAgain(store: StoreReader, session_id: string, log: string, known: RecordHashes): void {
  const row = store.session(session_id);
  if (!row.ok) throw new StorageError(row.error);
  checkRecords(store, row.value, log, known);
}

/** Canonical records begin with their place in the chain, and the type follows the payload. */
function follows({ sequence, payload_type, hash, line }: SealedRecord, previous: string): boolean {
  const place = `{"integrity":{"hash":"${hash}","previous":"${previous}","sequence":${sequence}},`;
  return (
    line.startsWith(place) &&
    line.includes(`,"payload_type":"${payload_type}","record":{`) &&
    expectedHash(line) === hash
  );
}

/** Whether the first record has what is repeated in the session's row. */
function opens({ line }: SealedRecord, { mode, workspace }: SessionRow): boolean {
  const { payload } = JSON.parse(line) as LogRecord;
  return payload.mode === mode && payload.workspace === workspace;
}

function differs({ location }: Pick<StoreReader, "location">, session_id: string, sequence: number): StorageError {
  return new StorageError(
    verificationFailed(location, session_id, `record ${sequence} of ${session_id} is another`, sequence),
  );
}
