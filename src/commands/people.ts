import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../lib/json.ts";
import type { SessionEvent } from "../runtime/bus.ts";
import type { Session } from "../runtime/session.ts";
import { sessionPaths } from "../runtime/paths.ts";
import type { Store } from "../store/store.ts";
import { safeText } from "../ui/display.ts";
import { planLines } from "../ui/plan.ts";
import { promptChoice, promptLine, promptQuestion } from "../ui/prompt.ts";
import type { Waiting } from "../ui/waiting.ts";
import { recordAt, waitingFor } from "./asks.ts";
import type { CommandContext } from "./command.ts";
import type { Manner } from "./manner.ts";
import { editPlan, planOf } from "./plans.ts";
import { actorHere } from "./program.ts";
import { wordFor } from "./unattended.ts";
import { wordsOf } from "../ui/words.ts";
import type { Word } from "./word.ts";

/** The people's side of a running session, as far as this process carries it. */
export interface PeopleParts<S> {
  readonly context: CommandContext;
  readonly home: string;
  readonly session: Session<S>;
  readonly store: Store;
  readonly manner: Manner;
  /** Shows that a person is asked; whoever shows it knows how it can be answered from elsewhere. */
  readonly tell: (waiting: Waiting) => void;
}

/**
 * Brings every ask of a session to an answer: first from what was said beforehand, then, if somebody sits at this terminal, by
 * asking them, one thing at a time. What is answered from elsewhere meanwhile is taken away from under the prompt.
 */
export class People<S> {
  readonly #parts: PeopleParts<S>;
  #prompt: AbortController | undefined;
  #prompting: string | undefined;
  /** Asks whose words are committed, in the order in which they came. */
  readonly #queue: string[] = [];
  #over = false;

  constructor(parts: PeopleParts<S>) {
    this.#parts = parts;
  }

  /** What the session already waited for when it was taken up. */
  begin(): void {
    for (const ask_id of [...this.#parts.session.ledger.asks.keys()]) this.#consider(ask_id);
  }

  event(event: SessionEvent): void {
    if (event.kind === "ask") this.#consider(event.ask.ask_id);
    else if (event.kind === "stopping") this.end();
    else if (event.kind === "record" && this.#prompting !== undefined && !this.#isOpen(this.#prompting))
      this.#prompt?.abort();
  }

  end(): void {
    this.#over = true;
    this.#prompt?.abort();
  }

  /** Everything that still waits for a person. */
  waiting(): Waiting[] {
    const { session, store } = this.#parts;
    return [...session.ledger.asks.values()].flatMap((ask) => waitingFor(store, session.session_id, ask));
  }

  #consider(ask_id: string): void {
    const { session, manner, tell } = this.#parts;
    const waiting = this.#waitingFor(ask_id);
    const [first] = waiting;
    if (this.#over || first === undefined) return;
    if (manner.plan_only && first.kind === "approval" && first.about === "plan") {
      session.stop("waiting", "the plan is there; a person must approve it");
      return;
    }
    const word = wordFor(waiting, manner, !manner.ask);
    const said = word !== undefined && this.#say(word) === undefined ? word : undefined;
    if (!this.#isOpen(ask_id)) return;
    if (manner.ask) {
      this.#queue.push(ask_id);
      if (this.#prompt === undefined) void this.#askAll();
    } else {
      for (const one of waiting) if (!isAnswered(one, said)) tell(one);
    }
  }

  /** Asks until nothing is open or the person has left; one prompt at a time. */
  async #askAll(): Promise<void> {
    const { session, context } = this.#parts;
    const release = context.terminal.out.hold();
    context.terminal.err.bell();
    let left = false;
    for (let next = this.#queue.shift(); next !== undefined && !this.#over && !left; next = this.#queue.shift()) {
      this.#prompt = new AbortController();
      this.#prompting = next;
      const answered = await this.#ask(next, this.#prompt.signal);
      // What was just said is committed in the next turns of the event loop; only then does the store know it.
      await committed();
      if (this.#isOpen(next)) {
        left = !answered && !this.#over;
        this.#queue.push(next);
      }
    }
    this.#prompting = undefined;
    this.#prompt = undefined;
    release();
    if (left) session.stop("waiting", "a person left a question open");
  }

  /** False if the person left without a word. */
  async #ask(ask_id: string, signal: AbortSignal): Promise<boolean> {
    const waiting = this.#waitingFor(ask_id);
    const [first] = waiting;
    if (first === undefined) return true;
    if (first.kind === "approval") {
      return first.about === "plan" ? this.#askPlan(ask_id, signal) : this.#askResult(ask_id, signal);
    }
    if (first.kind === "review") return this.#askReview(first.ticket_id, signal);
    for (const [index, question] of waiting.entries()) {
      if (question.kind !== "question") continue;
      const place = { number: index + 1, of: waiting.length };
      const typed = await promptQuestion(this.#parts.context.terminal, question, place, signal);
      if (typed.kind === "left") return false;
      const answers = [{ question_id: question.question_id, text: typed.text }];
      this.#say({ payload_type: "clarification_response", payload: { answers, status: "answered" } });
    }
    return true;
  }

  async #askPlan(ask_id: string, signal: AbortSignal): Promise<boolean> {
    const { context, session, store, home } = this.#parts;
    const { terminal } = context;
    const plan = planOf(store, session.session_id);
    if (plan === undefined) return false;
    terminal.err.line();
    for (const line of planLines(plan, terminal.err)) terminal.err.line(line);
    terminal.err.line();
    for (;;) {
      const choice = await promptChoice(terminal, PLAN_CHOICES, signal);
      if (choice === undefined) return false;
      const word = await this.#planWord(
        choice,
        async () => editPlan(context, sessionPaths(home, session.session_id).folder, plan),
        signal,
      );
      if (word === undefined) continue;
      if (this.#say({ payload_type: "approval", payload: { ...word, ask_id } }) === undefined) return true;
    }
  }

  async #planWord(
    choice: (typeof PLAN_CHOICES)[number]["key"],
    edit: () => ReturnType<typeof editPlan>,
    signal: AbortSignal,
  ): Promise<JsonObject | undefined> {
    const { terminal } = this.#parts.context;
    switch (choice) {
      case "approve":
        return { decision: "approved" };
      case "reject":
        return { decision: "rejected" };
      case "revise": {
        const typed = await promptLine(terminal, "What should be different? ", signal);
        return typed.kind === "left" || typed.text === ""
          ? undefined
          : { decision: "changes_requested", notes: typed.text };
      }
      case "edit": {
        const edited = await edit();
        if (edited.ok) return edited.value && { decision: "approved", plan: edited.value as unknown as JsonObject };
        this.#complain(`${edited.error.message}\n${edited.error.hint ?? ""}`);
        return undefined;
      }
    }
  }

  async #askResult(ask_id: string, signal: AbortSignal): Promise<boolean> {
    const { terminal } = this.#parts.context;
    terminal.err.line();
    terminal.err.line(
      terminal.err.style("bold", "Everything is done that can be done. Is the result what you wanted?"),
    );
    const choice = await promptChoice(terminal, RESULT_CHOICES, signal);
    if (choice === undefined) return false;
    let notes = "";
    if (choice === "changes_requested") {
      const typed = await promptLine(terminal, "What is missing? ", signal);
      if (typed.kind === "left") return false;
      notes = typed.text;
    }
    this.#say({ payload_type: "approval", payload: { decision: choice, ask_id, ...(notes === "" ? {} : { notes }) } });
    return true;
  }

  async #askReview(ticket_id: string, signal: AbortSignal): Promise<boolean> {
    const { context, session, store } = this.#parts;
    const { terminal } = context;
    const ask = session.ledger.asks.get(`review:${ticket_id}`);
    const report = ask && recordAt(store, session.session_id, ask.record)?.payload;
    terminal.err.line();
    terminal.err.line(terminal.err.style("bold", `Review of ${ticket_id}`));
    for (const line of safeText(wordsOf(report?.summary)).split("\n")) terminal.err.line(`  ${line}`);
    const choice = await promptChoice(terminal, REVIEW_CHOICES, signal);
    if (choice === undefined) return false;
    const changes =
      choice === "approved" ? undefined : await promptLine(terminal, "What should be different? ", signal);
    if (changes?.kind === "left") return false;
    const requested = changes === undefined ? {} : { requested_changes: [changes.text] };
    this.#say({ payload_type: "review", subject: ticket_id, payload: { decision: choice, ticket_id, ...requested } });
    return true;
  }

