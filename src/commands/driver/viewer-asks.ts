import type { LedgerAsk } from "../../kernel/ledger.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { SessionRow, Store, StoreReader } from "../../store/store.ts";
import type { Reporter } from "../../ui/reporter.ts";
import type { CommandContext } from "../context/command.ts";
import { Asking } from "../interaction/asking.ts";
import { putMessage, untaken, whyRefused } from "../interaction/put.ts";
import type { Refusal, PersonMessage } from "../interaction/person-message.ts";
import { waitingFor } from "../lookup/asks.ts";
import { valueOf } from "../lookup/state.ts";

export interface ViewerAsksParts {
  readonly context: CommandContext;
  readonly home: string;
  readonly store: StoreReader;
  /** The same store for writing, where the person at this terminal is asked. */
  readonly inbox: Store | undefined;
  readonly session_id: string;
  readonly reporter: Reporter;
  /** The person left a question open. */
  readonly left: () => void;
}

/** An ask that is open, and why what was said to it before does not stand. */
interface Known {
  readonly ask: LedgerAsk;
  readonly refused: Refusal | undefined;
  told: "not yet" | "seen" | "told";
}

/** A person's word that waits in the inbox, and what the session was like when it was put there. */
interface Said {
  readonly inbox_id: number;
  readonly row: SessionRow;
  readonly word: PersonMessage;
}

/** What a session that another process runs asks, and what was said to it at this terminal: asked here, or only told. */
export class ViewerAsks {
  readonly #parts: ViewerAsksParts;
  readonly #asking: Asking | undefined;
  /** Asks that are open; only those that a second look still finds are put to the person, since many are answered beforehand. */
  readonly #open = new Map<string, Known>();
  /** Asks that got this person's word, which its owner has not taken: nobody is asked the same twice. */
  readonly #said = new Map<string, Said>();

  /** `broken` is told what threw while a person was asked. */
  constructor(parts: ViewerAsksParts, broken: (error: unknown) => void) {
    this.#parts = parts;
    if (!parts.inbox) return;
    const { inbox } = parts;
    this.#asking = new Asking({
      ...parts,
      openAsk: (ask_id) => this.#openAsk(ask_id),
      say: (word, ask_id) => this.#say(inbox, word, ask_id),
      broken,
    });
  }

  get count(): number {
    return this.#open.size;
  }

  /** The session has moved, and asks this now. */
  look(asks: readonly LedgerAsk[]): void {
    const ids = new Set(asks.map(({ ask_id }) => ask_id));
    for (const ask_id of this.#open.keys()) if (!ids.has(ask_id)) this.#open.delete(ask_id);
    const refused = this.#taken();
    for (const ask of asks) {
      const { ask_id } = ask;
      if (!this.#open.has(ask_id)) this.#open.set(ask_id, { ask, refused: refused.get(ask_id), told: "not yet" });
    }
    this.#asking?.look();
  }

  /** Puts what a second look still found to the person, or tells it where nobody is asked. */
  ask(): void {
    const { store, session_id, reporter } = this.#parts;
    for (const [ask_id, known] of this.#open) {
      if (known.told === "seen") {
        if (this.#asking) this.#asking.ask(ask_id, known.refused);
        else for (const one of waitingFor(store, session_id, known.ask)) reporter.asked(one);
      }
      known.told = known.told === "not yet" ? "seen" : "told";
    }
  }

  /** Asks nothing any more; settles when the terminal is free again. */
  async end(): Promise<void> {
    await this.#asking?.end();
  }

  /** Of the words that were taken after all what they left open, or all of it where they were refused, is asked once more, with the reason. */
  #taken(): Map<string, Refusal | undefined> {
    const { store, session_id } = this.#parts;
    const refused = new Map<string, Refusal | undefined>();
    const waiting = new Set(this.#said.size > 0 ? store.inbox.pending(session_id).map(({ id }) => id) : []);
    for (const [ask_id, { inbox_id, row, word }] of this.#said) {
      if (waiting.has(inbox_id)) continue;
      this.#said.delete(ask_id);
      this.#open.delete(ask_id);
      refused.set(ask_id, whyRefused(store, row, word));
    }
    return refused;
  }

  #openAsk(ask_id: string): LedgerAsk | undefined {
    const { store, session_id } = this.#parts;
    if (this.#said.has(ask_id)) return undefined;
    return valueOf(store, session_id, "ask", ask_id);
  }

  async #say(inbox: Store, word: PersonMessage, ask_id: string): Promise<Failure | undefined> {
    const { session_id } = this.#parts;
    const row = inbox.session(session_id);
    if (!row.ok) return row.error;
    const put = await putMessage(inbox, row.value, word);
    if (!put.ok) return put.error;
    const { value } = put;
    if (value.took === "taken") return undefined;
    this.#said.set(ask_id, { inbox_id: value.inbox_id, row: row.value, word });
    if (value.took !== "waits") this.#asking?.complain({ message: untaken(session_id, value) });
    return undefined;
  }
}
