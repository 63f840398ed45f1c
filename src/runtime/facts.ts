import type { Fact, TurnStamp } from "../kernel/mode.ts";
import { ok } from "../lib/result.ts";
import { validateMessage } from "../protocol/envelope.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { isPayloadType } from "../protocol/payload.ts";
import type { Actor } from "../protocol/record.ts";
import { quote } from "../protocol/refusal.ts";
import type { Rights } from "../protocol/rights.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { messageName, type Recording, subjectIn } from "../protocol/recording.ts";
import type { ArtifactRow } from "../store/store.ts";

/** A fact before it is recorded, with what its channel knows about it. */
export interface FactInput
  extends Omit<Recording, "session_id" | "at" | "target" | "kind" | "disposition" | "turn" | "effects" | "deltas"> {
  /** Default: now. */
  readonly at?: Instant;
  /** Default: `scheduler`; `session` for facts of the scheduler. */
  readonly target?: string;
  readonly turn?: TurnStamp | undefined;
  readonly artifact?: Omit<ArtifactRow, "sequence"> | undefined;
  /** The inbox row that it came from. */
  readonly taken?: number | undefined;
  /** Set if it was put before this scheduler took over the session, which was then closed or merely left. */
  readonly overtaken?: "closed" | "taken_up" | undefined;
}

/**
 * Validates a person's message and finds its subject. Fails if the mode does not allow it, it is malformed, it was a `stop` or `pause` for
 * an earlier scheduler, or it arrived while the session closed and was reopened later.
 */
export function fromPerson<I extends Pick<FactInput, "payload_type" | "payload" | "overtaken">>(
  input: I,
  rights: Rights,
): Fallible<I> {
  const { payload_type, payload, overtaken } = input;
  // Another process's row may hold anything, even a type that is not a string.
  if (!isPayloadType(payload_type) || rights.user[payload_type] === undefined) {
    return fails("not_permitted", `a person may not send ${quote(payload_type)}`);
  }
  const checked = validateMessage(payload_type, payload);
  if (!checked.ok) {
    const { message, pointer } = checked.error;
    return fails("validation_failed", message, { details: { pointer } });
  }
  if (overtaken === "closed") {
    const word = quote(messageName(payload_type, payload));
    return fails("not_permitted", `the session closed before it took ${word}`);
  }
  const { command } = payload;
  if (overtaken !== undefined && payload_type === "user_command" && (command === "stop" || command === "pause")) {
    const message = `this ${command} was for an earlier scheduler: the session was resumed since`;
    return fails("not_permitted", message);
  }
  return ok({ ...input, payload: checked.value, subject: subjectIn(checked.value) });
}

/** Maximum number of characters of a reason in the record of a stop; the command's own record has all of it. */
const REASON_CHARACTERS = 1_000;

/** The message of the stop that this fact requests, naming who requested it; undefined for any other fact. */
export function stopAsked(fact: Fact, actor: Actor | undefined): string | undefined {
  if (fact.payload_type !== "user_command" || fact.payload.command !== "stop") return undefined;
  const { reason } = fact.payload;
  const who = actor === undefined ? fact.source : `${actor.user} on ${actor.host}`;
  return `stopped by ${who}${reason === undefined ? "" : `: ${reason.slice(0, REASON_CHARACTERS).toWellFormed()}`}`;
}

/** Whether a fact pauses a session or resumes a paused one. */
export function isPause(fact: Fact): boolean {
  if (fact.payload_type !== "user_command") return false;
  return fact.payload.command === "pause" || fact.payload.command === "resume";
}
