import type { Json, JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Budget, PayloadByType, PayloadType, Usage } from "../protocol/payload.ts";
import type { Effect } from "../protocol/recording.ts";
import type { Rights } from "../protocol/rights.ts";
import type { RoleType } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Presentation } from "./presentation.ts";

/** `t<sequence>` or `t<sequence>.<n>`: ids come from the record that made them, so a replay makes the same ones. */
export type TurnId = string;

/**
 * The rules of one kind of session. Everything here is pure: no clock, no randomness, no I/O, no environment. Time is the
 * fact's `received_at`, ids come from sequences; so a session's files alone, fed through `decide`, give every decision again.
 */
export interface Mode<S> extends ModeReader<S> {
  /** Raised when `decide` would decide differently for the same facts; a log made under other rules is not comparable. */
  readonly rules: number;
  readonly rights: Rights;
  /** Answers that may bring one of their fields as a file. */
  readonly attached?: { readonly [K in PayloadType]?: AttachedField };
  decide(state: S, fact: Fact): Step;
  /** What the role is asked in a turn, with texts as references to records, so that the turn can be rebuilt from the log. */
  request(state: S, turn: TurnStamp): TurnDraft;
  /** The session's state in a word; asked with every commit, so it costs nothing. */
  phase(state: S): string;
}

/** As much of a mode as it takes to load a session's state and to look at it. */
export interface ModeReader<S> {
  readonly name: string;
  readonly presentation: Presentation;
  empty(): S;
  /** The only writer of a mode's state: live, loading and replaying. */
  apply(state: S, change: Change): void;
  view(state: S): SessionView;
}

/** `reference` names the artifact that holds `field`: the value itself, or an object that has it. */
export interface AttachedField {
  readonly reference: string;
  readonly field: string;
}

/** How `decide`, `request` and `view` declare the state they only read: its maps and sets without their writing methods. The values in them are declared readonly. */
export type ReadonlyState<S> = {
  readonly [K in keyof S]: S[K] extends Map<infer Key, infer Value>
    ? ReadonlyMap<Key, Value>
    : S[K] extends Set<infer Value>
      ? ReadonlySet<Value>
      : S[K];
};

/** An envelope that may move a mode. */
export type Fact = FactOf<PayloadType>;

/** One of these types. */
export type FactOf<T extends PayloadType> = {
  [K in T]: FactHeader & { readonly payload_type: K; readonly payload: PayloadByType[K] };
}[T];

export interface FactHeader {
  readonly sequence: number;
  readonly received_at: Instant;
  /** A role id, `user` or `scheduler`, stamped from the channel it came through. */
  readonly source: string;
  /** What it is about, if anything: the turn's subject, or that of the checks. */
  readonly subject?: string;
  readonly turn?: TurnStamp;
  readonly usage?: Usage;
}

/** The turn a fact belongs to, known from the channel and never read from the agent's text. */
export interface TurnStamp {
  readonly turn_id: TurnId;
  readonly subject?: string;
  readonly attempt: number;
  readonly run: number;
}

/** One write to a mode's state. A collection is a named set of values by id; stores keep each value as a row. */
export type Change =
  | { readonly put: string; readonly id: string; readonly value: Json }
  | { readonly drop: string; readonly id: string };

/** Everything that follows from one fact. */
export interface Step {
  readonly changes: readonly Change[];
  /** Envelopes the mode itself writes, recorded after the fact in the same transaction. */
  readonly envelopes: readonly EnvelopeDraft[];
  readonly effects: readonly Effect[];
  readonly commands: readonly Command[];
  /** The fact does not stand: it is recorded as refused, with this reason, and only the step's own changes apply. */
  readonly refused?: Failure;
}

/** An envelope a mode writes; its payload may hold references, resolved before it is recorded. */
export interface EnvelopeDraft {
  readonly target: string;
  readonly payload_type: PayloadType;
  readonly subject?: string;
  readonly payload: JsonObject;
}

/** A limit that was reached, as a `session_stopped` tells it. */
export interface LimitUsed {
  readonly limit: string;
  readonly used: number;
  readonly max: number;
}

/** Who may take a turn: one role by id, or any role of a type, with a capability if one is named. */
export interface Seat {
  readonly type: RoleType;
  readonly role_id?: string;
  readonly capability?: string;
  /** The role that takes it only if nobody else can. */
  readonly rather_not?: string;
}

