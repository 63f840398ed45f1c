import { PAYLOAD_TYPES, type PayloadByType } from "./generated/types.ts";

export { CONFIGURATION_DEFAULTS, PAYLOAD_TYPES, SETTING_KINDS } from "./generated/types.ts";
export type * from "./generated/types.ts";

/** The name of a payload's schema; an envelope's `payload_type`. */
export type PayloadType = keyof PayloadByType;

/** The content of an envelope of one type, or of any. */
export type Payload<K extends PayloadType = PayloadType> = PayloadByType[K];

/** A payload with its type: narrows in a `switch` on `payload_type`. */
export type TypedPayload<K extends PayloadType = PayloadType> = {
  [T in K]: { readonly payload_type: T; readonly payload: PayloadByType[T] };
}[K];

/** The types that an agent may send at all; the mode's rights say which role may send which when. */
export const AGENT_PAYLOAD_TYPES = [
  "artifact_ref",
  "clarification",
  "comment",
  "error",
  "instruction",
  "instruction_proposal",
  "opinion",
  "pass",
  "plan",
  "plan_decision",
  "pm_decision",
  "proposal",
  "report",
  "review",
  "state_change",
  "summary",
  "verdict",
  "vote",
] as const satisfies readonly PayloadType[];

export type AgentPayloadType = (typeof AGENT_PAYLOAD_TYPES)[number];

const payloadTypes: ReadonlySet<string> = new Set(PAYLOAD_TYPES);
const agentPayloadTypes: ReadonlySet<string> = new Set(AGENT_PAYLOAD_TYPES);

export function isPayloadType(name: string): name is PayloadType {
  return payloadTypes.has(name);
}

/** Whether a payload type is one that agents send. */
export function isAgentPayloadType(name: string): name is AgentPayloadType {
  return agentPayloadTypes.has(name);
}

/** Whether an agent may send this before its answer: it changes no state and does not end the turn. */
export function isNotice(message: TypedPayload): boolean {
  return (
    message.payload_type === "artifact_ref" ||
    (message.payload_type === "report" && message.payload.status === "progress")
  );
}
