import type { JsonObject } from "../../lib/json.ts";
import { validateWord } from "../../protocol/envelope.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";

/** A person's word to a session: an answer, a decision, a command. */
export interface PersonMessage {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** A person's command to a session or a ticket of it. */
export function commandMessage(payload: JsonObject): PersonMessage {
  return { payload_type: "user_command", payload };
}

/** What has a session go on that is paused, or a child that has stopped. */
export const GO_ON = commandMessage({ command: "resume" });

/** Why a person's word does not stand, and what they can do. */
export type Refusal = Pick<Failure, "message" | "hint">;

/** Why a word cannot be said to any session, however it stands; undefined for one that is well-formed. */
export function validateMessage({ payload_type, payload }: PersonMessage): Failure | undefined {
  const checked = validateWord(payload_type, payload);
  if (checked.ok) return undefined;
  return failure("usage", `This cannot be said: ${checked.error.message}`, { hint: "See bosun help." });
}
