import type { LedgerAsk } from "../../kernel/ledger.ts";
import { safeText } from "../../ui/display.ts";
import { type Place, promptLine, promptQuestion } from "../../ui/prompt.ts";
import { settledSentence, type Waiting } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import { waitingFor } from "../lookup/asks.ts";
import { valueOf } from "../lookup/state.ts";
import { askPlan, askResult, askReview, type DecidingParts } from "./deciding.ts";
import { takenFor } from "./kept.ts";
import type { Refusal, PersonMessage } from "./person-message.ts";

/** What asking at this terminal needs of the session, whichever process runs it. */
export interface AskingParts extends Omit<DecidingParts, "complain"> {
  /** An ask that is open now; undefined if it is not, or not any more. */
  readonly openAsk: (ask_id: string) => LedgerAsk | undefined;
  /** The person left without a word. */
  readonly left: () => void;
  /** Something threw while a person was asked: nobody is asked here any more. */
  readonly broken: (error: unknown) => void;
}

/**
 * Asks the person at this terminal, one thing at a time. What is answered from elsewhere meanwhile is taken away from under the
 * prompt, and a line that was begun for it answers nothing else.
 */
export class Asking {
  readonly #parts: AskingParts;
  readonly #deciding: DecidingParts;
  /** In the order in which they came. */
  readonly #queue: { readonly ask_id: string; readonly refused: Refusal | undefined }[] = [];
  #prompt: AbortController | undefined;
  /** What is asked now, and what takes it away once it is settled otherwise. */
  #asked: { readonly waiting: Waiting; readonly settled: AbortController } | undefined;
  /** A line may have been begun for what was taken away, which nobody has ended yet. */
  #isLineBegun = false;
  #over = false;
  #done: Promise<void> = Promise.resolve();

  constructor(parts: AskingParts) {
    this.#parts = parts;
    this.#deciding = {
      ...parts,
      say: (word, ask_id) => this.#say(word, ask_id),
      complain: (why) => this.complain(why),
    };
  }

  /** This must be asked, as soon as nothing else is; once more if what was said to it does not stand. */
  ask(ask_id: string, refused?: Refusal): void {
    if (this.#over) return;
    this.#queue.push({ ask_id, refused });
    if (this.#prompt !== undefined) return;
    this.#done = this.#askAll().then(
      (left) => {
        if (left) this.#parts.left();
      },
      (error: unknown) => this.#parts.broken(error),
    );
  }

  /** The session has moved: what is being asked may be settled. */
  look(): void {
    if (this.#asked && !this.#waits(this.#asked.waiting)) this.#asked.settled.abort();
  }

  /** Asks nothing any more; settles when the terminal is free again. */
  end(): Promise<void> {
    this.#over = true;
    this.#prompt?.abort();
    return this.#done;
  }

  /** Says at the terminal why a word did not stand. */
  complain({ message, hint }: Refusal): void {
    const { err } = this.#parts.context.terminal;
    const why = hint === undefined ? message : `${message.replace(/[.;]$/, "")}; ${localize(err, hint)}`;
    for (const line of safeText(why).trim().split("\n")) err.line(err.style("yellow", `  ${line}`));
  }

  /** Asks until nothing is open or the person has left, of which it tells; one prompt at a time. */
  async #askAll(): Promise<boolean> {
    const { terminal } = this.#parts.context;
    const prompt = new AbortController();
    this.#prompt = prompt;
    terminal.err.bell();
    let left = false;
    for (let next = this.#queue.shift(); next !== undefined && !this.#over && !left; next = this.#queue.shift()) {
      const { ask_id, refused } = next;
      if (refused) this.complain(refused);
      const answered = await this.#askOne(ask_id, prompt.signal);
      if (this.#isOpen(ask_id)) {
        left = !answered && !this.#over;
        this.#queue.push({ ask_id, refused: undefined });
      }
    }
    this.#prompt = undefined;
    return left;
  }

  /** False if the person left without a word. */
  async #askOne(ask_id: string, signal: AbortSignal): Promise<boolean> {
    const ask = this.#parts.openAsk(ask_id);
    if (ask === undefined) return true;
    const { store, session_id } = this.#parts;
    const waiting = waitingFor(store, session_id, ask);
    for (const [index, one] of waiting.entries()) {
      if (!this.#isOpen(ask_id) || !this.#waits(one)) continue;
      const place = { number: index + 1, of: waiting.length };
      if (!(await this.#put(one, place, ask.record, signal))) return false;
    }
    return true;
  }

  /** Puts one thing to the person, or tells that it was settled elsewhere meanwhile; false if they left without a word. */
  async #put(waiting: Waiting, place: Place, asked_with: number, over: AbortSignal): Promise<boolean> {
    const settled = new AbortController();
    this.#asked = { waiting, settled };
    const signal = AbortSignal.any([over, settled.signal]);
    const isAnswered = (await this.#endLine(signal)) && (await this.#answered(waiting, place, signal));
    this.#asked = undefined;
    if (isAnswered || !settled.signal.aborted) return isAnswered;
    const { store, session_id, context } = this.#parts;
    const { err } = context.terminal;
    const taken = takenFor(store, session_id, waiting, asked_with);
    err.line(err.style("yellow", `  ${settledSentence(waiting, taken)}`));
    this.#isLineBegun = true;
    return true;
  }

  /** Has a line ended that may have been begun for something else, before another is asked for; false if nobody ends it. */
  async #endLine(signal: AbortSignal): Promise<boolean> {
    if (!this.#isLineBegun) return true;
    const label = "Press Enter for what is asked next; what was typed until then is no answer. ";
    const typed = await promptLine(this.#parts.context.terminal, label, signal);
    this.#isLineBegun = typed.kind === "left";
    return !this.#isLineBegun;
  }

  async #answered(waiting: Waiting, place: Place, signal: AbortSignal): Promise<boolean> {
    const { ask_id } = waiting;
    switch (waiting.kind) {
      case "approval":
        return (waiting.about === "plan" ? askPlan : askResult)(this.#deciding, ask_id, signal);
      case "review":
        return askReview(this.#deciding, waiting, signal);
      case "question": {
        const typed = await promptQuestion(this.#parts.context.terminal, waiting, place, signal);
        if (typed.kind === "left") return false;
        const answers = [{ question_id: waiting.question_id, text: typed.text }];
        await this.#say({ payload_type: "clarification_response", payload: { answers, status: "answered" } }, ask_id);
        return true;
      }
    }
  }

  /** Puts a word to the session; gives back, and says, why it does not stand if it does not. */
  async #say(word: PersonMessage, ask_id: string): ReturnType<AskingParts["say"]> {
    const refused = await this.#parts.say(word, ask_id);
    if (refused !== undefined) this.complain(refused);
    return refused;
  }

  /** Whether it waits for a person, as far as the store knows: what became of anything else could not be told yet. */
  #waits(waiting: Waiting): boolean {
    const { store, session_id } = this.#parts;
    const ask = valueOf(store, session_id, "ask", waiting.ask_id);
    if (ask === undefined || waiting.kind !== "question") return ask !== undefined;
    return waitingFor(store, session_id, ask).some(
      (one) => one.kind === "question" && one.question_id === waiting.question_id,
    );
  }

  #isOpen(ask_id: string): boolean {
    return this.#parts.openAsk(ask_id) !== undefined;
  }
}
