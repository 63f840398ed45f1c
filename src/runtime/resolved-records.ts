import { dirname, join } from "node:path";
import { type Lookup, resolveWithin } from "../kernel/references.ts";
import type { JsonObject } from "../lib/json.ts";
import { type Listing, readPlainFile, recordIn } from "../log/reader.ts";
import { MAX_PAYLOAD_BYTES, MAX_RECORD_BYTES } from "../protocol/limits.ts";
import type { LogRecord } from "../protocol/record.ts";
import { SessionRecords } from "./records.ts";

/**
 * Resolves the references of the records in a log folder. A record stays as stored if its references lead to a missing or unreadable record,
 * or are not of the form that Bosun writes.
 */
export function resolverOf(folder: string, { files }: Listing): (record: LogRecord) => LogRecord {
  const names = new Map(files.map(({ sequence, name }) => [sequence, name]));
  const nameOf = (sequence: number) => {
    const name = names.get(sequence);
    if (name === undefined) throw new Error(`record ${sequence} is missing`);
    return name;
  };
  const records = new SessionRecords((sequence) => {
    const bytes = readPlainFile(join(folder, nameOf(sequence)), MAX_RECORD_BYTES);
    const record = recordIn(bytes);
    if (bytes === null || record === null) throw new Error(`record ${sequence} cannot be read`);
    return { record, bytes: bytes.length };
  }, folder);
  return (record) => {
    // Other types are stored resolved. Whatever looks like a reference in them is an agent's own value.
    if (record.payload_type !== "turn_request") return record;
    const { artifacts_dir } = record.payload;
    if (typeof artifacts_dir !== "string") return record;
    const lookup: Lookup = {
      record: (sequence) => records.record(sequence),
      bytes: (sequence) => records.bytes(sequence),
      file: (sequence) => join(dirname(dirname(artifacts_dir)), nameOf(sequence)),
    };
    try {
      const payload = resolveWithin(record.payload, lookup, MAX_PAYLOAD_BYTES) as JsonObject | undefined;
      return payload === undefined ? record : { ...record, payload };
    } catch {
      // The log is damaged or forged.
      return record;
    }
  };
}
