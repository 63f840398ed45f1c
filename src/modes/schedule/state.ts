import type { Outcome, ReadonlyState, Seat } from "../../kernel/mode.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Budget } from "../../protocol/payload.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { SessionPhase } from "./session.machine.ts";
import type { TicketStatus } from "./ticket.machine.ts";

/** Where a text stands: a record's sequence and a pointer into its payload. State holds these, never the text. */
export type Place = readonly [sequence: number, pointer: string];

/** What a turn asks for; the message it carries has the same name on the wire. */
export type MessageType =
  | "requirement"
  | "clarification_response"
  | "ticket"
  | "instruction_proposal"
  | "report"
  | "instruction"
  | "review_request"
  | "error";

/** The turn that somebody holds, or the message that waits to be put again. */
export interface OpenTurn {
  readonly turn_id: string;
  readonly message: MessageType;
  /** Tries of this same message beyond the first: failed and refused answers both count. */
  readonly retries: number;
  /** Why the previous answer was refused, put again as `context.refused`. */
  readonly refused?: readonly Json[];
  /** Clarification rounds that this same message has caused. */
  readonly rounds?: number;
}

/** A message kept back for a while, and what its next turn will be told. */
export interface PutAgain {
  readonly message: MessageType;
  readonly retries: number;
  readonly rounds: number;
  readonly refused?: readonly Json[];
}

/** Whoever is waited for: a ticket, or the session about what is no ticket's. */
export interface Holder {
  readonly turn?: OpenTurn;
  /** What it waits for: a back-off timer, a person's answer, checks, a child session, a revised plan, being resumed. */
  readonly waits_for?: string;
  readonly put_again?: PutAgain;
  /** The question sets that were settled. */
  readonly clarifications?: readonly string[];
}

/** What a ticket may use, and what it has used of that. */
export interface Allowance {
  readonly turns?: number;
  readonly wall_s?: number;
  /** Turns that were offered about it, but for the manager's `error` turns. */
  readonly used: number;
  /** When the first of them was offered. */
  readonly from?: Instant;
}

/** A ticket: one value, one row. Optional fields are absent until they are needed, since sessions hold 100,000 of these. */
export interface Ticket extends Holder {
  readonly id: string;
  readonly status: TicketStatus;
  readonly since: Instant;
  /** Why it is blocked or in error. */
  readonly reason?: string;
  readonly task: Place;
  /** Its place in the plan: whatever is done "for each ticket" is done in this order, however the rows were loaded. */
  readonly order: number;
  /** Digest of the task as planned: a revised plan is compared by it. */
  readonly digest: string;
  readonly depends_on: readonly string[];
  readonly seat: Seat;
  readonly review: ReviewPolicy;
  /** Only where it has a budget. */
  readonly allowance?: Allowance;
  readonly discuss?: boolean;
  /** The instruction that counts, and where the executable criteria stand: the task's, the configuration's, every instruction's. */
  readonly instruction?: Place;
  readonly criteria?: readonly Place[];
  readonly owner?: string;
  readonly attempt: number;
  /** The child session that it waits for was begun, so that its end comes back however it is broken off. */
  readonly session_begun?: boolean;
  /** Not begun before the person has approved the plan that added it. */
  readonly gated?: boolean;
  /** The plan that counts leaves it out; a person may have it tried again all the same. */
  readonly unplanned?: boolean;
  readonly retries?: number;
  readonly escalations?: number;
  readonly check_rounds?: number;
  readonly review_rounds?: number;
  /** How often its workers were stuck with questions, since it was planned or last taken out of an escalation. */
  readonly question_rounds?: number;
  /** Blocked while the work that was delivered was under review: that review can be resumed. */
  readonly delivered?: boolean;
  /** The latest notice that it holds others up. */
  readonly noticed?: number;
  readonly reviews?: number;
  readonly failed_reviews?: number;
  readonly proposal?: number;
  readonly report?: number;
  /** The end of the session in which its proposal was discussed, until its worker reports. */
  readonly discussed?: number;
  /** How its worker's latest turn failed, until one reports. */
  readonly failure?: number;
  readonly check?: number;
  readonly checks_passed?: boolean;
  /** The records of its kept files by label; a label that is used again means the newer file. */
  readonly artifacts?: Readonly<Record<string, number>>;
  readonly notes?: readonly number[];
  readonly history?: readonly number[];
}

export type ReviewPolicy = "manager" | "user" | "checks";

