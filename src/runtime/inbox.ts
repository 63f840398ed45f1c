import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { Actor } from "../protocol/record.ts";
import type { Lease, Store } from "../store/store.ts";
import type { Clock } from "./time/clock.ts";
import type { FactInput } from "./facts.ts";
import type { TroubleDoor } from "./door.ts";
import { orderInboxRows } from "./heard.ts";

/** How often another process's words are looked for, in ms; a look costs one pragma. */
const LOOK_EVERY_MS = 150;

interface InboxParts {
  readonly store: Store;
  readonly session_id: string;
  readonly clock: Clock;
  readonly lease: Held;
}

/** A lease, and the last inbox row that was put before this scheduler took it; 0 for none. Ids only rise, wall clocks are set. */
export interface Held extends Lease {
  readonly put_before: number;
  /** The session was closed, and is opened again with this lease. */
  readonly reopened?: boolean;
}

interface InboxDoor extends TroubleDoor {
  /** Gets each word once. */
  take(input: FactInput): void;
  /** It is time to look for what was put to children that nobody runs, too. */
  looked(): void;
}

/** Carries what people and other processes put to the session to its owner, which commits each as a fact. */
export class InboxWatch {
  readonly #parts: InboxParts;
  readonly #door: InboxDoor;
  /** Submitted, but perhaps not yet committed as taken. */
  #last = 0;
  #version = -1;
  #cancel: (() => void) | undefined;

  constructor(parts: InboxParts, door: InboxDoor) {
    this.#parts = parts;
    this.#door = door;
  }

  start(): void {
    this.#look(() => this.#take());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    this.#cancel = this.#parts.clock.after(LOOK_EVERY_MS, () => {
      this.#look(() => {
        const version = this.#parts.store.version();
        if (version !== this.#version) this.#take();
        this.#version = version;
        this.#door.looked();
      });
    });
  }

  #look(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#door.broken(error);
      return;
    }
    this.#arm();
  }

  #take(): void {
    const news = this.#parts.store.inbox.pending(this.#parts.session_id).filter((row) => row.id > this.#last);
    this.#last = news.at(-1)?.id ?? this.#last;
    for (const row of orderInboxRows(news)) {
      crashPoint("inbox_read");
      // Whoever wrote the row may have written anything; what is no word of a person is refused, and the row is taken all the same.
      const body = row.body as { payload_type?: PayloadType; payload?: JsonObject } | null;
      const { put_before, reopened } = this.#parts.lease;
      const overtaken = row.id > put_before ? undefined : reopened ? "closed" : "taken_up";
      const word = { payload_type: body?.payload_type ?? ("nothing" as PayloadType), payload: body?.payload ?? {} };
      this.#door.take({ ...word, source: "user", actor: actorIn(row.actor), taken: row.id, overtaken });
    }
  }
}

/** Who put a row there, as it says itself; nobody if that is nothing a record can hold. */
function actorIn(value: unknown): Actor | undefined {
  const { user, host, via } = (value ?? {}) as Readonly<Record<keyof Actor, unknown>>;
  const isName = (name: unknown): name is string => typeof name === "string" && name.isWellFormed();
  return isName(user) && isName(host) && isName(via) ? { user, host, via } : undefined;
}
