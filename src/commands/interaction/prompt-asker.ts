import { safeText } from "../../ui/display.ts";
import { promptLine, type Typed } from "../../ui/prompt.ts";
import { alertWords, type OpenQuestion, settledSentence, type Waiting } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { Asker, OpenAsk } from "./interaction.ts";
import { askPlan, type DecisionParts, promptPermission, promptResult, promptReview } from "./decisions.ts";
import { askQuestions, Drafts } from "./questions.ts";
import { answersMessage, type PersonMessage, type Refusal } from "./put.ts";

type Decision = Exclude<Waiting, OpenQuestion>;

const LEFT: Typed = { kind: "left" };
const ANSWERED: Typed = { kind: "text", text: "" };
const SETTLED = { kind: "settled" } as const;

export interface PromptAskerParts extends DecisionParts {
  /** Called when the person leaves a question open (Ctrl-D). */
  readonly left: () => void;
  /** Called with an error that was thrown while a person was asked. */
  readonly broken: (error: unknown) => void;
}

/**
 * Asks the person at this terminal, one thing at a time. A prompt is removed when its question is answered elsewhere, and a line begun for it
 * answers nothing else.
 */
export class PromptAsker implements Asker {
  readonly #parts: PromptAskerParts;
  /** In order of arrival. */
  readonly #queue: OpenAsk[] = [];
  readonly #over = new AbortController();
  /** What is asked now, and what removes its prompt. */
  #asked: { readonly ask: OpenAsk; readonly about: readonly Waiting[]; readonly settled: AbortController } | undefined;
  /** A prompt was removed, so the person may have begun a line that they have not ended yet. */
  #isLineBegun = false;
  #isAsking = false;
  #done: Promise<void> = Promise.resolve();

  constructor(parts: PromptAskerParts) {
    this.#parts = parts;
  }

  ask(ask: OpenAsk): void {
    if (this.#isOver) return;
    const { context, session_id } = this.#parts;
    if (!this.#isAsking) context.terminal.err.alert(alertWords(session_id, ask.waiting()));
    void this.askAll([ask]);
  }

  /** Asks these too, without an alert. Resolves when nothing is asked any more, because everything is answered or the person has left. */
  askAll(asks: readonly OpenAsk[]): Promise<void> {
    this.#queue.push(...asks);
    if (this.#isAsking) return this.#done;
    this.#isAsking = true;
    this.#done = this.#askQueued().then(
      (isLeft) => {
        if (isLeft) this.#parts.left();
      },
      (error: unknown) => this.#parts.broken(error),
    );
    return this.#done;
  }

  look(): void {
    const { ask, about, settled } = this.#asked ?? {};
    if (ask && about?.some((one) => !isOpen(ask, one)) === true) settled?.abort();
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
  async #askQueued(): Promise<boolean> {
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

  /** False if the person left without an answer. */
  async #askOne(ask: OpenAsk): Promise<boolean> {
    const waiting = ask.waiting();
    const questions = waiting.filter((one) => one.kind === "question");
    if (questions.length > 0) return this.#askQuestions(ask, questions);
    for (const one of waiting) {
      if (one.kind === "question" || !isOpen(ask, one)) continue;
      const put = await this.#put(ask, [one], async (signal) =>
        (await this.#decided(ask, one, signal)) ? ANSWERED : LEFT,
      );
      if (put.kind === "left") return false;
    }
    return true;
  }

  async #askQuestions(ask: OpenAsk, questions: readonly OpenQuestion[]): Promise<boolean> {
    const { context, home, session_id } = this.#parts;
    const drafts = new Drafts(home, session_id);
    const answers = await askQuestions({
      terminal: context.terminal,
      drafts,
      questions,
      isOpen: (question) => isOpen(ask, question),
      put: (about, prompt) => this.#put(ask, about, prompt),
    });
    if (answers === undefined) return false;
    if (answers.length === 0) return true;
    const refused = await ask.say(answersMessage(answers));
    if (refused === undefined) drafts.forget(answers.map(({ question_id }) => question_id));
    return true;
  }

  /** Prompts the person, or reports what was settled elsewhere. */
  async #put(
    ask: OpenAsk,
    about: readonly Waiting[],
    prompt: (signal: AbortSignal) => Promise<Typed>,
  ): Promise<Typed | typeof SETTLED> {
    if (this.#tellSettled(ask, about)) return SETTLED;
    const settled = new AbortController();
    this.#asked = { ask, about, settled };
    const signal = AbortSignal.any([this.#over.signal, settled.signal]);
    const typed = (await this.#endLine(signal)) ? await prompt(signal) : LEFT;
    this.#asked = undefined;
    if (typed.kind !== "left") {
      // A decision is said by now, but an answer is not.
      return about[0]?.kind === "question" && this.#tellSettled(ask, about) ? SETTLED : typed;
    }
    if (!settled.signal.aborted) return typed;
    this.#tellSettled(ask, about);
    this.#isLineBegun = true;
    return SETTLED;
  }

  /** Reports what was settled elsewhere; false if nothing was. */
  #tellSettled(ask: OpenAsk, about: readonly Waiting[]): boolean {
    const { err } = this.#parts.context.terminal;
    const settled = about.filter((one) => !isOpen(ask, one));
    for (const one of settled) err.line(err.style("yellow", `  ${settledSentence(one)}`));
    return settled.length > 0;
  }

  /** Makes the person end a line that they may have begun for another prompt; false if they leave. */
  async #endLine(signal: AbortSignal): Promise<boolean> {
    if (!this.#isLineBegun) return true;
    const label = "Press Enter to continue (pending input is discarded). ";
    const typed = await promptLine(this.#parts.context.terminal, label, signal);
    this.#isLineBegun = typed.kind === "left";
    return !this.#isLineBegun;
  }

  async #decided(ask: OpenAsk, waiting: Decision, signal: AbortSignal): Promise<boolean> {
    if (waiting.kind === "approval" && waiting.about === "plan")
      return askPlan({ ...this.#parts, complain: (why) => this.complain(why) }, ask, signal);
    const message = await this.#decision(waiting, signal);
    if (message !== undefined) await ask.say(message);
    return message !== undefined;
  }

  #decision(waiting: Decision, signal: AbortSignal): Promise<PersonMessage | undefined> {
    switch (waiting.kind) {
      case "approval":
        return promptResult(this.#parts, waiting, signal);
      case "permission":
        return promptPermission(this.#parts, waiting, signal);
      case "review":
        return promptReview(this.#parts, waiting, signal);
    }
  }
}

/** Whether it still waits for a person. */
function isOpen(ask: OpenAsk, waiting: Waiting): boolean {
  const open = ask.waiting();
  if (waiting.kind !== "question") return open.length > 0;
  return open.some((one) => one.kind === "question" && one.question_id === waiting.question_id);
}