/**
 * What a mode asks the runtime for.
 * - `offer_turn`: somebody in `seat` should take this turn; lower `priority` goes first. `reserve` names a seat that must be
 *   free for the same subject before the turn is admitted, and is kept for it as long as the subject has turns that want it.
 * - `withdraw_turn`: it is no longer wanted; if it runs already, its processes are ended and its result is late.
 * - `ask`: a person must answer; `record` is the sequence that holds the text.
 * - `set_timer` / `clear_timer`: a stored alarm, fired as a `timer_fired` fact; setting an id again replaces it. A `passive` one only
 *   watches, and keeps no session waiting.
 * - `run_checks`: run the executable criteria and come back with one `check_result` fact.
 * - `open_session`: a child session of another mode is wanted, about the same subject. `child` is the sequence that its id adds to the
 *   parent's; `input` is what its mode is given, with texts as references; it may use no more than `budget`, nor than the parent has left.
 *   It is begun as soon as the parent's limits allow (`session_begun`), and its end comes back as one `session_finished` fact.
 * - `withdraw_session`: it is no longer wanted: cancelled for that reason if it was begun, and then its end still comes back.
 * - `stop_session`: end resumably, without a final report, for a reason and, if it was one, with the limit that was reached.
 *   `finish`: close with an outcome.
 * - `repeat_turn` / `fail_turn`: what a person said about a turn in doubt: it runs again, or a `turn_failed` fact comes back. The
 *   engine's own, like timers whose id begins with `hold:` and asks that have a turn's id; a mode leaves these alone.
 */
export type Command =
  | {
      readonly do: "offer_turn";
      readonly turn_id: TurnId;
      readonly seat: Seat;
      readonly reserve?: Seat;
      readonly subject?: string;
      readonly priority: number;
      readonly attempt: number;
    }
  | { readonly do: "withdraw_turn"; readonly turn_id: TurnId; readonly reason: string }
  | {
      readonly do: "ask";
      readonly ask_id: string;
      readonly kind: "questions" | "approval" | "review";
      readonly record: number;
      readonly subject?: string;
    }
  | { readonly do: "clear_ask"; readonly ask_id: string }
  | { readonly do: "set_timer"; readonly timer_id: string; readonly due_at: Instant; readonly passive?: boolean }
  | { readonly do: "clear_timer"; readonly timer_id: string }
  | {
      readonly do: "run_checks";
      readonly check_id: string;
      readonly subject?: string;
      readonly criteria: readonly CriterionReference[];
    }
  | { readonly do: "drop_checks"; readonly check_id: string }
  | {
      readonly do: "open_session";
      readonly child: string;
      readonly mode: string;
      readonly subject?: string;
      readonly input: JsonObject;
      readonly budget: Budget;
    }
  | { readonly do: "withdraw_session"; readonly child: string; readonly reason: string }
  | {
      readonly do: "stop_session";
      readonly reason: "manager_failed" | "limit" | "waiting";
      readonly message: string;
      readonly limit?: LimitUsed;
    }
  | { readonly do: "repeat_turn"; readonly turn_id: TurnId }
  | { readonly do: "fail_turn"; readonly turn_id: TurnId; readonly code: string; readonly message: string }
  | { readonly do: "finish"; readonly outcome: Outcome; readonly reason?: string; readonly report: JsonObject };

export type Outcome = "done" | "failed" | "cancelled";

/** Where an executable criterion stands in the record. */
export type CriterionReference = Reference;

/** `[sequence, pointer]`: a value inside a recorded envelope's payload, by JSON pointer. */
export interface Reference {
  readonly $from: readonly [sequence: number, pointer: string];
}

/** What a mode says about a turn; the runtime adds role, limits, workspace and directories. */
export interface TurnDraft {
  readonly expects: readonly PayloadType[];
  readonly message: { readonly payload_type: PayloadType; readonly payload: Json };
  readonly context: JsonObject;
  readonly discuss?: boolean;
  /** How many turns about the same thing may follow this one, if the mode limits them. */
  readonly remaining_turns?: number;
}

/** What anyone may know of a session without knowing its mode. */
export interface SessionView {
  readonly state: string;
  readonly subjects: readonly SubjectView[];
  /** How many subjects are in each status. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface SubjectView {
  readonly id: string;
  readonly status: string;
  readonly title: Json;
  readonly reason?: string;
  readonly owner?: string;
  readonly attempt: number;
  readonly depends_on: readonly string[];
  readonly since: Instant;
  readonly results?: Results;
}

/** What came of a subject so far. */
export interface Results {
  /** The latest record that says it. */
  readonly latest?: number;
  /** The records of its kept files. */
  readonly kept: readonly number[];
  /** What else the final report has of it. */
  readonly figures: JsonObject;
}
