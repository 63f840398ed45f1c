import { type Failure, failure } from "../protocol/failure.ts";
import type { SessionRow } from "../store/store.ts";

/** Why nothing can be said to a session, or to a ticket of it, any more; undefined if it is not closed. */
export function whyClosed({ session_id, state, outcome }: SessionRow, ticket_id?: string): Failure | undefined {
  if (state !== "closed") return undefined;
  const about = ticket_id === undefined ? "" : ` of ${JSON.stringify(ticket_id)}`;
  return failure("usage", `The session ${session_id}${about} is closed: ${outcome ?? "it has ended"}.`, {
    hint: `A ticket in error can be tried again: bosun retry ${session_id} ${ticket_id ?? "TICKET"}.`,
  });
}
