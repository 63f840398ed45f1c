import { PAYLOAD_TYPES, type PayloadType } from "./payload.ts";
import type { RoleType } from "./roles.ts";

/** Whoever an envelope can come from: a role of some type, the person, or the scheduler itself. */
export type Sender = RoleType | "user" | "scheduler";

/**
 * When a sender may send a payload type: as the answer to a message of one of the listed types, as the answer to any message
 * (`"any_turn"`), or at any time, answering nothing (`"always"`).
 */
export type Right = readonly PayloadType[] | "any_turn" | "always";

/** Who may say what: one table for a mode. What is not in it is not permitted. */
export type Rights = Readonly<Record<Sender, { readonly [K in PayloadType]?: Right }>>;

/** Whether `sender` may send `payloadType` while it holds a turn about `messageType`, or unasked if that is left out. */
export function permits(rights: Rights, sender: Sender, payloadType: PayloadType, messageType?: PayloadType): boolean {
  const right = rights[sender][payloadType];
  if (right === undefined) return false;
  if (right === "always") return true;
  if (messageType === undefined) return false;
  return right === "any_turn" || right.includes(messageType);
}

/** The payload types that end a turn about `messageType`: the `expects` of its `turn_request`. What may always be sent is no answer. */
export function expectedAnswers(rights: Rights, sender: Sender, messageType: PayloadType): PayloadType[] {
  return PAYLOAD_TYPES.filter(
    (type) => rights[sender][type] !== "always" && permits(rights, sender, type, messageType),
  );
}
