import type { Session } from "../../runtime/session.ts";
import type { Store } from "../../store/store.ts";
import { actorHere } from "../context/program.ts";
import { outcomeOf, type PersonMessage, putMessage, type Refusal, untaken } from "./put.ts";

/** How people reach a session, whichever process runs it. */
export interface SessionControl {
  /** Sends a person's message. Settles when its outcome is on record, with the reason if it was refused. `late` is called if that takes long. */
  say(message: PersonMessage, late: (why: Refusal) => void): Promise<Refusal | undefined>;
  /** The person at this terminal leaves; what is asked stays open. */
  leave(why: string): void;
  /** Reports an error that was thrown while the session was shown or a person was asked. */
  broken(error: unknown): void;
}

/** Sends messages to a session of this process. */
export function liveControl<S>(session: Session<S>): SessionControl {
  return {
    async say(message) {
      const refused = session.submitFromPerson({ ...message, source: "user", actor: actorHere() });
      // Only then does the store know it.
      await session.durable();
      return refused;
    },
    leave: (why) => session.stop("waiting", why),
    broken: (error) => session.broken(error),
  };
}

/**
 * Puts messages into the inbox of a session that another process runs; without `inbox`, no person is asked here. `over` ends the wait for a
 * message that the owner does not take. `trouble` rejects with an error that was thrown.
 */
export function inboxControl(
  inbox: Store | undefined,
  session_id: string,
  left: () => void,
  over: AbortSignal,
): SessionControl & { readonly trouble: Promise<never> } {
  const trouble = Promise.withResolvers<never>();
  return {
    trouble: trouble.promise,
    async say(message, late) {
      const row = inbox?.session(session_id);
      if (inbox === undefined || !row?.ok) return row?.ok === false ? row.error : undefined;
      const put = await putMessage(inbox, row.value, message);
      if (!put.ok || put.value.took !== "late") return put.ok ? undefined : put.error;
      late({ message: untaken(session_id) });
      const outcome = await outcomeOf(inbox, row.value, put.value.inbox_id, over);
      return outcome.ok ? undefined : outcome.error;
    },
    leave: left,
    broken: trouble.reject,
  };
}
