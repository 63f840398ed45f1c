import { type JsonObject, listOf, objectOf } from "../lib/json.ts";

/** A person's message in short: `retry crash`, `answer c1.name`. The payload may be anything. */
export function wordName(payload_type: unknown, payload: JsonObject): string {
  const { command, ticket_id, role_id, decision, answers } = payload;
  const parts =
    payload_type === "user_command"
      ? [command, ticket_id, role_id]
      : payload_type === "clarification_response"
        ? ["answer", ...listOf(answers).map((answer) => objectOf(answer).question_id)]
        : [payload_type, ticket_id, decision];
  return parts.filter((part) => typeof part === "string").join(" ");
}
