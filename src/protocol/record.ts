import type { JsonObject } from "../lib/json.ts";
import type { Integrity, RecordMeta } from "./generated/types.ts";
import type { Instant } from "./timestamp.ts";

export type {
  ActingPerson as Actor,
  CapturedWork,
  ChangedFile,
  ChangedFiles,
  Conversation,
  Exit,
  Integrity,
  QuotaWindow,
  RecordedEffect,
  RecordMeta,
} from "./generated/types.ts";

/** The `version` of every envelope that this program writes. */
export const WIRE_VERSION = "1.0";

/** The start of a session's chain: `previous` of its first record, and its head while it has no records. */
export const GENESIS = `sha256:${"0".repeat(64)}`;

/** The outcome of a recorded envelope: applied by the mode, late, a duplicate, or refused. */
export type Disposition = RecordMeta["disposition"];

/**
 * An envelope with the facts of its channel, before it is added to the chain. The payload is plain JSON; in a recorded `turn_request` it contains
 * references.
 */
export interface UnsealedRecord {
  readonly session_id: string;
  readonly timestamp: Instant;
  readonly source: string;
  readonly target: string;
  readonly payload_type: string;
  readonly version: string;
  readonly payload: JsonObject;
  readonly record: RecordMeta;
}

/** What a fact opened, ended and changed of what views show. Records of earlier versions do not have it. */
export type RecordedDeltas = Pick<RecordMeta, "state" | "opened" | "ended" | "changed">;

/** One line of a session's log: `logs/<session>/<sequence>-<payload_type>.json`. */
export interface LogRecord extends UnsealedRecord {
  readonly integrity: Integrity;
}

/** A record as it is stored and published: its bytes are final. */
export interface SealedRecord {
  readonly sequence: number;
  readonly payload_type: string;
  readonly subject?: string;
  /** Canonical JSON and a line feed. */
  readonly line: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly hash: string;
}
