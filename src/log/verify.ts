import { canonicalJson } from "../lib/canonical.ts";
import { objectOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { SCHEMAS_DIGEST } from "../protocol/generated/digest.ts";
import { recordFault } from "../protocol/record-check.ts";
import { GENESIS } from "../protocol/record.ts";
import { expectedHash } from "./chain.ts";
import { listFolder, readFolder, recordIn, recordName, type RecordFile } from "./reader.ts";

/** Maximum number of problems listed; an additional entry counts the rest. */
export const MAX_PROBLEMS = 100;

/** The sequence and hash of a log's last record, as known from the database, the final report or an anchor. */
export interface Head {
  readonly sequence: number;
  readonly hash: string;
}

/**
 * What a log folder proves.
 * - `integrity`: whether every record is unchanged and in its place.
 * - `completeness`: `closed` if the last record closes the session, `truncated` if the log is known to have been longer, else `open`. The
 *   folder alone cannot distinguish a truncated log from a running session.
 * - `ok`: integrity is ok and the log is closed.
 */
export interface Verification {
  readonly ok: boolean;
  readonly records: number;
  readonly integrity: "ok" | "failed";
  readonly completeness: "closed" | "open" | "truncated";
  /** The last record, with its claimed sequence and hash; null if there is none or it cannot be read. */
  readonly head: Head | null;
  readonly problems: readonly Problem[];
}

/** A problem with a record, or with the folder if `sequence` is null. */
export interface Problem {
  readonly sequence: number | null;
  readonly what: string;
  /** Absent in the last entry, which counts the omitted problems. */
  readonly fault?: Fault;
}

/**
 * The kind of a problem: a record is missing or changed, a file is foreign, the log is ahead of the database, a decision does not
 * follow from its facts (`decided`), a kept file or the report differs from the record, or the database does (`database`).
 */
export type Fault = "missing" | "changed" | "foreign" | "ahead" | "decided" | "kept" | "report" | "database";

/**
 * Checks a log folder: canonical bytes, schemas, names, gaps, foreign files and the hash chain. `expected` is a head known from elsewhere; with it, a
 * missing folder counts as missing records. `last` returns the sequence of the last possible record. It is called after the folder is listed,
 * since a running session commits a record before publishing it. With `stored`, which returns a record's line in the database, the two are
 * compared. Reads one record at a time. `events.log` and agents' raw output prove nothing
 * and are not checked. Fails only if the folder cannot be read: `not_found`, `storage`.
 */
export function verifyFolder(
  directory: string,
  expected?: Head,
  last?: () => number | undefined,
  stored?: (sequence: number) => string | undefined,
): Fallible<Verification> {
  const listed = listFolder(directory);
  const isMissing = !listed.ok && listed.error.code === "not_found" && expected !== undefined;
  if (!listed.ok && !isMissing) return listed;
  const listing = listed.ok ? listed.value : { files: [], foreign: [] };
  const { files, foreign } = listing;
  const most = last?.() ?? Number.POSITIVE_INFINITY;
  const problems: Problem[] = foreign.map((name) => ({
    sequence: null,
    what: `The file ${JSON.stringify(name)} does not belong in a log folder.`,
    fault: "foreign",
  }));
  const report = (sequence: number, fault: Fault, what: string) => problems.push({ sequence, what, fault });

  const [opening] = readFolder(directory, { files: files.slice(0, 1), foreign: [] });
  const isOurs = objectOf(recordIn(opening?.bytes ?? null)?.payload.schemas).digest === SCHEMAS_DIGEST;
  let next = 1;
  let previous: string | null = GENESIS;
  let end: RecordFile | null = null;
  for (const file of readFolder(directory, listing)) {
    const { sequence } = file;
    const found = checkRecord(file, file.bytes, isOurs);
    for (const what of found.faults) report(sequence, "changed", what);
    if (sequence < next) {
      report(sequence, "foreign", `Record ${sequence} is there more than once: ${file.name} is another.`);
      continue;
    }
    if (sequence > next) report(next, "missing", missing(next, sequence - 1));
    else if (found.previous !== null && previous !== null && found.previous !== previous) {
      report(sequence, "changed", "It does not follow the record before it: the hashes differ.");
    }
    if (expected?.sequence === sequence && found.hash !== null && found.hash !== expected.hash) {
      report(sequence, "changed", `Its hash is ${found.hash}, but it is known to be ${expected.hash}.`);
    }
    if (sequence > most) report(sequence, "ahead", `The database does not have it: its last record is ${most}.`);
    else if (stored && found.faults.length === 0 && file.bytes?.equals(Buffer.from(stored(sequence) ?? "")) === false)
      report(sequence, "database", "The database has another record, or has lost it.");
    if (sequence === 1 && file.payload_type !== "session_opened") {
      report(sequence, "changed", `The first record is ${file.payload_type}, and not session_opened.`);
    }
    next = sequence + 1;
    previous = found.hash;
    end = file;
  }

  const integrity = problems.length === 0 ? "ok" : "failed";
  const truncated = expected !== undefined && expected.sequence >= next;
  if (truncated) report(next, "missing", missing(next, expected.sequence));
  const completeness = truncated ? "truncated" : end?.payload_type === "session_closed" ? "closed" : "open";
  return ok({
    ok: integrity === "ok" && completeness === "closed",
    records: files.length,
    integrity,
    completeness,
    head: end === null || previous === null ? null : { sequence: end.sequence, hash: previous },
    problems: limitProblems(problems),
  });
}

interface CheckedRecord {
  readonly faults: readonly string[];
  /** As the record claims, right or wrong, so that one changed record is not reported again at the next. */
  readonly hash: string | null;
  readonly previous: string | null;
}

/** With `isOurs`, the session was begun with the schemas of this version. */
function checkRecord(file: RecordFile, bytes: Buffer | null, isOurs: boolean): CheckedRecord {
  const unreadable = (fault: string): CheckedRecord => ({ faults: [fault], hash: null, previous: null });
  if (bytes === null) return unreadable("The file cannot be read, or is larger than any record.");
  const line = bytes.toString("utf8");
  const record = recordIn(bytes);
  if (record === null) return unreadable("It is not a record: not JSON, or without what every record has.");

  const faults: string[] = [];
  const { sequence, previous, hash } = record.integrity;
  if (!isCanonical(record, bytes)) faults.push("Its bytes are not the canonical form of a record.");
  else if (expectedHash(line) !== hash) faults.push("Its content does not have the hash it carries.");
  const { integrity: _, ...unsealed } = record;
  const fault = isOurs ? recordFault(unsealed) : undefined;
  if (fault !== undefined) faults.push(`It does not fit schemas/record.schema.json at ${fault}.`);
  if (recordName(sequence, record.payload_type) !== file.name) {
    faults.push(`The file is named ${file.name}, but holds record ${sequence}, ${record.payload_type}.`);
  }
  return { faults, hash, previous };
}

/** Compares bytes, since invalid UTF-8 does not survive decoding. */
function isCanonical(record: unknown, bytes: Buffer): boolean {
  try {
    return bytes.equals(Buffer.from(`${canonicalJson(record)}\n`, "utf8"));
  } catch (error) {
    // A lone surrogate, or nesting deeper than the stack: Bosun writes neither.
    if (error instanceof TypeError || error instanceof RangeError) return false;
    throw error;
  }
}

function missing(from: number, to: number): string {
  return from === to ? `Record ${from} is missing.` : `Records ${from} to ${to} are missing.`;
}

/** The first problems, and an entry that counts the rest. */
export function limitProblems(problems: readonly Problem[]): readonly Problem[] {
  const more = problems.length - MAX_PROBLEMS;
  if (more <= 0) return problems;
  return [...problems.slice(0, MAX_PROBLEMS), { sequence: null, what: `And ${more} more problems.` }];
}
