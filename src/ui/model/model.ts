import type { LedgerSpend } from "../../kernel/ledger.ts";
import { type Presentation, shownStatus, statusesOf } from "../../kernel/presentation.ts";
import { emptyState, newSubject, type SessionState, type SubjectState } from "../../kernel/state.ts";
import type { ChangedFiles } from "../../protocol/record.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import { spentOf } from "../../runtime/usage.ts";
import type { Cause } from "../cause.ts";
import type { ListedSubject } from "../subject-columns.ts";
import { isResult, sentenceFor, type Waiting } from "../waiting.ts";

/**
 * A session as a person sees it: the single model behind the dashboard, attach, the replay player and the reports. It is built from the
 * session's records alone (`applyRecord`), so a log folder without a database shows the same. To what stands in the session, it adds its history and
 * its figures. Plain data; `copyOf` copies it.
 * Times are in UTC as recorded; costs are in US dollars. All text comes from agents and people: sanitise it before showing it.
 */
export interface SessionModel extends SessionState<TicketModel> {
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
  /** Why a turn failed last, whatever it was about. */
  cause: Cause | undefined;
  /** Set while the session is stopped. */
  stopped: { readonly reason: string; readonly message: string } | undefined;
  closed: { readonly outcome: string; readonly reason: string | undefined } | undefined;
  readonly budget: BudgetModel;
  readonly roles: Map<string, RoleModel>;
  /** What each open ask waits for, once its record is there. */
  readonly waiting: Map<string, readonly Waiting[]>;
  /** The files that the turns about each ticket changed. */
  readonly changes: Map<string, ChangedFiles>;
  spend: LedgerSpend;
}

/** Limits of the session; undefined means no limit. */
export interface BudgetModel {
  turns: number | undefined;
  usd: number | undefined;
  /** Maximum number of workers at once. */
  slots: number | undefined;
}

export interface RoleModel {
  readonly role_id: string;
  readonly type: string;
  /** What fills the seat: `cli`, `acp`, … */
  readonly backend: string;
  spend: LedgerSpend;
}

export interface TicketModel extends SubjectState {
  /** When its first turn was given; undefined until then. */
  begun: string | undefined;
  spend: LedgerSpend;
  /** The latest progress that its agent reported. */
  progress: string | undefined;
  /** Why it failed last; undefined once it is reported as completed. */
  cause: Cause | undefined;
  checks: ChecksModel | undefined;
  readonly reviews: ReviewModel[];
  readonly artifacts: ArtifactModel[];
  readonly moves: MoveModel[];
}

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
    cause: undefined,
    stopped: undefined,
    closed: undefined,
    budget: { turns: undefined, usd: undefined, slots: undefined },
    roles: new Map(),
    ...(emptyState() as SessionState<TicketModel>),
    waiting: new Map(),
    changes: new Map(),
    spend: noSpend(),
  };
}

export function newTicket(id: string, order: number): TicketModel {
  return {
    ...newSubject(id, order),
    begun: undefined,
    spend: noSpend(),
    progress: undefined,
    cause: undefined,
    checks: undefined,
    reviews: [],
    artifacts: [],
    moves: [],
  };
}

export function noSpend(): LedgerSpend {
  const tokens = { input_tokens: 0, output_tokens: 0, cached_tokens: 0 };
  return { turns: 0, ...tokens, cost_usd: 0, unpriced_turns: 0, untold_turns: 0 };
}

export function listed(ticket: TicketModel): TicketModel & ListedSubject {
  const { spend } = ticket;
  return { ...ticket, usage: spend.turns === 0 ? undefined : spentOf(spend) };
}

/** The number of tickets in any of these states. */
export function countOf({ counts }: Pick<SessionModel, "counts">, statuses: readonly string[]): number {
  return statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0);
}

/** A session's state in one word: that of the records, or how it was closed or stopped. */
export function stateOf({ state, closed, stopped }: SessionModel): string {
  if (closed !== undefined) return closed.outcome;
  if (stopped !== undefined) return stopped.reason === "waiting" ? "waiting" : "stopped";
  return state;
}

/** Whether the result waits to be accepted. */
export function awaitsAcceptance({ waiting }: SessionModel): boolean {
  return [...waiting.values()].flat().some(isResult);
}

export function askText({ waiting }: SessionModel, { ask_id }: ToldAsk): string {
  return (waiting.get(ask_id) ?? []).map(sentenceFor).join(" / ");
}

/** Sorts tickets by how much they need a person: those with an open ask, then by the urgency of their status, in the plan's order. */
export function ticketsByNeed({ subjects, asks }: SessionModel, presentation: Presentation | undefined): TicketModel[] {
  const needy = new Set([...asks.values()].map(({ subject }) => subject));
  const ranks = new Map(statusesOf(presentation).map((status, rank) => [status, rank]));
  const rankOf = ({ id, status }: TicketModel) => (needy.has(id) ? -1 : (ranks.get(status) ?? Infinity));
  const ranked = Map.groupBy(subjects.values(), rankOf);
  // Most tickets are already in the plan's order, so sorting is fast even for large plans.
  return [...ranked].sort(([a], [b]) => a - b).flatMap(([, same]) => same.sort((a, b) => a.order - b.order));
}

/** The ids of the tickets that a ticket still waits for. */
export function blockersOf(
  { subjects }: SessionModel,
  presentation: Presentation | undefined,
  { depends_on, status }: TicketModel,
): string[] {
  if (shownStatus(presentation, status).stage !== "waiting") return [];
  return depends_on.filter((id) => {
    const before = subjects.get(id);
    return before === undefined || shownStatus(presentation, before.status).stage !== "done";
  });
}

/** A copy that further records do not affect. It shares values that they replace whole, so it is smaller and faster than `structuredClone`. */
export function copyOf(model: SessionModel): SessionModel {
  return {
    ...model,
    budget: { ...model.budget },
    roles: mapped(model.roles, (role) => ({ ...role })),
    subjects: mapped(model.subjects, copyOfTicket),
    counts: new Map(model.counts),
    turns: new Map(model.turns),
    changes: new Map(model.changes),
    asks: new Map(model.asks),
    holds: new Map(model.holds),
    checks: new Map(model.checks),
    waiting: new Map(model.waiting),
  };
}

function copyOfTicket(ticket: TicketModel): TicketModel {
  const { reviews, artifacts, moves } = ticket;
  return { ...ticket, reviews: [...reviews], artifacts: [...artifacts], moves: [...moves] };
}

function mapped<V>(map: ReadonlyMap<string, V>, copy: (value: V) => V): Map<string, V> {
  return new Map(Array.from(map, ([key, value]) => [key, copy(value)]));
}
