import type { Outcome } from "../kernel/mode.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { ToldAsk } from "../protocol/telling.ts";
import { StorageError } from "../store/storage-error.ts";

/** The events of a running session that viewers can see. Records and asks are emitted after their commit. */
export type SessionEvent =
  | { readonly kind: "record"; readonly sequence: number; readonly record: UnsealedRecord }
  /** An agent has started. `pid` is absent if it has no process, or if the turn ended before the process was seen. */
  | (TurnAbout & { readonly kind: "turn_started"; readonly pid?: number })
  /** The agent of a turn is gone. The turn's result is in its records. */
  | (TurnAbout & { readonly kind: "turn_ended" })
  /** A line of an agent's output that is not a message. Untrusted text, at most 8,192 characters. */
  | (TurnAbout & { readonly kind: "console"; readonly stream: "stdout" | "stderr"; readonly text: string })
  /** Something waits for a person. Only feeds emit it, after the record that holds its text. */
  | { readonly kind: "ask"; readonly ask: ToldAsk }
  /** A problem that does not stop the session, in one line. */
  | { readonly kind: "warning"; readonly text: string }
  /** The session is stopping, and its running turns are being ended. */
  | { readonly kind: "stopping"; readonly reason: StopReason; readonly running: number }
  | { readonly kind: "ended"; readonly end: SessionEnd };

export interface TurnAbout {
  readonly turn_id: string;
  readonly run: number;
  readonly role_id: string;
  readonly subject?: string;
}

/** Why a scheduler stops its session resumably. */
export type StopReason = "signal" | "limit" | "waiting" | "manager_failed";

/** How a session ended. */
export type SessionEnd =
  | { readonly kind: "closed"; readonly outcome: Outcome; readonly reason?: string }
  | { readonly kind: "stopped"; readonly reason: string; readonly message: string };

type Listener = (event: SessionEvent) => void;

/** Passes a session's events to its listeners, in order. */
export class Bus {
  readonly #listeners = new Set<Listener>();

  /** Returns a function that unsubscribes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Drops a listener that throws, so that no viewer can break the engine. A `StorageError` ends the session instead. */
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
