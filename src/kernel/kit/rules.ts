import type { JsonObject } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Rights } from "../../protocol/rights.ts";
import type { Choices, Fact, FactOf } from "../mode.ts";
import type { Descriptor } from "./descriptor.ts";
import type { Draft } from "./draft.ts";
import type { Lifecycles } from "./lifecycles.ts";
import type { Asking, NewSubject, Self, Subject, View } from "./state.ts";
import type { ViewName } from "./views.ts";

/**
 * What only this mode decides; the kit decides the rest. Rules are pure, and read and write a session through a `Draft`. A rule that returns a failure
 * refuses the message.
 */
export interface Rules<I, S extends Self, U extends Subject> {
  /** The session's own values, and its subjects in order. `goOn` is called next. */
  begin(
    input: I,
    fact: FactOf<"session_opened">,
  ): { readonly self: Omit<S, keyof Self>; readonly subjects: readonly NewSubject<U>[] };
  /** Who is asked, and with which message: a subject, or the session's own seat. */
  seat(self: S, subject: U | undefined): Asking;
  /** What the message says. Texts are references to records. */
  question(session: View<S, U>, subject: U | undefined): Question;
  /** Handles an expected answer. A failure refuses it, and the message is sent again; a `failed` code makes it a failed turn. */
  answered(draft: Draft<S, U>, fact: Fact, subject: U | undefined): Refused;
  /** Offers what is to be asked next, or finishes. Called when nobody is asked and nothing awaited: of those asked at once, the last has answered or is out. */
  goOn(draft: Draft<S, U>): void;
  /** The retries of a subject are spent, or its failure is not retried. It is moved by `events.left` otherwise. */
  spent?(draft: Draft<S, U>, subject: U, code: string): void;
  /** A person drops a subject, which holds no turn any more. It is moved by `events.left` otherwise. */
  drop?(draft: Draft<S, U>, subject: U, reason: string): void;
  /** How many more times a message is sent; the session's setting otherwise. */
  retries?(self: S, subject: U | undefined): number;
  /** Whether a subject can get another turn, so that a person's note reaches it; any that is in the session otherwise. */
  canBeTold?(session: View<S, U>, subject: U): boolean;
  /** The session's own seat answers `error`; a failed turn otherwise. */
  gaveUp?(draft: Draft<S, U>, code: string): void;
  /** The last answer of the session's own seat was refused, and no retry is left. Without this rule the session stops, and resuming it asks again. */
  seatSpent?(draft: Draft<S, U>, code: string): void;
  /** A person retries a subject whose status accepts `events.retried`; it is moved by that event otherwise. */
  retry?(draft: Draft<S, U>, subject: U): void;
  /** Handles messages of `outsiders`, which answer no turn. Who sent one is its `actor`; its payload says only what it is about, as `subject`. */
  readonly on?: Handlers<Draft<S, U>, U>;
  /** A person has answered what `Draft.ask` asked; there is no text if the person leaves it to the agents. */
  told?(draft: Draft<S, U>, text: string | undefined, subject: U | undefined): void;
  /** A timer of `Draft.setTimer` is due. */
  timedOut?(draft: Draft<S, U>, name: string): void;
  /** The checks of `Draft.runChecks` have ended. If an answer began them, it may be refused as in `answered`, and is asked for again. */
  checked?(draft: Draft<S, U>, fact: FactOf<"check_result">, subject: U | undefined): Refused | void;
  /** A person has decided on the commands of `Draft.showCommands`. */
  allowed?(draft: Draft<S, U>, isAllowed: boolean): void;
  /** The child session of `Draft.openSession` has ended. */
  childEnded?(draft: Draft<S, U>, fact: FactOf<"session_finished">, subject: U | undefined): void;
  /** The `result` of the final report. */
  result(session: View<S, U>): JsonObject;
}

/** Why an answer is refused, or the code of the turn that failed with it. */
export type Refused = Failure | { readonly failed: string } | undefined;

export type Handlers<D, U> = {
  readonly [K in PayloadType]?: (draft: D, fact: FactOf<K>, subject: U | undefined) => Failure | undefined;
};

/** What a message says, and what its reader needs to know. */
export interface Question {
  readonly payload: JsonObject;
  readonly context?: JsonObject;
  /** The types that answer it now, of those that answer the message; all of them, if absent. The rules refuse the others. */
  readonly answers?: readonly PayloadType[];
  /** Which texts may stand in the answer, by pointer. Agents whose answers are held to a schema can give no others; the rules check all the same. */
  readonly choices?: Choices;
  /** What its reader is shown of the records that `Descriptor.lines` names, after the entries that `context.transcript` has. */
  readonly view?: ViewName;
}

/** A mode, as the files of the kit pass it on. */
export interface Kit<S extends Self, U extends Subject> {
  readonly descriptor: Descriptor<unknown, S, U>;
  readonly rules: Rules<unknown, S, U>;
  readonly rights: Rights;
  readonly lifecycles: Lifecycles;
}
