import type { Spent } from "../../protocol/payload.ts";
import { spentOf as spentOfLedger } from "../../runtime/usage.ts";

/**
 * A session as a person sees it: the single model behind the dashboard, attach, the replay player and the reports. It is built from the
 * session's records alone (`applyRecord`), so a log folder without a database shows the same. Plain data; `copy.ts` copies it.
 * Times are in UTC as recorded; costs are in US dollars. All text comes from agents and people: sanitise it before showing it.
 */
export interface SessionModel {
  session_id: string;
  mode: string;
  /** The version of the program that opened the session. */
  version: string;
  requirement: string;
  workspace: string;
  opened_at: string;
  /** The sequence and the time of the last record applied. */
  sequence: number;
  at: string;
  paused: boolean;
  /** Set while the session is stopped. */
  stopped: { readonly reason: string; readonly message: string } | undefined;
  closed: { readonly outcome: string; readonly reason: string | undefined } | undefined;
  readonly budget: BudgetModel;
  readonly roles: Map<string, RoleModel>;
  readonly tickets: Map<string, TicketModel>;
  /** Number of tickets in each state. */
  readonly counts: Map<string, number>;
  /** The open turns, by id. */
  readonly turns: Map<string, TurnModel>;
  /** The open asks, by id, oldest first. */
  readonly asks: Map<string, AskModel>;
  readonly spend: SpendModel;
  /** State that later records need and no screen shows. */
  readonly memory: ModelMemory;
}

/** Limits of the session; undefined means no limit. */
export interface BudgetModel {
  turns: number | undefined;
  usd: number | undefined;
  tokens: number | undefined;
  wall_s: number | undefined;
  /** Maximum number of workers at once. */
  slots: number | undefined;
}

export interface RoleModel {
  readonly role_id: string;
  readonly type: string;
  /** What fills the seat: `cli`, `acp`, … */
  readonly backend: string;
  readonly spend: SpendModel;
}

/** Number of turns and what they have used. */
export interface SpendModel {
  turns: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  /** Turns that ended without reporting a cost. If there are any, `cost_usd` is only the known part. */
  unpriced: number;
  /** Turns that did not report all their tokens. */
  untold: number;
}

export interface TicketModel {
  readonly id: string;
  /** Its index in the plan. */
  order: number;
  status: string;
  title: string;
  /** Why it is blocked or in error. */
  reason: string | undefined;
  /** The role that works on it, or worked on it last. */
  owner: string | undefined;
  attempt: number;
  max_attempts: number | undefined;
  depends_on: readonly string[];
  /** When it entered its state. */
  since: string;
  /** When its first turn was given; undefined until then. */
  begun: string | undefined;
  readonly spend: SpendModel;
  /** The latest progress that its agent reported. */
  progress: string | undefined;
  /** The latest failure of a turn about it. */
  failure: { readonly code: string; readonly message: string } | undefined;
  checks: ChecksModel | undefined;
  readonly reviews: ReviewModel[];
  readonly artifacts: ArtifactModel[];
  readonly moves: MoveModel[];
  /** Who reviews its work: `manager`, `user` or `checks`. */
  review: string;
}

/** A transition of a ticket. */
export interface MoveModel {
  readonly sequence: number;
  readonly at: string;
  readonly to: string;
  readonly reason: string | undefined;
}

export interface ReviewModel {
  readonly sequence: number;
  readonly decision: string;
  readonly by: string;
  /** The notes, or the requested changes. */
  readonly text: string;
}

/** The latest run of a ticket's checks. */
export interface ChecksModel {
  readonly sequence: number;
  readonly passed: number;
  readonly failed: readonly string[];
}

export interface ArtifactModel {
  readonly sequence: number;
  readonly label: string;
  readonly uri: string;
  readonly size_bytes: number | undefined;
}

export interface TurnModel {
  readonly turn_id: string;
  readonly role_id: string;
  readonly ticket_id: string | undefined;
  readonly run: number;
  readonly since: string;
}

/** Something that waits for a person. */
export interface AskModel {
  readonly ask_id: string;
  readonly kind: "questions" | "approval" | "review" | "permission";
  /** The sequence of the record that holds its text. */
  readonly record: number;
  readonly since: string;
  readonly ticket_id: string | undefined;
  /** For a permission: the turn that waits for it. */
  readonly turn_id: string | undefined;
  /** What is asked, in one line. */
  readonly text: string;
  /** The ids of the unanswered questions. */
  readonly open: readonly string[];
}

export interface ModelMemory {
  /** Number of question and approval asks so far; their ids count up. */
  asked: number;
  /** In-doubt turns whose questions come with the next records. */
  doubts: readonly string[];
  /** The id of the latest approval of the result. */
  result: string;
  /** The default for `TicketModel.review`. */
  review: string;
  max_attempts: number | undefined;
  /** Whether the configuration has checks for every ticket. */
  has_checks: boolean;
  /** Tickets with checks of their own. */
  readonly checked: Set<string>;
  /** Whether the ticket of the last instruction was one of them before it. */
  was_checked: boolean;
  /** The tickets whose first checks wait for a person, by ask. */
  readonly held: Map<string, string>;
}

export function emptyModel(): SessionModel {
  return {
    session_id: "",
    mode: "",
    version: "",
    requirement: "",
    workspace: "",
    opened_at: "",
    sequence: 0,
    at: "",
    paused: false,
    stopped: undefined,
    closed: undefined,
    budget: { turns: undefined, usd: undefined, tokens: undefined, wall_s: undefined, slots: undefined },
    roles: new Map(),
    tickets: new Map(),
    counts: new Map(),
    turns: new Map(),
    asks: new Map(),
    spend: noSpend(),
    memory: {
      asked: 0,
      doubts: [],
      result: "",
      review: "manager",
      max_attempts: undefined,
      has_checks: false,
      checked: new Set(),
      was_checked: false,
      held: new Map(),
    },
  };
}

export function noSpend(): SpendModel {
  return { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, unpriced: 0, untold: 0 };
}

/** Converts a spend to the form that the usage formatters take. */
export function spentOf({ unpriced, untold, ...spend }: SpendModel): Spent {
  return spentOfLedger({ ...spend, cached_tokens: 0, unpriced_turns: unpriced, untold_turns: untold });
}

/** The number of tickets in any of these states. */
export function countOf({ counts }: SessionModel, statuses: readonly string[]): number {
  return statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0);
}

/** A session's state in one word. */
export function stateOf({ closed, stopped, paused, tickets, asks }: SessionModel): string {
  if (closed !== undefined) return closed.outcome;
  if (stopped !== undefined) return stopped.reason === "waiting" ? "waiting" : "stopped";
  if (paused) return "paused";
  const kinds = new Set([...asks.values()].map(({ kind }) => kind));
  if (kinds.has("approval")) return "approving";
  return tickets.size === 0 ? (kinds.has("questions") ? "clarifying" : "planning") : "running";
}
