import type { StoreReader } from "../../store/store.ts";
import { clipped, safeText } from "../../ui/display.ts";
import { type Place, promptLine, promptQuestion } from "../../ui/prompt.ts";
import { sentenceFor, settledSentence, type Waiting } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import type { Asker, OpenAsk } from "./asker.ts";
import { askPermission, askPlan, askResult, askReview } from "./decisions.ts";
import { takenFor } from "./kept.ts";
import type { Refusal } from "./person-message.ts";

/** Desktops show about two lines. */
const ALERT_WIDTH = 120;

export interface PromptAskerParts {
  readonly context: CommandContext;
  readonly home: string;
  readonly store: StoreReader;
  readonly session_id: string;
  /** The person leaves a question open (Ctrl-D). */
  readonly left: () => void;
  /** Something threw while a person was asked. */
  readonly broken: (error: unknown) => void;
}

/**
 * Asks the person at this terminal, one thing at a time. A prompt whose question is answered from elsewhere is taken away, and a line that
 * was begun for it answers nothing else.
 */
export class PromptAsker implements Asker {
  readonly #parts: PromptAskerParts;
  /** In the order in which they came. */
  readonly #queue: OpenAsk[] = [];
  readonly #over = new AbortController();
  /** What is asked now, and what takes its prompt away. */
  #asked: { readonly ask: OpenAsk; readonly waiting: Waiting; readonly settled: AbortController } | undefined;
  /** A prompt was taken away, so the person may have begun a line that they have not ended yet. */
  #isLineBegun = false;
  #isAsking = false;
  #done: Promise<void> = Promise.resolve();

  constructor(parts: PromptAskerParts) {
    this.#parts = parts;
  }

  ask(ask: OpenAsk): void {
    if (this.#isOver) return;
    this.#queue.push(ask);
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#done = this.#askAll().then(
      (isLeft) => {
        if (isLeft) this.#parts.left();
      },
      (error: unknown) => this.#parts.broken(error),
    );
  }

  look(): void {
    if (this.#asked && !isOpen(this.#asked.ask, this.#asked.waiting)) this.#asked.settled.abort();
  }

  complain({ message, hint }: Refusal): void {
    const { err } = this.#parts.context.terminal;
    const why = hint === undefined ? message : `${message.replace(/[.;]$/, "")}; ${localize(err, hint)}`;
    for (const line of safeText(why).trim().split("\n")) err.line(err.style("yellow", `  ${line}`));
  }

  end(): Promise<void> {
    this.#over.abort();
    return this.#done;
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Asks until nothing is open; true if the person has left. */
  async #askAll(): Promise<boolean> {
    this.#alert();
    let isLeft = false;
    for (let next = this.#queue.shift(); next !== undefined && !this.#isOver && !isLeft; next = this.#queue.shift()) {
      const isAnswered = await this.#askOne(next);
      if (next.waiting().length === 0) continue;
      isLeft = !isAnswered && !this.#isOver;
      this.#queue.push(next);
    }
    this.#isAsking = false;
    return isLeft;
  }

  /** Tells a person who looks elsewhere. */
  #alert(): void {
    const { context, session_id } = this.#parts;
    const [first] = this.#queue.flatMap((ask) => ask.waiting());
    if (first)
      context.terminal.err.alert(clipped(`Bosun: ${session_id} needs you. ${sentenceFor(first)}`, ALERT_WIDTH));
  }

  /** False if the person left without an answer. */
  async #askOne(ask: OpenAsk): Promise<boolean> {
    const waiting = ask.waiting();
    for (const [index, one] of waiting.entries()) {
      if (!isOpen(ask, one)) continue;
      if (!(await this.#put(ask, one, { number: index + 1, of: waiting.length }))) return false;
    }
    return true;
  }

  /** Puts one thing to the person, or tells that it was settled elsewhere; false if they left without an answer. */
  async #put(ask: OpenAsk, waiting: Waiting, place: Place): Promise<boolean> {
    const settled = new AbortController();
    this.#asked = { ask, waiting, settled };
    const signal = AbortSignal.any([this.#over.signal, settled.signal]);
    const isAnswered = (await this.#endLine(signal)) && (await this.#answered(ask, waiting, place, signal));
    this.#asked = undefined;
    if (isAnswered || !settled.signal.aborted) return isAnswered;
    const { store, session_id, context } = this.#parts;
    const { err } = context.terminal;
    const taken = takenFor(store, session_id, waiting, ask.record);
    err.line(err.style("yellow", `  ${settledSentence(waiting, taken)}`));
    this.#isLineBegun = true;
    return true;
  }

  /** Has the person end a line they may have begun for something else; false if they leave. */
  async #endLine(signal: AbortSignal): Promise<boolean> {
    if (!this.#isLineBegun) return true;
    const label = "Press Enter to continue (pending input is discarded). ";
    const typed = await promptLine(this.#parts.context.terminal, label, signal);
    this.#isLineBegun = typed.kind === "left";
    return !this.#isLineBegun;
  }

  async #answered(ask: OpenAsk, waiting: Waiting, place: Place, signal: AbortSignal): Promise<boolean> {
    const { context, home, store, session_id } = this.#parts;
    const { terminal } = context;
    switch (waiting.kind) {
      case "approval": {
        if (waiting.about === "result") return askResult({ context, home, store, session_id }, ask, signal);
        const complain = (why: Refusal) => this.complain(why);
        return askPlan({ context, home, store, session_id, complain }, ask, signal);
      }
      case "permission":
        return askPermission(terminal, waiting, ask, signal);
      case "review":
        return askReview(terminal, waiting, ask, signal);
      case "question": {
        const typed = await promptQuestion(terminal, waiting, place, signal);
        if (typed.kind === "left") return false;
        const answers = [{ question_id: waiting.question_id, text: typed.text }];
        await ask.say({ payload_type: "clarification_response", payload: { answers, status: "answered" } });
        return true;
      }
    }
  }
}

/** Whether it still waits for a person. */
function isOpen(ask: OpenAsk, waiting: Waiting): boolean {
  const open = ask.waiting();
  if (waiting.kind !== "question") return open.length > 0;
  return open.some((one) => one.kind === "question" && one.question_id === waiting.question_id);
}
