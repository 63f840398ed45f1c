import { PAYLOAD_TYPES, type PayloadType } from "./payload.ts";
import type { RoleType } from "./roles.ts";

/** The sender of an envelope: a role of some type, the user, or the scheduler. */
export type Sender = RoleType | "user" | "scheduler";

/**
 * When a sender may send a payload type: as the answer to a message of a listed type, as the answer to any message (`"any_turn"`), or at any time
 * without being an answer (`"always"`).
 */
export type Right = readonly PayloadType[] | "any_turn" | "always";

/** The rights of a mode: which sender may send which type when. Everything else is forbidden. */
export type Rights = Readonly<Record<Sender, { readonly [K in PayloadType]?: Right }>>;

/** Whether `sender` may send `payloadType` in a turn about `messageType`, or without a turn if that is omitted. */
export function permits(rights: Rights, sender: Sender, payloadType: PayloadType, messageType?: PayloadType): boolean {
  const right = rights[sender][payloadType];
  if (right === undefined) return false;
  if (right === "always") return true;
  if (messageType === undefined) return false;
  return right === "any_turn" || right.includes(messageType);
}

/** The payload types that end a turn about `messageType`: the `expects` of its `turn_request`. A type with the right `always` is not an answer. */
export function expectedAnswers(rights: Rights, sender: Sender, messageType: PayloadType): PayloadType[] {
  return PAYLOAD_TYPES.filter(
    (type) => rights[sender][type] !== "always" && permits(rights, sender, type, messageType),
  );
}
