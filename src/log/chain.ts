import { hash } from "node:crypto";
import { canonicalJson } from "../lib/canonical.ts";
import { defined } from "../lib/json.ts";
import { MAX_RECORD_BYTES } from "../protocol/limits.ts";
import type { LogRecord, SealedRecord, UnsealedRecord } from "../protocol/record.ts";

// Separates these hashes from hashes of the same text for another purpose.
const DOMAIN = "bosun-log-v1\0";

// "integrity" sorts before all other keys of a record, and "hash" before its siblings. Both therefore come first in the canonical text, and the
// hash can be inserted and removed without serializing the record again.
const OPENING = '{"integrity":{';
const HASH_MEMBER = /^\{"integrity":\{"hash":"(sha256:[0-9a-f]{64})",/;

/** A record's position in its session's chain: its sequence, and the hash of the previous record. */
export interface Link {
  readonly sequence: number;
  readonly previous: string;
}

/**
 * Gives a record its position in the chain and its final bytes. The hash covers the canonical record with `integrity`, but without the hash
 * itself. Throws a TypeError for a payload without canonical JSON (NaN, a lone surrogate), and a RangeError for a record that readers would
 * refuse. Validate and cut first.
 */
export function seal(record: UnsealedRecord, link: Link): SealedRecord {
  const { sequence, previous } = link;
  const rest = `"previous":"${previous}","sequence":${sequence}},${canonicalJson(record).slice(1)}`;
  const digest = hashOf(OPENING + rest);
  const { payload_type } = record;
  const line = `${OPENING}"hash":"${digest}",${rest}\n`;
  // A UTF-16 unit takes at most three bytes, so most records need no exact count.
  if (line.length * 3 > MAX_RECORD_BYTES && Buffer.byteLength(line) > MAX_RECORD_BYTES)
    throw new RangeError(`Record ${sequence}, ${payload_type}, is larger than ${MAX_RECORD_BYTES} bytes`);
  return { sequence, payload_type, ...defined({ subject: record.record.ticket_id }), line, hash: digest };
}

/** A record as it was sealed, from its line. */
export function sealedIn(line: string): SealedRecord {
  const { integrity, payload_type, record } = JSON.parse(line) as LogRecord;
  const { sequence, hash: digest } = integrity;
  return { sequence, payload_type, ...defined({ subject: record.ticket_id }), line, hash: digest };
}

/** The hash of a canonical line, computed from the rest of the line; undefined if the line has no hash member. */
export function expectedHash(line: string): string | undefined {
  const member = HASH_MEMBER.exec(line);
  if (member === null) return undefined;
  return hashOf(OPENING + line.slice(member[0].length).trimEnd());
}

function hashOf(text: string): string {
  return `sha256:${hash("sha256", DOMAIN + text)}`;
}
