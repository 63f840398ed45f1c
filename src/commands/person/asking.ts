import type { LedgerAsk } from "../../kernel/ledger.ts";
import { safeText } from "../../ui/display.ts";
import { discardTyped, promptQuestion } from "../../ui/prompt.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { hintHere } from "../call/called.ts";
import { waitingFor } from "../session/asks.ts";
import { askPlan, askResult, askReview, type DecidingParts } from "./deciding.ts";
import type { Refusal, Word } from "./word.ts";

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
 * prompt.
 */
export class Asking {
  readonly #parts: AskingParts;
  readonly #deciding: DecidingParts;
  /** In the order in which they came. */
  readonly #queue: { readonly ask_id: string; readonly refused: Refusal | undefined }[] = [];
  #prompt: AbortController | undefined;
  #prompting: string | undefined;
  /** The question of it that is on the screen, if it is one of several, and what takes it away. */
  #question: { readonly question_id: string; readonly answered: AbortController } | undefined;
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
    const release = this.#parts.context.terminal.out.hold();
    this.#done = this.#askAll()
      .finally(release)
      .then(
        (left) => {
          if (left) this.#parts.left();
        },
        (error: unknown) => this.#parts.broken(error),
      );
  }

  /** The session has moved: what is being asked may be answered. */
  look(): void {
    if (this.#prompting === undefined) return;
    if (!this.#isOpen(this.#prompting)) this.#prompt?.abort();
    else if (this.#question && !this.#waits(this.#prompting, this.#question.question_id))
      this.#question.answered.abort();
  }

  /** Asks nothing any more; settles when the terminal is free again. */
  end(): Promise<void> {
    this.#over = true;
    this.#prompt?.abort();
    return this.#done;
  }

  /** Says at the terminal why a word did not stand. */
  complain({ message, hint }: Refusal): void {
    const { terminal, bosun } = this.#parts.context;
    const { err } = terminal;
    const why = hint === undefined ? message : `${message.replace(/[.;]$/, "")}; ${hintHere(bosun, hint)}`;
    for (const line of safeText(why).trim().split("\n")) err.line(err.style("yellow", `  ${line}`));
  }

  /** Asks until nothing is open or the person has left, of which it tells; one prompt at a time. */
  async #askAll(): Promise<boolean> {
    const { terminal } = this.#parts.context;
    // Whoever asks while typed keys are thrown away must find that somebody is asked already.
    this.#prompt = new AbortController();
    await discardTyped(terminal);
    terminal.err.bell();
    let left = false;
    for (let next = this.#queue.shift(); next !== undefined && !this.#over && !left; next = this.#queue.shift()) {
      this.#prompt = new AbortController();
      const { ask_id, refused } = next;
      this.#prompting = ask_id;
      if (refused) this.complain(refused);
      const answered = await this.#askOne(ask_id, this.#prompt.signal);
      if (this.#isOpen(ask_id)) {
        left = !answered && !this.#over;
        this.#queue.push({ ask_id, refused: undefined });
      }
    }
    this.#prompting = undefined;
    this.#prompt = undefined;
    return left;
  }

  /** False if the person left without a word. */
  async #askOne(ask_id: string, signal: AbortSignal): Promise<boolean> {
    const ask = this.#parts.openAsk(ask_id);
    const waiting = this.#waitingFor(ask_id);
    const [first] = waiting;
    if (ask === undefined || first === undefined) return true;
    if (first.kind === "approval") {
      return first.about === "plan"
        ? askPlan(this.#deciding, ask_id, signal)
        : askResult(this.#deciding, ask_id, signal);
    }
    if (first.kind === "review") return askReview(this.#deciding, first, signal);
    return this.#askQuestions(waiting, signal);
  }

  async #askQuestions(waiting: readonly Waiting[], signal: AbortSignal): Promise<boolean> {
    for (const [index, question] of waiting.entries()) {
      if (question.kind !== "question") continue;
      const { ask_id, question_id } = question;
      if (!this.#waits(ask_id, question_id)) continue;
      const place = { number: index + 1, of: waiting.length };
      const answered = new AbortController();
      this.#question = { question_id, answered };
      const either = AbortSignal.any([signal, answered.signal]);
      const typed = await promptQuestion(this.#parts.context.terminal, question, place, either);
      this.#question = undefined;
      if (typed.kind === "left" && answered.signal.aborted && !signal.aborted) continue;
      if (typed.kind === "left") return false;
      const answers = [{ question_id, text: typed.text }];
      await this.#say({ payload_type: "clarification_response", payload: { answers, status: "answered" } }, ask_id);
    }
    return true;
  }

  /** Puts a word to the session; gives back, and says, why it does not stand if it does not. */
  async #say(word: Word, ask_id: string): ReturnType<AskingParts["say"]> {
    const refused = await this.#parts.say(word, ask_id);
    if (refused !== undefined) this.complain(refused);
    return refused;
  }

  /** Whether this question of an open ask has no answer yet. */
  #waits(ask_id: string, question_id: string): boolean {
    return this.#waitingFor(ask_id).some((one) => one.kind === "question" && one.question_id === question_id);
  }

  #waitingFor(ask_id: string): Waiting[] {
    const { store, session_id, openAsk } = this.#parts;
    const ask = openAsk(ask_id);
    return ask === undefined ? [] : waitingFor(store, session_id, ask);
  }

  #isOpen(ask_id: string): boolean {
    return this.#parts.openAsk(ask_id) !== undefined;
  }
}
