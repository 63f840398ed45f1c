import type { JsonObject } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PermissionChoice } from "../../ui/permission-lines.ts";
import type { PayloadType } from "../../protocol/payload.ts";

/** What a person sends to a session: an answer, a decision or a command. */
export interface PersonMessage {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** A command to a session or to one of its tickets. */
export function commandMessage(payload: JsonObject): PersonMessage {
  return { payload_type: "user_command", payload };
}

/** A decision on a permission, with words for the program. */
export function permissionMessage(ask_id: string, choice: PermissionChoice, notes = ""): PersonMessage {
  const scope = choice === "allow" ? "once" : choice.replace("allow-", "");
  const decision = choice === "deny" ? { decision: "rejected" } : { decision: "approved", scope };
  return { payload_type: "approval", payload: { ...decision, ask_id, ...(notes === "" ? {} : { notes }) } };
}

/** Resumes a paused session, or a stopped child session. */
export const GO_ON = commandMessage({ command: "resume" });

/** Why a message was refused, and what to do. */
export type Refusal = Pick<Failure, "message" | "hint">;
