import type { LedgerAsk } from "../../kernel/ledger.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import type { SessionEvent } from "../../runtime/bus.ts";
import type { SessionFeed } from "../../runtime/feed/feed.ts";
import type { StoreReader } from "../../store/store.ts";
import { waitingFor } from "../lookup/asks.ts";
import { valueOf } from "../lookup/state.ts";
import type { Asker, OpenAsk } from "./asker.ts";
import type { GivenMessage } from "../options/run-options.ts";
import { messageFor } from "./beforehand.ts";
import type { SessionControl } from "./control.ts";
import type { PersonMessage, Refusal } from "./person-message.ts";

export interface InteractionParts {
  readonly feed: SessionFeed;
  readonly control: SessionControl;
  readonly store: StoreReader;
  readonly asker: Asker;
  /** What was said beforehand, if this process is the one to say it. */
  readonly given?: (GivenMessage & { readonly plan_only: boolean }) | undefined;
  /** Whether a person is at a terminal, this or another, where the session's questions are asked. */
  readonly attended: () => boolean;
}

/** Gets every ask of a session answered: from what was said beforehand, else by asking a person. */
export class Interaction {
  readonly #parts: InteractionParts;
  /** The asks whose answer from here is not known to be taken. They are not asked again meanwhile. */
  readonly #late = new Set<string>();
  #isOver = false;

  constructor(parts: InteractionParts) {
    this.#parts = parts;
  }

  event(event: SessionEvent): void {
    if (event.kind === "record") this.#parts.asker.look();
    else if (event.kind === "stopping") void this.end();
    else if (event.kind === "ask")
      this.#consider(event.ask).catch((error: unknown) => this.#parts.control.broken(error));
  }

  /** Stops asking. Settles when the terminal is free again. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#parts.asker.end();
  }

  /** Answers the open asks as `--unanswered` says; false if that settles none of them. */
  async answerAlone(): Promise<boolean> {
    const { feed, given } = this.#parts;
    let isSettled = false;
    for (const ask of given ? feed.asks() : []) {
      const message = given && messageFor(this.#waiting(ask), given, true);
      if (message === undefined || (await this.#say(message, ask)) !== undefined) continue;
      isSettled ||= this.#stored(ask.ask_id) === undefined;
    }
    return isSettled;
  }

  async #consider(ask: ToldAsk): Promise<void> {
    const { control, given, attended } = this.#parts;
    const waiting = this.#waiting(ask);
    const [first] = waiting;
    if (this.#isOver || first === undefined) return;
    if (given?.plan_only === true && first.kind === "approval" && first.about === "plan")
      return control.leave("the plan is there; a person must approve it");
    const message = given && messageFor(waiting, given, !attended());
    if (message !== undefined) await this.#say(message, ask);
    this.#ask(ask);
  }

  #ask(ask: ToldAsk): void {
    if (this.#waiting(ask).length === 0) return;
    const open: OpenAsk = {
      ...ask,
      waiting: () => this.#waiting(ask),
      say: (message) => this.#say(message, ask),
    };
    this.#parts.asker.ask(open);
  }

  async #say(message: PersonMessage, ask: ToldAsk): Promise<Refusal | undefined> {
    const { control, asker } = this.#parts;
    const late = Promise.withResolvers<undefined>();
    const said = control.say(message, (why) => {
      this.#late.add(ask.ask_id);
      asker.complain(why);
      late.resolve(undefined);
    });
    const outcome = said.then((refused) => {
      if (refused) asker.complain(refused);
      // Ask again for anything that a late message left open.
      if (this.#late.delete(ask.ask_id) && !this.#isOver) this.#ask(ask);
      return refused;
    });
    return Promise.race([outcome, late.promise]);
  }

  /** What an ask waits for, according to the store: the outcome of an ask that is not stored yet could not be shown. */
  #waiting(ask: ToldAsk): ReturnType<typeof waitingFor> {
    const { store, feed } = this.#parts;
    const stored = this.#late.has(ask.ask_id) ? undefined : this.#stored(ask.ask_id);
    return stored === undefined ? [] : waitingFor(store, feed.session_id, stored);
  }

  #stored(ask_id: string): LedgerAsk | undefined {
    const { store, feed } = this.#parts;
    return valueOf(store, feed.session_id, "ask", ask_id);
  }
}
