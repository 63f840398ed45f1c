import { givenAnswer } from "../../config/answers.ts";
import type { LedgerAsk } from "../../kernel/ledger.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import type { SessionEvent } from "../../runtime/bus.ts";
import type { SessionFeed } from "../../runtime/feed/feed.ts";
import type { Session } from "../../runtime/session.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import type { Reporter } from "../../ui/reporter.ts";
import type { Ask, Waiting } from "../../ui/waiting.ts";
import { actorHere } from "../context/program.ts";
import { askOf } from "../lookup/state.ts";
import { waitingFor } from "../lookup/view.ts";
import type { GivenMessage } from "../options/run-options.ts";
import {
  answersMessage,
  decisionMessage,
  outcomeOf,
  permissionMessage,
  type PersonMessage,
  putMessage,
  type Refusal,
  untaken,
} from "./put.ts";

/** Something a session asks, as an `Asker` receives it. */
export type OpenAsk = Ask & {
  /** What still waits for a person; empty once it is settled, and while this person's answer is on its way. */
  waiting(): readonly Waiting[];
  /** Sends a person's message about it. Settles when the message is on record, or known to take long; with the reason if it was refused. */
  say(message: PersonMessage): Promise<Refusal | undefined>;
};

/** Asks people. `PromptAsker` is for the plain terminal; with `nobody`, the session is only shown. */
export interface Asker {
  /** Called when a person is needed for something. */
  ask(ask: OpenAsk): void;
  /** Called when the session has moved, so that what is being asked may be settled. */
  look(): void;
  /** Says why a person's message was refused, or that its outcome is not known yet. */
  complain(why: Refusal): void;
  /** Stops asking. Settles when the terminal is free again. */
  end(): Promise<void>;
}

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
    return askOf(store, feed.session_id, ask_id);
  }
}

/** Asks no person: shows what is asked, with the commands that answer it from anywhere. */
export function nobody(reporter: Pick<Reporter, "asked">): Asker {
  return {
    ask(ask) {
      for (const one of ask.waiting()) reporter.asked(one);
    },
    look() {},
    complain() {},
    end: () => Promise.resolve(),
  };
}

/**
 * The message for one ask that follows from what a person said beforehand; undefined if a person must be asked. `unanswered` applies only if
 * nobody can be asked (`alone`), and not if a given answer names an option that its question does not have: then the person must say what
 * they meant, also for the questions asked together with it.
 */
function messageFor(waiting: readonly Waiting[], given: GivenMessage, alone: boolean): PersonMessage | undefined {
  const [first] = waiting;
  if (first?.kind === "approval" && first.about === "plan" && given.approve_plans) {
    return decisionMessage(first, "approved");
  }
  if (first?.kind === "permission" && alone && given.unanswered !== "stop") {
    return permissionMessage(first.ask_id, "deny", "Nobody is there to allow it.");
  }
  if (first?.kind !== "question") return undefined;
  const asked = waiting
    .filter((one) => one.kind === "question")
    .map((question) => ({ question, given: givenAnswer(given.answers, question) }));
  const policy = alone && asked.every((one) => one.given?.ok !== false) ? given.unanswered : "stop";
  const answers = asked.flatMap(({ question, given: answer }) => {
    const byDefault = policy === "default" && answer === undefined ? question.default : undefined;
    const text = answer?.ok === true ? answer.value : byDefault;
    return text === undefined ? [] : [{ question_id: question.question_id, text }];
  });
  if (policy === "manager" && answers.length < waiting.length) {
    const { ask_id } = first;
    return { payload_type: "clarification_response", payload: { answers, status: "complete", ask_id } };
  }
  return answers.length === 0 ? undefined : answersMessage(answers);
}

/** How people reach a session, whichever process runs it. */
export interface SessionControl {
  /** Sends a person's message. Settles when its outcome is on record, with the reason if it was refused. `late` is called if that takes long. */
  say(message: PersonMessage, late: (why: Refusal) => void): Promise<Refusal | undefined>;
  /** The person at this terminal leaves; what is asked stays open. */
  leave(why: string): void;
  /** Reports an error that was thrown while the session was shown or a person was asked. */
  broken(error: unknown): void;
}

/** Sends messages to a session of this process. */
export function liveControl<S>(session: Session<S>): SessionControl {
  return {
    async say(message) {
      const refused = session.submitFromPerson({ ...message, source: "user", actor: actorHere() });
      // Only then does the store know it.
      await session.durable();
      return refused;
    },
    leave: (why) => session.stop("waiting", why),
    broken: (error) => session.broken(error),
  };
}

/**
 * Puts messages into the inbox of a session that another process runs; without `inbox`, no person is asked here. `over` ends the wait for a
 * message that the owner does not take. `trouble` rejects with an error that was thrown.
 */
export function inboxControl(
  inbox: Store | undefined,
  session_id: string,
  left: () => void,
  over: AbortSignal,
): SessionControl & { readonly trouble: Promise<never> } {
  const trouble = Promise.withResolvers<never>();
  return {
    trouble: trouble.promise,
    async say(message, late) {
      const row = inbox?.session(session_id);
      if (inbox === undefined || !row?.ok) return row?.ok === false ? row.error : undefined;
      const put = await putMessage(inbox, row.value, message);
      if (!put.ok || put.value.took !== "late") return put.ok ? undefined : put.error;
      late({ message: untaken(put.value) });
      const outcome = await outcomeOf(inbox, row.value, put.value.inbox_id, over);
      return outcome.ok ? undefined : outcome.error;
    },
    leave: left,
    broken: trouble.reject,
  };
}
