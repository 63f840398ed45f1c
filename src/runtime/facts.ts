import type { Fact, TurnStamp } from "../kernel/mode.ts";
import type { JsonObject } from "../lib/json.ts";
import { validateWord } from "../protocol/envelope.ts";
import { isPayloadType, type PayloadType, type Usage } from "../protocol/payload.ts";
import type { Actor, Exit } from "../protocol/record.ts";
import { quote } from "../protocol/refusal.ts";
import type { Rights } from "../protocol/rights.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { wordName } from "../protocol/word-name.ts";
import type { ArtifactRow } from "../store/store.ts";

/** A fact on its way in: what it says, and what its channel knows. */
export interface FactInput {
  /** Its time, where that is settled already; else now. */
  readonly at?: Instant;
  readonly source: string;
  /** `scheduler` unless said otherwise; the scheduler's own facts are the session's. */
  readonly target?: string;
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
  readonly subject?: string | undefined;
  readonly turn?: TurnStamp | undefined;
  readonly exit?: Exit | undefined;
  readonly usage?: Usage | undefined;
  readonly actor?: Actor | undefined;
  readonly artifact?: Omit<ArtifactRow, "sequence"> | undefined;
  /** The inbox row it was. */
  readonly taken?: number | undefined;
  /** It was put there before this scheduler took the session up, which was closed then or only left. */
  readonly overtaken?: "closed" | "taken_up" | undefined;
}

/** An `error` payload, as far as it is told to a person. */
type PersonRefused = { readonly code: string; readonly message: string; readonly details?: JsonObject };

/**
 * Why a person's word cannot be taken, as an `error` payload. The mode lets people say nothing of the kind; or it is malformed;
 * or it told an earlier scheduler to stop or to pause; or it came too late for a session that was closing, and is open again.
 */
export function personRefused(input: FactInput, rights: Rights): PersonRefused | undefined {
  const { payload_type, payload, overtaken } = input;
  // Of another process's word nothing is known yet, not even that this is a text.
  if (!isPayloadType(payload_type) || rights.user[payload_type] === undefined) {
    return { code: "not_permitted", message: `a person may not send ${quote(payload_type)}` };
  }
  const checked = validateWord(payload_type, payload);
  if (!checked.ok) {
    return { code: "validation_failed", message: checked.error.message, details: { pointer: checked.error.pointer } };
  }
  if (overtaken === "closed") {
    const word = quote(wordName(payload_type, payload));
    return { code: "not_permitted", message: `the session closed before it heard of ${word}` };
  }
  const { command } = payload;
  if (overtaken === undefined || payload_type !== "user_command" || (command !== "stop" && command !== "pause"))
    return undefined;
  return { code: "not_permitted", message: `the session was taken up again after it was told to ${command}` };
}

/** So much of why it was asked for stands in the record of a stop; all of it stands in the word itself. */
const REASON_CHARACTERS = 1_000;

/** What the record of a stop says if this fact asks for one, with who asked; undefined for any other. */
export function stopAsked(fact: Fact, actor: Actor | undefined): string | undefined {
  if (fact.payload_type !== "user_command" || fact.payload.command !== "stop") return undefined;
  const { reason } = fact.payload;
  const who = actor === undefined ? fact.source : `${actor.user} on ${actor.host}`;
  return `stopped by ${who}${reason === undefined ? "" : `: ${reason.slice(0, REASON_CHARACTERS).toWellFormed()}`}`;
}

/** Whether a fact has a session begin no more turns, or begin turns again. */
export function isPause(fact: Fact): boolean {
  if (fact.payload_type !== "user_command") return false;
  return fact.payload.command === "pause" || fact.payload.command === "resume";
}

/** What a turn's records and events are about, as one property or none. */
export function aboutOf(stamp: TurnStamp): { subject?: string } {
  return stamp.subject === undefined ? {} : { subject: stamp.subject };
}
