import type { LedgerAsk } from "../kernel/ledger.ts";
import type { Outcome } from "../kernel/mode.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { StorageError } from "../store/storage-error.ts";

/** What a viewer can see of a running session. Records and asks are told after their commit. */
export type SessionEvent =
  | { readonly kind: "record"; readonly sequence: number; readonly record: UnsealedRecord }
  /** An agent works on a turn now. `pid` is its process; absent for an agent without one, and if the turn was over before it was seen. */
  | (TurnAbout & { readonly kind: "turn_started"; readonly pid?: number })
  /** The agent of a turn is gone. What came of the turn is in its records. */
  | (TurnAbout & { readonly kind: "turn_ended" })
  /** A line an agent printed that is no message, as the agent wrote it: untrusted, and at most 8,192 characters of it. */
  | (TurnAbout & { readonly kind: "console"; readonly stream: "stdout" | "stderr"; readonly text: string })
  | { readonly kind: "ask"; readonly ask: LedgerAsk }
  /** Something went wrong that does not stop the session, in one line. */
  | { readonly kind: "warning"; readonly text: string }
  /** The session stops, and turns are being ended for that. */
  | { readonly kind: "stopping"; readonly reason: StopReason; readonly running: number }
  | { readonly kind: "ended"; readonly end: SessionEnd };

/** Which run of which turn an event is about. */
export interface TurnAbout {
  readonly turn_id: string;
  readonly run: number;
  readonly role_id: string;
  readonly subject?: string;
}

/** Why a scheduler leaves its session on purpose, to be resumed. */
export type StopReason = "signal" | "limit" | "waiting" | "manager_failed";

/** How a session was left. */
export type SessionEnd =
  | { readonly kind: "closed"; readonly outcome: Outcome; readonly reason?: string }
  | { readonly kind: "stopped"; readonly reason: string; readonly message: string };

type Listener = (event: SessionEvent) => void;

/** Passes a session's events on to its listeners, in order. */
export class Bus {
  readonly #listeners = new Set<Listener>();

  /** Returns the function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Drops a listener that throws, so that no viewer can break the engine. A `StorageError` is thrown on: the session must end with it. */
  emit(event: SessionEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        if (error instanceof StorageError) throw error;
        this.#listeners.delete(listener);
      }
    }
  }
}
