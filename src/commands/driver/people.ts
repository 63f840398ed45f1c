import type { SessionEvent } from "../../runtime/bus.ts";
import type { Session } from "../../runtime/session.ts";
import type { Store } from "../../store/store.ts";
import type { Waiting } from "../../ui/waiting.ts";
import type { CommandContext } from "../context/command.ts";
import { actorHere } from "../context/program.ts";
import type { RunOptions } from "../options/run-options.ts";
import { Asking } from "../interaction/asking.ts";
import { wordFor } from "../interaction/beforehand.ts";
import { type Refusal, validateMessage, type PersonMessage } from "../interaction/person-message.ts";
import { waitingFor } from "../lookup/asks.ts";

/** The people's side of a running session, as far as this process carries it. */
export interface PeopleParts<S> {
  readonly context: CommandContext;
  readonly home: string;
  readonly session: Session<S>;
  readonly store: Store;
  readonly runOptions: RunOptions;
  /** Whether somebody sits at a terminal, this or another, where the session's questions are asked. */
  readonly attended: () => boolean;
  /** Shows that a person is asked; whoever shows it knows how it can be answered from elsewhere. */
  readonly tell: (waiting: Waiting) => void;
}

/**
 * Brings every ask of a session to an answer: first from what was said beforehand, then, if somebody sits at this terminal, by
 * asking them.
 */
export class People<S> {
  readonly #parts: PeopleParts<S>;
  readonly #asking: Asking | undefined;
  #begun = false;
  #over = false;
  /** The last record that was told: what the store knows. */
  #told = 0;
  /** What is done when a record is told, or when nothing more is to come. */
  #later: { readonly record: number; readonly act: () => void }[] = [];

  constructor(parts: PeopleParts<S>) {
    this.#parts = parts;
    const { context, home, session, store } = parts;
    const asking = {
      context,
      home,
      store,
      session_id: session.session_id,
      openAsk: (ask_id: string) => session.ledger.asks.get(ask_id),
      say: (word: PersonMessage) => this.#sayAndCommit(word),
      left: () => session.stop("waiting", "a person left a question open"),
      broken: (error: unknown) => session.broken(error),
    };
    this.#asking = parts.runOptions.ask ? new Asking(asking) : undefined;
  }

  event(event: SessionEvent): void {
    if (event.kind === "record") {
      this.#told = event.sequence;
      this.#catchUp();
      this.#begin();
      this.#asking?.look();
    } else if (event.kind === "stopping") void this.end();
    // Those of the first commit are among what it is begun with.
    else if (event.kind === "ask" && this.#begun) this.#consider(event.ask.ask_id);
  }

  /** Nobody is asked any more; settles when the terminal is free again. */
  async end(): Promise<void> {
    this.#over = true;
    this.#catchUp();
    await this.#asking?.end();
  }

  /** Says what was settled beforehand for the case that nobody comes; false if that settles nothing of what is open. */
  answerAlone(): boolean {
    const { session, runOptions } = this.#parts;
    const said = [...session.ledger.asks.keys()].map((ask_id) => {
      const word = wordFor(this.#waitingFor(ask_id), runOptions, true);
      return word !== undefined && this.#say(word) === undefined && !session.ledger.asks.has(ask_id);
    });
    return said.includes(true);
  }

  /**
   * Called with the first record that is told. Only then does the store know what is asked, and which of it the inbox has
   * answered already, so nobody is asked that again. What is asked later is told when it is committed.
   */
  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    const { session, store } = this.#parts;
    const asks = [...session.ledger.asks.keys()];
    for (const ask_id of asks) if (store.value(session.session_id, "ask", ask_id)) this.#consider(ask_id);
  }

  #consider(ask_id: string): void {
    const { session, runOptions, attended, tell } = this.#parts;
    const waiting = this.#waitingFor(ask_id);
    const [first] = waiting;
    if (this.#over || first === undefined) return;
    if (runOptions.plan_only && first.kind === "approval" && first.about === "plan") {
      session.stop("waiting", "the plan is there; a person must approve it");
      return;
    }
    const word = wordFor(waiting, runOptions, !attended());
    const refused = word && this.#say(word);
    if (refused) this.#asking?.complain(refused);
    const ask = session.ledger.asks.get(ask_id);
    if (ask === undefined) return;
    const said = refused ? undefined : word;
    if (this.#asking) this.#asking.ask(ask_id);
    else {
      const open = waiting.filter((one) => !isAnswered(one, said));
      // Shown with the record that asks: what is asked is durable before what it is about is told.
      this.#whenTold(ask.record, () => {
        for (const one of open) tell(one);
      });
    }
  }

  /** Puts a person's word to the session; gives back why it does not stand, if it does not. */
  #say(word: PersonMessage): Refusal | undefined {
    const { session } = this.#parts;
    return (
      validateMessage(word) ?? session.submitFromPerson({ ...word, source: "user", actor: actorHere() })?.step.refused
    );
  }

  /** Comes back when what was said is committed: only then does the store know it. */
  async #sayAndCommit(word: PersonMessage): Promise<Refusal | undefined> {
    const refused = this.#say(word);
    await new Promise<void>((resolve) => this.#whenTold(this.#parts.session.sequence, resolve));
    return refused;
  }

  #whenTold(record: number, act: () => void): void {
    this.#later.push({ record, act });
    this.#catchUp();
  }

  #catchUp(): void {
    const isDue = ({ record }: { readonly record: number }) => this.#over || record <= this.#told;
    const due = this.#later.filter(isDue);
    this.#later = this.#later.filter((one) => !isDue(one));
    for (const { act } of due) act();
  }

  #waitingFor(ask_id: string): Waiting[] {
    const { session, store } = this.#parts;
    const ask = session.ledger.asks.get(ask_id);
    return ask === undefined ? [] : waitingFor(store, session.session_id, ask);
  }
}

function isAnswered(waiting: Waiting, word: PersonMessage | undefined): boolean {
  const answers = (word?.payload.answers ?? []) as readonly { readonly question_id: string }[];
  return waiting.kind === "question" && answers.some((answer) => answer.question_id === waiting.question_id);
}
