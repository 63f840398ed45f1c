import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { PayloadType } from "../protocol/payload.ts";

/** A person's word to a session: an answer, a decision, a command. */
export interface Word {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
  /** The ticket it is about. */
  readonly subject?: string;
}

/** Why a person's word does not stand, and what they can do. */
export type Refusal = Pick<Failure, "message" | "hint">;