/** A set of questions put to a person. */
export interface QuestionSet {
  readonly id: string;
  readonly record: number;
  readonly pointer: string;
  readonly questions: readonly string[];
  /** For each question where its answer stands; by position, because an agent's ids may be any text. */
  readonly answers: readonly (Place | null)[];
  readonly subject?: string;
  readonly closed?: boolean;
}

/** In what child session proposals are discussed, and what one may use. */
export interface Discussion {
  readonly mode: string;
  readonly input: JsonObject;
  readonly budget: Budget;
  readonly timeout_s: number;
}

/** What the mode needs of the configuration. Times in seconds as configured, back-off in ms. */
export interface Settings {
  readonly max_retries: number;
  readonly retry_backoff_ms: number;
  readonly max_review_rounds: number;
  readonly check_rounds: number;
  readonly max_clarification_rounds: number;
  readonly max_escalations: number;
  readonly dependency_notice_s: number;
  readonly plan_approval: "ask" | "never";
  readonly confirm: boolean;
  readonly review: ReviewPolicy;
  readonly proposal: "risk" | "always" | "never";
  /** Absent where proposals are put to the worker. */
  readonly discussion?: Discussion;
  /** Places of the configuration's own executable criteria. */
  readonly checks: readonly Place[];
  /** What a ticket may use whose task says nothing else. */
  readonly ticket_budget?: { readonly turns?: number; readonly wall_s?: number };
}

export interface RoleEntry {
  readonly role_id: string;
  readonly type: RoleType;
  readonly capabilities: readonly string[];
}

/** What a revised plan makes of the tickets, as far as that is not how they stood when it came. */
export interface Revision {
  readonly plan: Place;
  /** Those that it adds, begins anew or puts elsewhere, with nothing lived through yet. */
  readonly planned: readonly Ticket[];
  readonly left_out: readonly string[];
}

/** What belongs to the session and to no ticket. */
export interface SessionValue extends Holder {
  readonly phase: SessionPhase;
  /** The phase a stop interrupted. */
  readonly interrupted?: SessionPhase;
  /** The person gave the plan, so nobody is asked for one. */
  readonly plan_given?: boolean;
  readonly settings: Settings;
  readonly roles: readonly RoleEntry[];
  readonly requirement?: Place;
  readonly plan?: Place;
  /** The approval that is waited for: of the `first` plan, whose tickets stay `gated` until then, of a revision, or of the result. */
  readonly gate?: {
    readonly ask_id: string;
    readonly subject: "plan" | "result";
    readonly first: boolean;
    readonly revision?: Revision;
  };
  readonly clarifications: readonly string[];
  readonly notes: readonly number[];
  readonly asked: number;
  readonly notice?: boolean;
  /** How it was closed, until a ticket moves again: one that is reopened in vain is closed as it was. */
  readonly ended?: { readonly outcome: Outcome; readonly reason?: string };
}

/** The schedule mode's state in memory: values as stored, and indexes derived from them by `apply`. */
export interface ScheduleState {
  session: SessionValue | undefined;
  readonly tickets: Map<string, Ticket>;
  readonly questions: Map<string, QuestionSet>;
  readonly counts: Map<TicketStatus, number>;
  /** Who waits for a ticket, in no order. */
  readonly dependents: Map<string, Set<string>>;
  /** Dependencies not yet done, by ticket. */
  readonly unmet: Map<string, number>;
  /** Tickets that wait, directly or not, on one in error. */
  readonly blockedByError: Set<string>;
  /** Tickets that are neither pending, done nor in error: few, whatever the plan's size. */
  readonly underway: Set<string>;
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
  };
}

/** Whether a plan that has it adds it: what an earlier one withdrew counts as new. */
export function isAddition(ticket: Ticket | undefined): boolean {
  return !ticket || (ticket.status === "error" && ticket.reason === "withdrawn");
}

/** The records of a ticket's kept files, oldest first. */
export function artifactsOf(ticket: Ticket | undefined): number[] {
  return Object.values(ticket?.artifacts ?? {}).toSorted((a, b) => a - b);
}

/** How many tickets are in each status that any is in. */
export function countsOf(state: ReadonlyState<ScheduleState>): Record<string, number> {
  return Object.fromEntries([...state.counts].filter(([, count]) => count > 0));
}

/** The order of the plan: for sorting tickets. */
export function planOrder(a: Ticket, b: Ticket): number {
  return a.order - b.order || (a.id < b.id ? -1 : 1);
}
