import type { JsonObject } from "../lib/json.ts";
import type { Usage } from "./payload.ts";
import type { Instant } from "./timestamp.ts";

/** The `version` of every envelope that this program writes. */
export const WIRE_VERSION = "1.0";

/** The start of a session's chain: `previous` of its first record, and its head before it has any. */
export const GENESIS = `sha256:${"0".repeat(64)}`;

/** What became of a recorded envelope: it moved the mode, came too late, repeated another, or was refused. */
export type Disposition = "applied" | "late" | "duplicate" | "refused";

/** The user who sent a message to a session, and by which channel. */
export interface Actor {
  readonly user: string;
  readonly host: string;
  readonly via: string;
}

/** How the process of a turn ended; both are null while unknown. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A transition as it stands in the record. */
export interface RecordedEffect {
  readonly ticket_id: string;
  readonly from: string | null;
  readonly event: string;
  readonly to: string;
  readonly reason?: string;
}

/** The facts about an envelope that the scheduler knows from its channel. `received_at` is the only time that rules read. */
export interface RecordMeta {
  readonly kind: "fact" | "decided";
  readonly received_at: Instant;
  readonly turn_id?: string;
  readonly ticket_id?: string;
  readonly attempt?: number;
  readonly run?: number;
  readonly disposition: Disposition;
  readonly exit?: Exit;
  readonly usage?: Usage;
  readonly actor?: Actor;
  readonly effects?: readonly RecordedEffect[];
}

/** The record's place in the hash chain; hashes are `sha256:` and 64 hexadecimal digits. */
export interface Integrity {
  readonly sequence: number;
  readonly previous: string;
  readonly hash: string;
}

/**
 * An envelope with the facts of its channel, before it has a place in the chain. The payload is plain JSON: a refused one may be
 * anything, and a recorded `turn_request` contains references.
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
