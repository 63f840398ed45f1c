import type { Json, JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Budget, PayloadByType, PayloadType, Usage } from "../protocol/payload.ts";
import type { Actor, CapturedWork, ChangedFiles, Conversation, QuotaWindow } from "../protocol/record.ts";
import type { Effect } from "../protocol/recording.ts";
import type { Rights } from "../protocol/rights.ts";
import type { Role, RoleType } from "../protocol/roles.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Presentation } from "./presentation.ts";

/** `t<sequence>` or `t<sequence>.<n>`: derived from the record that caused the turn, so that a replay makes the same id. */
export type TurnId = string;

/**
 * The rules of one kind of session. A mode is pure: it has no clock, randomness, I/O or environment. Time is the fact's `received_at`, and ids come
 * from sequences. So a replay of the recorded facts repeats every decision.
 */
export interface Mode<S> extends ModeReader<S> {
  /** Increment when `decide` decides differently for the same facts: logs made by other rules cannot be compared. */
  readonly rules: number;
  /** Which payload types each kind of sender may send, and in answer to what. */
  readonly rights: Rights;
  /** The answers in which one field may be given as a file. */
  readonly attached?: { readonly [K in PayloadType]?: AttachedField };
  /** Returns everything that follows from a fact. Must not write to the state. */
  decide(state: S, fact: Fact): Step;
  /** Returns the request for an offered or open turn. Texts are references to records, so that a replay rebuilds the request. */
  request(state: S, turn: TurnStamp): TurnDraft;
}

/** The part of a mode that loads and shows a session, without deciding anything. */
export interface ModeReader<S> {
  readonly name: string;
  /**
   * The version of its stored rows, 1 if absent. Increment it when `decide` writes the same state as other changes, and keep `rules`: rows of an
   * earlier version are not read but made from the records again, which needs the same rules, and the next resume replaces them. The collection and
   * the `status` of subjects keep their names.
   */
  readonly rows?: number;
  readonly presentation: Presentation;
  empty(): S;
  /** The only function that writes to the state, whether a session runs, is loaded or is replayed. */
  apply(state: S, change: Change): void;
  /** The session's state as one word. Called for every fact, so it must be cheap. */
  phase(state: S): string;
  /** The collection whose values are the subjects, such as tickets. */
  readonly subjects: string;
  /** The ids of all subjects, in the order of lists. */
  ids(state: S): readonly string[];
  /** A subject as every view shows it. Called for every change of one, so it must be cheap: it may depend only on the subject's value and on what never changes. */
  subject(state: S, id: string): SubjectRow | undefined;
  /** What a person can retry; absent if the mode retries by itself. */
  readonly retrying?: Retrying<S>;
  /** Whether an agent can still read a note about a subject; absent if one always can. */
  hears?(state: S, id: string): boolean;
  /** What a subject has produced so far. */
  results?(state: S, id: string): Results | undefined;
  /** The files that it keeps for programs that know no log; absent if it keeps none. */
  readonly mailbox?: Mailbox<S>;
  /** The session in the mode's own words, for programs. Texts are references to records. */
  projection?(state: S): JsonObject | undefined;
}

interface Retrying<S> {
  /** Which subjects a person can retry, as the end of "Only …". */
  readonly which: string;
  /** Whether a person can retry a subject as it is. */
  may(state: S, id: string): boolean;
  /** Everything that can be retried at once, each after what it depends on; all that may be, if absent. */
  all?(state: S): readonly string[];
  /** The subject that must be retried in place of this one, which depends on it. */
  before?(state: S, id: string): string | undefined;
}

/** A field that an answer may omit if its `reference` field names an artifact that contains it. */
export interface AttachedField {
  readonly reference: string;
  /** The file holds this field's value, or an object that has the field. */
  readonly field: string;
}

/** A mode's state as `decide`, `request` and `view` see it: maps and sets have no methods that write. */
export type ReadonlyState<S> = {
  readonly [K in keyof S]: S[K] extends Map<infer Key, infer Value>
    ? ReadonlyMap<Key, Value>
    : S[K] extends Set<infer Value>
      ? ReadonlySet<Value>
      : S[K];
};

/** A recorded envelope that may change a mode's state: an answer, a failed turn, a fired timer, a check result, a user's command, … */
export type Fact = FactOf<PayloadType>;

/** A fact of one of these payload types. */
export type FactOf<T extends PayloadType> = {
  [K in T]: FactHeader & { readonly payload_type: K; readonly payload: PayloadByType[K] };
}[T];

