import { defined, type JsonObject, listOf, objectOf } from "../lib/json.ts";
import type { PayloadType, Usage } from "./payload.ts";
import {
  type Actor,
  type CapturedWork,
  type ChangedFiles,
  type Conversation,
  type Disposition,
  type Exit,
  type QuotaWindow,
  type RecordedDeltas,
  type RecordedEffect,
  type RecordMeta,
  type UnsealedRecord,
  WIRE_VERSION,
} from "./record.ts";
import type { Instant } from "./timestamp.ts";

/** A transition of a subject's lifecycle, recorded with the fact that caused it. */
export interface Effect {
  readonly subject: string;
  readonly from: string | null;
  readonly event: string;
  readonly to: string;
  readonly reason?: string;
}

/** Everything the scheduler knows about an envelope when it records it. On the wire a subject is a `ticket_id`. */
export interface Recording {
  readonly session_id: string;
  readonly at: Instant;
  readonly source: string;
  readonly target: string;
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
  readonly kind: "fact" | "decided";
  readonly disposition: Disposition;
  readonly subject?: string | undefined;
  readonly turn?: { readonly turn_id: string; readonly attempt: number; readonly run: number } | undefined;
  readonly exit?: Exit | undefined;
  readonly usage?: Usage | undefined;
  readonly conversation?: Conversation | undefined;
  readonly quota?: readonly QuotaWindow[] | undefined;
  readonly changed_files?: ChangedFiles | undefined;
  readonly work?: CapturedWork | undefined;
  readonly actor?: Actor | undefined;
  readonly heard_by?: readonly string[] | undefined;
  readonly effects?: readonly Effect[] | undefined;
  readonly deltas?: RecordedDeltas | undefined;
}

/** Makes the record of an envelope, before it is added to the chain. */
export function recordOf(recording: Recording): UnsealedRecord {
  const { session_id, at, source, target, payload_type, payload, kind, disposition } = recording;
  const { turn, subject, exit, usage, conversation, quota, changed_files, work, actor, heard_by, effects, deltas } =
    recording;
  const record: RecordMeta = {
    kind,
    received_at: at,
    disposition,
    ...(turn ? { turn_id: turn.turn_id, attempt: turn.attempt, run: turn.run } : {}),
    ...about(subject),
    ...defined({ exit, usage, conversation, changed_files, work, actor }),
    ...(heard_by ? { heard_by: [...heard_by] } : {}),
    ...(quota?.length ? { quota: [...quota] } : {}),
    ...(effects?.length ? { effects: effects.map(recordedEffect) } : {}),
    ...deltas,
  };
  return { session_id, timestamp: at, source, target, payload_type, version: WIRE_VERSION, payload, record };
}

export function recordedEffect({ subject, ...rest }: Effect): RecordedEffect {
  return { ticket_id: subject, ...rest };
}

/** The property that names a subject in a payload; none without a subject. */
export function about(subject: string | undefined): { readonly ticket_id?: string } {
  return subject === undefined ? {} : { ticket_id: subject };
}

/** The subject that a person's payload names. */
export function subjectIn(payload: JsonObject): string | undefined {
  return typeof payload.ticket_id === "string" ? payload.ticket_id : undefined;
}

/** A short name for a person's message: `retry crash`, `answer c1.name`. The payload may have any shape. */
export function messageName(payload_type: unknown, payload: JsonObject): string {
  const { command, ticket_id, role_id, decision, answers } = payload;
  const parts =
    payload_type === "user_command"
      ? [command, ticket_id, role_id]
      : payload_type === "clarification_response"
        ? ["answer", ...listOf(answers).map((answer) => objectOf(answer).question_id)]
        : [payload_type, ticket_id, decision];
  return parts.filter((part) => typeof part === "string").join(" ");
}
