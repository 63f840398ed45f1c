import { hash } from "node:crypto";
import type { JsonObject } from "../lib/json.ts";
import type { Fallible } from "../protocol/failure.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Instant } from "../protocol/timestamp.ts";

/**
 * The files that a mode keeps for programs that know no log, in a folder of the home with a folder for each session. They are made of committed
 * records alone, so they can be made again at any time. What others put into `inbox/` there is taken in.
 */
export interface Mailbox<S> {
  /** The folder in the home. */
  readonly folder: string;
  /** The fields of `manifest.json` that the folder's index has of each session. */
  readonly indexed: readonly string[];
  /** The message that a record is, if it is one. `next` is the record behind it: of a refused one, why. */
  message(state: S, record: MailRecord, next: UnsealedRecord | undefined): Message | undefined;
  /** All other files by their paths in the folder, `<session>/manifest.json` last; those without content are removed. Texts may be references to records. */
  standing(state: S, about: About): Readonly<Record<string, JsonObject | undefined>>;
  /** What a record tells programs that follow the session. */
  events(record: MailRecord): readonly JsonObject[];
  /** What the content of a file in `inbox/` says, and who sent it. */
  received(content: JsonObject, now: Instant): Fallible<Received>;
}

export interface MailRecord extends UnsealedRecord {
  readonly sequence: number;
}

export interface Message {
  readonly agent_id: string;
  readonly message_type: string;
  readonly content: JsonObject;
}

export interface About {
  readonly session_id: string;
  readonly opened_at: Instant;
  /** Whether a person put the session aside when it had closed. */
  readonly archived: boolean;
}

export interface Received {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
  readonly participant: string;
  readonly key?: string;
}

/** What is recorded of a token. */
export function digestOf(token: string): string {
  return `sha256:${hash("sha256", token)}`;
}
