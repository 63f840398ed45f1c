import type { JsonObject } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import type { FactInput } from "./facts.ts";

/** How often another process's words are looked for, in ms; a look costs one pragma. */
const LOOK_EVERY_MS = 150;

/** Carries what people and other processes put to the session to its owner, which commits each as a fact. */
export class InboxWatch {
  readonly #store: Store;
  readonly #session_id: string;
  readonly #clock: Clock;
  readonly #submit: (input: FactInput) => void;
  /** Submitted, but perhaps not yet committed as taken. */
  #last = 0;
  #version = -1;
  #cancel: (() => void) | undefined;

  constructor(store: Store, session_id: string, clock: Clock, submit: (input: FactInput) => void) {
    this.#store = store;
    this.#session_id = session_id;
    this.#clock = clock;
    this.#submit = submit;
  }

  start(): void {
    this.#take();
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => {
      const version = this.#store.version();
      if (version !== this.#version) this.#take();
      this.#version = version;
      this.#arm();
    });
  }

  #take(): void {
    for (const row of this.#store.inbox.pending(this.#session_id)) {
      if (row.id <= this.#last) continue;
      this.#last = row.id;
      // Whoever wrote the row may have written anything; what is no word of a person is refused, and the row is taken all the same.
      const { payload_type, payload } = row.body as { payload_type?: PayloadType; payload?: JsonObject };
      const word = { payload_type: payload_type ?? ("nothing" as PayloadType), payload: payload ?? {} };
      this.#submit({ ...word, source: "user", actor: row.actor, taken: row.id });
    }
  }
}
