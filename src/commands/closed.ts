import { type Failure, failure } from "../protocol/failure.ts";
import type { SessionRow } from "../store/store.ts";

/** Why nothing can be said to a session any more; undefined if it is not closed. */
export function whyClosed({ session_id, state, outcome }: SessionRow): Failure | undefined {
  if (state !== "closed") return undefined;
  return failure("usage", `The session ${session_id} is closed: ${outcome ?? "it has ended"}.`, {
    hint: `A ticket in error can be tried again: bosun retry ${session_id} TICKET.`,
  });
}
