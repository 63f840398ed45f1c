import type { JsonObject } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PermissionChoice } from "../../ui/permission-lines.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Waiting } from "../../ui/waiting.ts";

/** What a person sends to a session: an answer, a decision or a command. */
export interface PersonMessage {
  readonly payload_type: PayloadType;
  readonly payload: JsonObject;
}

/** A command to a session or to one of its tickets. */
export function commandMessage(payload: JsonObject): PersonMessage {
  return { payload_type: "user_command", payload };
}

/** Answers to questions of one ask; `complete` leaves the rest of its questions to the manager. */
export function answersMessage(
  answers: readonly { readonly question_id: string; readonly text: string }[],
  status: "answered" | "complete" = "answered",
): PersonMessage {
  return { payload_type: "clarification_response", payload: { answers: answers.map((one) => ({ ...one })), status } };
}

export type Decidable = Extract<Waiting, { kind: "approval" | "review" }>;

/** A decision on the work on a ticket, or on a plan or a result, with words for who made it. */
export function decisionMessage(about: Decidable, decision: string, words?: string): PersonMessage {
  if (about.kind === "approval") {
    const notes = words === undefined ? {} : { notes: words };
    return { payload_type: "approval", payload: { decision, ask_id: about.ask_id, ...notes } };
  }
  const requested = words === undefined ? {} : { requested_changes: [words] };
  return { payload_type: "review", payload: { decision, ticket_id: about.ticket_id, ...requested } };
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
