import type { Holder as Asked, OpenTurn as Turn, PutAgain as Kept } from "../../kernel/kit/holder.ts";
import type { Outcome, ReadonlyState, Seat } from "../../kernel/mode.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Budget } from "../../protocol/payload.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { SessionPhase } from "./session.machine.ts";
import type { TicketStatus } from "./ticket.machine.ts";

/** The place of a value: a record's sequence, and a JSON pointer into its payload. The state holds places instead of texts. */
export type Place = readonly [sequence: number, pointer: string];

/** The payload type of the message that a turn carries. */
export type MessageType =
  | "requirement"
  | "clarification_response"
  | "ticket"
  | "instruction_proposal"
  | "report"
  | "instruction"
  | "review_request"
  | "error";

export type OpenTurn = Turn<MessageType>;
export type PutAgain = Kept<MessageType>;

/** A ticket, or the session for messages about no ticket. A ticket may also wait for `REVISION`. */
export interface Holder extends Asked<MessageType> {
  /** The ids of the answered question sets. */
  readonly clarifications?: readonly string[];
}

/** A ticket's budget, and what the ticket has used of it. */
export interface Allowance {
  readonly turns?: number;
  readonly wall_s?: number;
  /** Turns offered about the ticket, except for the manager's `error` turns. */
  readonly used: number;
  /** When the first of them was offered. */
  readonly from?: Instant;
}

/** A ticket, stored as one row. Optional fields are absent until they are needed: a session may hold 100,000 tickets. */
export interface Ticket extends Holder {
  readonly id: string;
  readonly status: TicketStatus;
  readonly since: Instant;
  /** Why it is blocked or in error. */
  readonly reason?: string;
  readonly task: Place;
  /** Its index in the plan. Tickets are always handled in this order; rows may load in any order. */
  readonly order: number;
  /** A digest of the task as planned, for comparison with a revised plan. */
  readonly digest: string;
  readonly depends_on: readonly string[];
  readonly seat: Seat;
  readonly review: ReviewPolicy;
  /** Absent if the ticket has no budget. */
  readonly allowance?: Allowance;
  readonly discuss?: boolean;
  /** Globs of the files that it changes. */
  readonly writes?: readonly string[];
  /** The latest instruction. */
  readonly instruction?: Place;
  /** The executable criteria of the configuration, the task and every instruction. */
  readonly criteria?: readonly Place[];
  /** Digests of the commands of its plan, and of those that a person has allowed for it. */
  readonly seen?: readonly string[];
  /** An instruction whose commands a person is asked about. It counts once they are allowed. */
  readonly instructed?: Instructed;
  /** The role that works on it, or worked on it last. */
  readonly owner?: string;
  readonly attempt: number;
  /** The task's own maximum number of attempts. */
  readonly max_attempts?: number;
  /** Number of attempts before a person last took it up. They do not count towards `max_attempts`. */
  readonly attempts_before?: number;
  /** The limit that was spent when it was given up. */
  readonly spent?: "max_attempts";
  /** Set once the child session that it waits for has begun, whose end will be reported in any case. */
  readonly session_begun?: boolean;
  /** Set until a person approves the plan that added it. It does not begin before. */
  readonly gated?: boolean;
  /** Set if the current plan does not contain it. A person may still retry it. */
  readonly unplanned?: boolean;
  readonly retries?: number;
  readonly escalations?: number;
  readonly check_rounds?: number;
  readonly review_rounds?: number;
  /** Number of times that its workers reported questions since it was planned or last escalated. */
  readonly question_rounds?: number;
  /** Set if it was blocked during a review of delivered work. That review can be resumed. */
  readonly delivered?: boolean;
  /** The record of the latest notice that other tickets wait for it. */
  readonly noticed?: number;
  /** Number of times that the manager was asked about the long wait for it. */
  readonly wait_asks?: number;
  readonly reviews?: number;
  readonly failed_reviews?: number;
  readonly proposal?: number;
  readonly report?: number;
  /** The record of the end of its discussion, until its worker reports. */
  readonly discussed?: number;
  /** The record of its worker's latest failure, until a worker reports. */
  readonly failure?: number;
  /** A digest of the latest failure's evidence, until work passes its checks. */
  readonly failed_as?: string;
  readonly check?: number;
  readonly checks_passed?: boolean;
  /** Set if its latest work changes existing tests: whether it fails the checks with these as they were. */
  readonly softened?: boolean;
  /** The commit of the work as its worker last delivered it, in a session with copies of the repository. */
  readonly work?: string;
  /** The records of its artifacts, by label. A label that is used again refers to the newer artifact. */
  readonly artifacts?: Readonly<Record<string, number>>;
  readonly history?: readonly number[];
}

