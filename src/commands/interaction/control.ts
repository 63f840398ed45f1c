import type { Session } from "../../runtime/session.ts";
import type { Store } from "../../store/store.ts";
import { actorHere } from "../context/program.ts";
import { type PersonMessage, type Refusal, validateMessage } from "./person-message.ts";
import { lateRefusal, putMessage, untaken } from "./put.ts";

/** How people reach a session, whichever process runs it. */
export interface SessionControl {
  /** Sends a person's message. Settles when its outcome is on record, with the reason if it was refused. `late` is called if that takes long. */
  say(message: PersonMessage, late: (why: Refusal) => void): Promise<Refusal | undefined>;
  /** The person at this terminal leaves; what is asked stays open. */
  leave(why: string): void;
  /** Reports an error that was thrown while the session was shown or a person was asked. */
  broken(error: unknown): void;
}

/** Sends messages to a session of this process. Settles when they are committed, because only then does the store know them. */
export class LiveControl<S> implements SessionControl {
  readonly #session: Session<S>;
  #told = 0;
  #isOver = false;
  #waiting: { readonly record: number; readonly settle: () => void }[] = [];

  constructor(session: Session<S>) {
    this.#session = session;
    session.bus.subscribe((event) => {
      if (event.kind !== "record") return;
      this.#told = event.sequence;
      this.#settle();
    });
  }

  async say(message: PersonMessage): Promise<Refusal | undefined> {
    const session = this.#session;
    const refused =
      validateMessage(message) ??
      session.submitFromPerson({ ...message, source: "user", actor: actorHere() })?.step.refused;
    await new Promise<void>((settle) => {
      this.#waiting.push({ record: session.sequence, settle });
      this.#settle();
    });
    return refused;
  }

  leave(why: string): void {
    this.#session.stop("waiting", why);
  }

  broken(error: unknown): void {
    this.#session.broken(error);
  }

  /** Call when the session has ended: nothing more is committed. */
  end(): void {
    this.#isOver = true;
    this.#settle();
  }

  #settle(): void {
    const isDue = ({ record }: { readonly record: number }) => this.#isOver || record <= this.#told;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((one) => !isDue(one));
    for (const { settle } of due) settle();
  }
}

/** Puts messages into the inbox of a session that another process runs. */
export class InboxControl implements SessionControl {
  readonly #parts: InboxControlParts;
  readonly #trouble = Promise.withResolvers<never>();

  constructor(parts: InboxControlParts) {
    this.#parts = parts;
  }

  /** Rejects with the error that was thrown. */
  get trouble(): Promise<never> {
    return this.#trouble.promise;
  }

  async say(message: PersonMessage, late: (why: Refusal) => void): Promise<Refusal | undefined> {
    const { inbox, session_id, over } = this.#parts;
    const row = inbox?.session(session_id);
    if (inbox === undefined || !row?.ok) return row?.ok === false ? row.error : undefined;
    const put = await putMessage(inbox, row.value, message);
    if (!put.ok) return put.error;
    const { value } = put;
    if (value.took === "taken" || value.took === "waits") return undefined;
    late({ message: untaken(session_id, value) });
    return lateRefusal(inbox, row.value, message, value.inbox_id, over);
  }

  leave(): void {
    this.#parts.left();
  }

  broken(error: unknown): void {
    this.#trouble.reject(error);
  }
}

export interface InboxControlParts {
  /** Undefined if no person is asked here. */
  readonly inbox: Store | undefined;
  readonly session_id: string;
  readonly left: () => void;
  /** Ends the wait for a message that the owner does not take. */
  readonly over: AbortSignal;
}
