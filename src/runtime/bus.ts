import type { LedgerAsk } from "../kernel/ledger.ts";
import type { Outcome } from "../kernel/mode.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { StorageError } from "../store/storage-error.ts";

/** Everything a viewer can see of a running session, told after it was committed; a viewer's trouble is its own. */
export type SessionEvent =
  | { readonly kind: "record"; readonly sequence: number; readonly record: UnsealedRecord }
  /** A turn's process runs now. */
  | {
      readonly kind: "turn_started";
      readonly turn_id: string;
      readonly role_id: string;
      readonly subject?: string;
      readonly pid: number;
    }
  /** What an agent printed besides messages. */
  | {
      readonly kind: "console";
      readonly turn_id: string;
      readonly subject?: string;
      readonly stream: "stdout" | "stderr";
      readonly text: string;
    }
  | { readonly kind: "ask"; readonly ask: LedgerAsk }
  /** Something beside the session went wrong, and it goes on: what, and of what, in one line. */
  | { readonly kind: "warning"; readonly text: string }
  /** Turns are being ended because the session stops. */
  | { readonly kind: "stopping"; readonly reason: StopReason; readonly running: number }
  | { readonly kind: "ended"; readonly end: SessionEnd };

/** Why a scheduler leaves its session on purpose, to be resumed. */
export type StopReason = "signal" | "limit" | "waiting" | "manager_failed";

/** How `run` left a session. */
export type SessionEnd =
  | { readonly kind: "closed"; readonly outcome: Outcome; readonly reason?: string }
  | { readonly kind: "stopped"; readonly reason: string; readonly message: string };

type Listener = (event: SessionEvent) => void;

/** Tells whoever subscribes what happens in a session, in the order in which it does. */
export class Bus {
  readonly #listeners = new Set<Listener>();

  /** Gives back how to leave again. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * A listener that throws is dropped: no viewer can break or slow the engine. What the store could not read for one is no viewer's
   * trouble, and thrown on.
   */
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