export interface FactHeader {
  readonly sequence: number;
  readonly received_at: Instant;
  /** The sender, known from the channel: a role id, `user` or `scheduler`. */
  readonly source: string;
  /** The person or program behind `user`, known from the channel too. */
  readonly actor?: Actor;
  /** The subject of the turn or checks that it belongs to, such as a ticket id. */
  readonly subject?: string;
  readonly turn?: TurnStamp;
  readonly usage?: Usage;
  /** The program's own conversation for the turn. */
  readonly conversation?: Conversation;
  /** The quota windows of its account that the program reported. */
  readonly quota?: readonly QuotaWindow[];
  /** The files of the workspace that changed during the turn. No mode decides by it. */
  readonly changed_files?: ChangedFiles;
  /** What the turn left in its copy of the repository. */
  readonly work?: CapturedWork;
}

/** The turn that a fact belongs to. It is known from the channel, and never read from an agent's text. */
export interface TurnStamp {
  readonly turn_id: TurnId;
  readonly subject?: string;
  readonly attempt: number;
  readonly run: number;
}

/** One write to a state: `put` and `drop` name a collection, in which `id` names a value. A store keeps each value as a row. */
export type Change =
  | { readonly put: string; readonly id: string; readonly value: Json }
  | { readonly drop: string; readonly id: string };

/** What a mode decides about one fact. */
export interface Step {
  /** Writes to the mode's state. */
  readonly changes: readonly Change[];
  /** The mode's own envelopes, recorded after the fact in the same transaction. */
  readonly envelopes: readonly EnvelopeDraft[];
  /** Transitions of subjects, recorded with the fact. */
  readonly effects: readonly Effect[];
  /** What the runtime must do once the step is committed. */
  readonly commands: readonly Command[];
  /** Set if the fact is not accepted: it is recorded as refused, with this reason. The step's changes still apply. */
  readonly refused?: Failure;
}

/** An envelope that a mode writes. References in its payload are resolved before it is recorded. */
export interface EnvelopeDraft {
  /** A role id or `user`. */
  readonly target: string;
  readonly payload_type: PayloadType;
  readonly subject?: string;
  readonly payload: JsonObject;
}

/** A limit that was reached, for `session_stopped`. */
export interface LimitUsed {
  readonly limit: string;
  readonly used: number;
  readonly max: number;
}

/** The roles that may take a turn: those of a type and, if given, with this id and this capability. */
export interface Seat {
  readonly type: RoleType;
  readonly role_id?: string;
  readonly capability?: string;
  /** The role that takes the turn only if no other role suits the seat. */
  readonly rather_not?: string;
  /** A role that runs another program than this role takes the turn first. */
  readonly unlike?: string;
}

/** Whether a role may take the turns of a seat, even if it is busy now. */
export function suits(role: Pick<Role, "role_id" | "type" | "capabilities">, seat: Seat): boolean {
  return (
    role.type === seat.type &&
    (seat.role_id === undefined || role.role_id === seat.role_id) &&
    (seat.capability === undefined || role.capabilities?.includes(seat.capability) === true)
  );
}

/** What a mode asks the runtime to do. */
export type Command =
  | OfferTurn
  /** The turn is no longer wanted. If it is open, its processes are ended and its result is late. */
  | { readonly do: "withdraw_turn"; readonly turn_id: TurnId; readonly reason: string }
  | Ask
  | { readonly do: "clear_ask"; readonly ask_id: string }
  | SetTimer
  | { readonly do: "clear_timer"; readonly timer_id: string }
  | RunChecks
  | { readonly do: "drop_checks"; readonly check_id: string }
  | OpenSession
  /** The child session is no longer wanted. If it has begun, it is cancelled with this reason, and its end is still reported. */
  | { readonly do: "withdraw_session"; readonly child: string; readonly reason: string }
  | StopSession
  /** Close the session for good. The runtime adds usage and times to the report. */
  | { readonly do: "finish"; readonly outcome: Outcome; readonly reason?: string; readonly report: JsonObject }
  /** Run an in-doubt turn again, or fail it. Only the engine issues these two (`doubts.ts`). */
  | { readonly do: "repeat_turn"; readonly turn_id: TurnId }
  | { readonly do: "fail_turn"; readonly turn_id: TurnId; readonly code: string; readonly message: string }
  /** Tell a waiting program the decision on its permission. Only the engine issues this (`permissions.ts`). */
  | Permit;

/** A role that suits the seat should take this turn. The dispatcher admits it when limits and holds allow. */
export interface OfferTurn {
  readonly do: "offer_turn";
  readonly turn_id: TurnId;
  readonly seat: Seat;
  /** A second seat that must be free for the subject before the turn is admitted, and stays reserved for the subject's next turns. */
  readonly reserve?: Seat;
  readonly subject?: string;
  /** Lower numbers go first. */
  readonly priority: number;
  readonly attempt: number;
}

interface Permit {
  readonly do: "permit";
  readonly turn_id: TurnId;
  readonly ask_id: string;
  readonly granted: boolean;
  readonly notes?: string;
}