/** An instruction that is not given yet. */
export interface Instructed {
  readonly record: number;
  /** Its executable criteria. */
  readonly criteria: readonly Place[];
  /** Digests of its new commands. */
  readonly commands: readonly string[];
}

export type ReviewPolicy = "manager" | "user" | "checks" | "panel";

/** The roles that review independently, and how many of them must approve. */
export interface Panel {
  readonly members: readonly string[];
  readonly threshold?: string;
  readonly rounds?: number;
  readonly timeout_s: number;
}

/** The roles that plan independently before the manager, who judges their plans. */
export interface Planners {
  readonly members: readonly string[];
  readonly timeout_s: number;
}

/** A set of questions for a person. */
export interface QuestionSet {
  readonly id: string;
  readonly record: number;
  readonly pointer: string;
  readonly questions: readonly string[];
  /** The place of each question's answer, in the order of the questions. */
  readonly answers: readonly (Place | null)[];
  readonly subject?: string;
  readonly closed?: boolean;
}

/** The child session in which proposals are discussed. */
export interface Discussion {
  readonly mode: string;
  readonly input: JsonObject;
  readonly budget: Budget;
  readonly timeout_s: number;
}

/** The configuration that the mode needs. Times are in seconds, the back-off is in ms. */
export interface Settings {
  readonly max_retries: number;
  /** Absent in sessions of earlier versions. */
  readonly max_attempts?: number;
  readonly retry_backoff_ms: number;
  readonly max_review_rounds: number;
  readonly check_rounds: number;
  readonly max_clarification_rounds: number;
  readonly max_escalations: number;
  readonly dependency_notice_s: number;
  readonly plan_approval: "ask" | "never";
  readonly confirm: boolean;
  readonly review: ReviewPolicy;
  /** Set if a panel can review. */
  readonly panel?: Panel;
  readonly planners?: Planners;
  readonly proposal: "risk" | "always" | "never";
  /** The words that signal risk, instead of the default ones. */
  readonly risk_patterns?: readonly string[];
  /** Absent if the worker answers proposals. */
  readonly discussion?: Discussion;
  /** The configuration's own executable criteria. */
  readonly checks: readonly Place[];
  /** Set in a session with copies of the repository: the criteria of every merge. */
  readonly merge_checks?: readonly Place[];
  /** The budget of a ticket whose task has none. */
  readonly ticket_budget?: { readonly turns?: number; readonly wall_s?: number };
}

export interface RoleEntry {
  readonly role_id: string;
  readonly type: RoleType;
  readonly capabilities: readonly string[];
}

/** What a revised plan changes. */
export interface Revision {
  readonly plan: Place;
  /** The tickets that it adds, restarts or moves, as new tickets. */
  readonly planned: readonly Ticket[];
  /** The tickets that it no longer contains. */
  readonly left_out: readonly string[];
}

