import { canonicalJson } from "../lib/canonical.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { GENESIS } from "../protocol/record.ts";
import { expectedHash } from "./chain.ts";
import { listFolder, readFolder, recordName, type RecordFile } from "./reader.ts";
import { parseRecord } from "./record-shape.ts";

/** How many problems are told one by one; a last one says how many more there are. */
export const PROBLEMS_TOLD = 100;

/** A record's number and hash: how the end of a log is named, in the database, the final report, or an anchor. */
export interface Head {
  readonly sequence: number;
  readonly hash: string;
}

/**
 * What a log folder proves by itself.
 * - `integrity`: every record stands where it was written, as it was written.
 * - `completeness`: `closed` if the last record closes the session, `truncated` if the log is known to have gone on, else
 *   `open`: from the folder alone, an end that was cut off cannot be told from a session that still runs.
 * - `ok`: only for what is whole and closed.
 */
export interface Verification {
  readonly ok: boolean;
  readonly records: number;
  readonly integrity: "ok" | "failed";
  readonly completeness: "closed" | "open" | "truncated";
  /** The last record, as it names itself; null if there is none or it cannot be read. */
  readonly head: Head | null;
  readonly problems: readonly Problem[];
}

/** What is wrong, and at which record; `sequence` is null for what is wrong with the folder. */
export interface Problem {
  readonly sequence: number | null;
  readonly what: string;
  /** Absent where nothing but other problems is told of. */
  readonly fault?: Fault;
}

/**
 * Of what kind a problem is, for whoever says what can be done about it: a record that is missing, or not as it was written; a file that
 * is none; records that the database does not have; decisions that do not follow; a kept file or a report that is not the record's.
 */
export type Fault = "missing" | "changed" | "foreign" | "ahead" | "decided" | "kept" | "report";

/**
 * Checks a log folder: canonical bytes, names, gaps, foreign files and the hash chain; with `expected`, also against a head known
 * from elsewhere, and with the number of the `last` record that there can be. That is asked when the folder is listed, since a session
 * that runs commits a record before it publishes it. Reads one record at a time. `events.log` and agents' raw output are renderings, and
 * no part of the proof. Of a log that is known to have records all are missing where there is no folder. Fails only if the folder cannot be
 * read: `not_found`, `storage`.
 */
export function verifyFolder(
  directory: string,
  expected?: Head,
  last?: () => number | undefined,
): Result<Verification, Failure> {
  const listed = listFolder(directory);
  const isGone = !listed.ok && listed.error.code === "not_found" && expected !== undefined;
  if (!listed.ok && !isGone) return listed;
  const listing = listed.ok ? listed.value : { files: [], foreign: [] };
  const { files, foreign } = listing;
  const most = last?.() ?? Number.POSITIVE_INFINITY;
  const problems: Problem[] = foreign.map((name) => ({
    sequence: null,
    what: `The file ${JSON.stringify(name)} does not belong in a log folder.`,
    fault: "foreign",
  }));
  const wrong = (sequence: number, fault: Fault, what: string) => problems.push({ sequence, what, fault });

  let next = 1;
  let previous: string | null = GENESIS;
  let end: RecordFile | null = null;
  for (const file of readFolder(directory, listing)) {
    const { sequence } = file;
    const found = checkRecord(file, file.bytes);
    for (const what of found.faults) wrong(sequence, "changed", what);
    if (sequence < next) {
      wrong(sequence, "foreign", `Record ${sequence} is there more than once: ${file.name} is another.`);
      continue;
    }
    if (sequence > next) wrong(next, "missing", missing(next, sequence - 1));
    else if (found.previous !== null && previous !== null && found.previous !== previous) {
      wrong(sequence, "changed", "It does not follow the record before it: the hashes differ.");
    }
    if (expected?.sequence === sequence && found.hash !== null && found.hash !== expected.hash) {
      wrong(sequence, "changed", `Its hash is ${found.hash}, but it is known to be ${expected.hash}.`);
    }
    if (sequence > most) wrong(sequence, "ahead", `The database does not have it: its last record is ${most}.`);
    if (sequence === 1 && file.payload_type !== "session_opened") {
      wrong(sequence, "changed", `The first record is ${file.payload_type}, and not session_opened.`);
    }
    next = sequence + 1;
    previous = found.hash;
    end = file;
  }

  const integrity = problems.length === 0 ? "ok" : "failed";
  const truncated = expected !== undefined && expected.sequence >= next;
  if (truncated) wrong(next, "missing", missing(next, expected.sequence));
  const completeness = truncated ? "truncated" : end?.payload_type === "session_closed" ? "closed" : "open";
  return ok({
    ok: integrity === "ok" && completeness === "closed",
    records: files.length,
    integrity,
    completeness,
    head: end === null || previous === null ? null : { sequence: end.sequence, hash: previous },
    problems: told(problems),
  });
}

interface CheckedRecord {
  readonly faults: readonly string[];
  /** As the record says, even if its content disagrees: so one changed record is one problem, and not one more at the next. */
  readonly hash: string | null;
  readonly previous: string | null;
}

function checkRecord(file: RecordFile, bytes: Buffer | null): CheckedRecord {
  const unusable = (fault: string): CheckedRecord => ({ faults: [fault], hash: null, previous: null });
  if (bytes === null) return unusable("The file cannot be read, or is larger than any record.");
  const line = bytes.toString("utf8");
  const record = parseRecord(line);
  if (record === null) return unusable("It is not a record: not JSON, or without what every record has.");

  const faults: string[] = [];
  const { sequence, previous, hash } = record.integrity;
  if (!isCanonical(record, bytes)) faults.push("Its bytes are not the canonical form of a record.");
  else if (expectedHash(line) !== hash) faults.push("Its content does not have the hash it carries.");
  if (recordName(sequence, record.payload_type) !== file.name) {
    faults.push(`The file is named ${file.name}, but holds record ${sequence}, ${record.payload_type}.`);
  }
  return { faults, hash, previous };
}

/** Bytes and not text are compared: what is not UTF-8 decodes to something else than it was. */
function isCanonical(record: unknown, bytes: Buffer): boolean {
  try {
    return bytes.equals(Buffer.from(`${canonicalJson(record)}\n`, "utf8"));
  } catch (error) {
    // A lone surrogate, or nested deeper than the stack: no record of ours is either.
    if (error instanceof TypeError || error instanceof RangeError) return false;
    throw error;
  }
}

function missing(from: number, to: number): string {
  return from === to ? `Record ${from} is missing.` : `Records ${from} to ${to} are missing.`;
}

/** No more problems than are told. */
export function told(problems: readonly Problem[]): readonly Problem[] {
  const more = problems.length - PROBLEMS_TOLD;
  if (more <= 0) return problems;
  return [...problems.slice(0, PROBLEMS_TOLD), { sequence: null, what: `And ${more} more problems.` }];
}