/** A person must answer. The engine's own asks have a turn's id. */
export interface Ask {
  readonly do: "ask";
  readonly ask_id: string;
  readonly kind: "questions" | "approval" | "review" | "permission";
  /** The sequence of the record that holds the text. */
  readonly record: number;
  readonly subject?: string;
  /** Of a set of questions: the ids of those without an answer. An ask is issued again when some of them are answered. */
  readonly open?: readonly string[];
  /** Set if a turn's program waits for the answer. */
  readonly permission?: AskedPermission;
}

/** An action for which a turn's program requests permission. */
export interface AskedPermission {
  readonly turn_id: TurnId;
  readonly role_id: string;
  /** Digest of the action and its details. */
  readonly digest: string;
  /** What commands like this one begin with; none for other actions. */
  readonly prefix?: string;
}

/**
 * Sets a stored timer, which comes back as a `timer_fired` fact. Setting an id again replaces its timer. Ids with the prefix `hold:` belong to the
 * engine.
 */
export interface SetTimer {
  readonly do: "set_timer";
  readonly timer_id: string;
  readonly due_at: Instant;
  /** A session does not keep running only for a passive timer. */
  readonly passive?: boolean;
}

/** Run executable criteria; the results come back as one `check_result` fact. */
export interface RunChecks {
  readonly do: "run_checks";
  readonly check_id: string;
  readonly subject?: string;
  readonly criteria: readonly (CriterionReference | Transform)[];
  /** The text that they get on stdin. What one that passes prints on stdout is its whole output. */
  readonly input?: Reference;
  /** With copies of the repository: the commit on which they run. Without a subject, in a tree of their own. */
  readonly commit?: string;
  /** Set if the subject's commit is merged into the session's branch, on whose result they run. */
  readonly merge?: { readonly attempt: number; readonly at: Instant; readonly summary: Json };
}

/**
 * A child session of another mode, about the same subject. It begins (`session_begun`) when the parent's limits allow, and its end comes
 * back as one `session_finished` fact.
 */
export interface OpenSession {
  readonly do: "open_session";
  /** The sequence that is appended to the parent's id to make the child's. */
  readonly child: string;
  readonly mode: string;
  readonly subject?: string;
  /** The input of the child's mode; texts are references into the parent's log. */
  readonly input: JsonObject;
  /** What the child may use, within what the parent has left. */
  readonly budget: Budget;
}

/** Stop the session so that it can be resumed. It gets no final report. */
interface StopSession {
  readonly do: "stop_session";
  readonly reason: "manager_failed" | "limit" | "waiting";
  readonly message: string;
  /** The limit that was reached, if that is the reason. */
  readonly limit?: LimitUsed;
}

export type Outcome = "done" | "failed" | "cancelled";

/** An executable criterion inside a record. */
export type CriterionReference = Reference;

/** What makes one text of another: a program, or a function of this name of the host program. */
export type Transform = {
  readonly text: string;
  readonly command?: Reference;
  readonly timeout_s?: Reference;
  readonly function?: string;
};

/** The value at a JSON pointer inside the payload of a record. */
export type Reference = { readonly $from: readonly [sequence: number, pointer: string] };

/** Lists of texts, by the pointer into the payload of an answer at which one of them must stand. */
export type Choices = Readonly<Record<string, readonly string[]>>;

/** A mode's part of a turn request; the runtime adds the role, limits, workspace and directories. */
export interface TurnDraft {
  /** The payload types that answer the turn. */
  readonly expects: readonly PayloadType[];
  /** Which texts may stand in the answer, by pointer. */
  readonly choices?: Choices;
  readonly message: { readonly payload_type: PayloadType; readonly payload: Json };
  readonly context: JsonObject;
  readonly discuss?: boolean;
  /** Set if what the turn leaves in its copy of the repository is taken over, and the globs of the files that it may change. */
  readonly delivers?: { readonly writes?: readonly string[] };
  /** The turn continues no conversation of its role, and no later turn continues its own: a review. */
  readonly alone?: boolean;
  /** Number of turns about the same subject that may follow this one, if the mode limits them. */
  readonly remaining_turns?: number;
}

/** A subject as views show it. Records tell how it changes. */
export interface SubjectRow {
  readonly id: string;
  readonly status: string;
  /** When it entered its status. */
  readonly since: Instant;
  /** Its place in lists. */
  readonly order: number;
  /** A text, or a reference to one. */
  readonly title: Json;
  readonly depends_on: readonly string[];
  /** The role that works on it, or worked on it last. */
  readonly owner?: string | undefined;
  readonly attempt: number;
  readonly max_attempts?: number | undefined;
  /** Why it has its status. */
  readonly reason?: string | undefined;
  /** The limit that was spent when it was given up. */
  readonly spent?: string | undefined;
}

/** What a subject has produced so far. */
export interface Results {
  /** The sequence of the latest record with a result. */
  readonly latest?: number;
  /** The sequences of its artifact records. */
  readonly kept: readonly number[];
  /** Its other fields in the final report. */
  readonly figures: JsonObject;
}