/** The session's own state. */
export interface SessionValue extends Holder {
  readonly phase: SessionPhase;
  /** The phase that a stop interrupted. */
  readonly interrupted?: SessionPhase;
  /** Set if a person gives the plan, so that the manager is not asked for one. */
  readonly plan_given?: boolean;
  /** Set if that plan was made of a list of another program, so that the person is asked about it. */
  readonly plan_is_foreign?: boolean;
  readonly settings: Settings;
  /** Digests of the commands that may run for every ticket: the configuration's, and those that a person allowed for the session. */
  readonly seen?: readonly string[];
  /** Why nobody is asked about commands that the manager adds: a person `allowed` them with a plan, or they are a person's `own`, of the plan file. */
  readonly later_commands?: "allowed" | "own";
  readonly roles: readonly RoleEntry[];
  readonly requirement?: Place;
  readonly plan?: Place;
  /** The plans of the planners, in the order in which the manager sees them; absent until their session has ended. */
  readonly plans?: readonly Place[];
  /** The open approval: of the first plan, whose tickets are `gated`, of a revision, or of the result. */
  readonly gate?: {
    readonly ask_id: string;
    readonly subject: "plan" | "result";
    readonly first: boolean;
    readonly revision?: Revision;
  };
  readonly clarifications: readonly string[];
  readonly notes: readonly number[];
  /** Number of question and approval asks so far; their ids count up. */
  readonly asked: number;
  readonly notice?: boolean;
  /** The commit from which a session with copies starts. */
  readonly base?: string;
  /** The record of the settings' checks of that commit, and those of the plans' own. */
  readonly baseline?: number;
  readonly plan_baselines?: readonly number[];
  /** Set if its plan has criteria that workers are not told. */
  readonly holds_out?: boolean;
  /** What workers noted for each other, the latest ones. */
  readonly crew_notes?: readonly { readonly ticket_id: string; readonly at: Place }[];
  /** What the session's `report` turn is about: the ticket that others wait for, and the notice that says so. */
  readonly long_wait?: { readonly ticket: string; readonly record: number };
  /** How it was closed, until a ticket moves again. A session that is reopened without effect is closed as before. */
  readonly ended?: { readonly outcome: Outcome; readonly reason?: string };
}

/** The schedule mode's state: the stored values, and indexes that `apply` derives from them. */
export interface ScheduleState {
  session: SessionValue | undefined;
  readonly tickets: Map<string, Ticket>;
  readonly questions: Map<string, QuestionSet>;
  readonly counts: Map<TicketStatus, number>;
  /** The tickets that depend on a ticket, in no particular order. */
  readonly dependents: Map<string, Set<string>>;
  /** Number of dependencies of a ticket that are not done. */
  readonly unmet: Map<string, number>;
  /** Open tickets that depend on a ticket in error, directly or not. */
  readonly blockedByError: Set<string>;
  /** Tickets that are neither pending, done nor in error. They are few, even in a large plan. */
  readonly underway: Set<string>;
  /** Pending tickets that name the files that they change. */
  readonly scoped: Set<string>;
}

export function empty(): ScheduleState {
  return {
    session: undefined,
    tickets: new Map(),
    questions: new Map(),
    counts: new Map(),
    dependents: new Map(),
    unmet: new Map(),
    blockedByError: new Set(),
    underway: new Set(),
    scoped: new Set(),
  };
}

/** Whether a plan adds this ticket. A ticket that an earlier plan withdrew counts as new. */
export function isAddition(ticket: Ticket | undefined): boolean {
  return !ticket || (ticket.status === "error" && ticket.reason === "withdrawn");
}

/** The sequences of a ticket's artifact records, oldest first. */
export function artifactsOf(ticket: Ticket | undefined): number[] {
  return Object.values(ticket?.artifacts ?? {}).toSorted((a, b) => a - b);
}

/** Number of tickets in each status, without zeros. */
export function countsOf(state: ReadonlyState<ScheduleState>): Record<string, number> {
  return Object.fromEntries([...state.counts].filter(([, count]) => count > 0));
}

/** Compares tickets by their order in the plan. */
export function planOrder(a: Ticket, b: Ticket): number {
  return a.order - b.order || (a.id < b.id ? -1 : 1);
}