  /** Puts a person's word to the session; says and gives back why it does not stand, if it does not. */
  #say(word: Word): string | undefined {
    const advance = this.#parts.session.submit({ ...word, source: "user", actor: actorHere() });
    const refused = advance?.step.refused;
    if (refused === undefined) return undefined;
    const why = [refused.message, refused.hint].filter((text) => text !== undefined).join("; ");
    this.#complain(why);
    return why;
  }

  #complain(text: string): void {
    const { err } = this.#parts.context.terminal;
    for (const line of safeText(text).trim().split("\n")) err.line(err.style("yellow", `  ${line}`));
  }

  #waitingFor(ask_id: string): Waiting[] {
    const { session, store } = this.#parts;
    const ask = session.ledger.asks.get(ask_id);
    return ask === undefined ? [] : waitingFor(store, session.session_id, ask);
  }

  #isOpen(ask_id: string): boolean {
    return this.#parts.session.ledger.asks.has(ask_id);
  }
}

function isAnswered(waiting: Waiting, word: Word | undefined): boolean {
  const answers = (word?.payload.answers ?? []) as readonly { readonly question_id: string }[];
  return waiting.kind === "question" && answers.some((answer) => answer.question_id === waiting.question_id);
}

async function committed(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
}

const PLAN_CHOICES = [
  { key: "approve", label: "Approve" },
  { key: "revise", label: "Send back, saying what should be different" },
  { key: "edit", label: "Edit in $EDITOR, then approve" },
  { key: "reject", label: "Reject, and end the session" },
] as const;

const RESULT_CHOICES = [
  { key: "approved", label: "Yes, accept it" },
  { key: "changes_requested", label: "No, something is missing" },
  { key: "rejected", label: "No, it has failed" },
] as const;

const REVIEW_CHOICES = [
  { key: "approved", label: "Approve" },
  { key: "changes_requested", label: "Ask for changes" },
] as const;
