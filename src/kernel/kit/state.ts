import type { Instant } from "../../protocol/timestamp.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Change, Outcome, Seat } from "../mode.ts";
import { count } from "../state.ts";
import type { Holder } from "./holder.ts";
import type { QuestionSet } from "./questions.ts";
import { SAID, type Said } from "./views.ts";

/** Who is asked. */
interface Asked extends Holder {
  /** The questions that a person was asked about it. The set that it waits for is the last one. */
  readonly questions?: readonly QuestionSet[];
}

/** What every subject has. */
export interface Subject extends Asked {
  readonly id: string;
  /** Its place among all. Rows may load in another order. */
  readonly order: number;
  readonly status: string;
  readonly since: Instant;
  /** Why it has its status. */
  readonly reason?: string;
}

/** What every session has. It holds the turns of its own seat, which are about no subject. */
export interface Self extends Asked {
  readonly phase: string;
  /** The phase that a stop interrupted. */
  readonly interrupted?: string;
  /** The sequence of the record that holds the input. */
  readonly opened: number;
  readonly max_retries: number;
  readonly retry_backoff_ms: number;
  readonly max_clarification_rounds: number;
  /** Number of asks to people so far; their ids count up. */
  readonly asked?: number;
  /** How it was closed, until something of it is retried. */
  readonly ended?: { readonly outcome: Outcome; readonly reason?: string };
}

/** The state of a mode of the kit: the stored values, and indexes that `applyTo` derives. `self` is absent only if the opening was refused. */
export interface KitState<S extends Self, U extends Subject> {
  self: S | undefined;
  readonly subjects: Map<string, U>;
  /** Number of subjects in each status. */
  readonly counts: Map<string, number>;
  /** The subject that waits for something, by its `waits_for`. */
  readonly waiting: Map<string, string>;
  /** Number of subjects that hold a turn or wait. */
  holding: number;
  /** The records that prompts may show, by sequence. */
  readonly said: Map<string, Said>;
}

/** A subject as a mode makes it; the kit adds its status and its place. */
export type NewSubject<U extends Subject> = Omit<U, Exclude<keyof Subject, "id">>;

/** Whose turn it is, and with which message. */
export interface Asking {
  readonly seat: Seat;
  readonly message: PayloadType;
}

/** What the rules of a mode read: a session, within a step or between two. */
export interface View<S extends Self, U extends Subject> {
  readonly self: S;
  subject(id: string | undefined): U | undefined;
  /** Every subject, in order. Its cost is the number of subjects. */
  all(): U[];
  /** Number of subjects in a status. */
  count(status: string): number;
  /** The records that `Descriptor.lines` names, in no particular order. */
  said(): Said[];
}

export function viewOf<S extends Self, U extends Subject>(
  self: S,
  { subjects, counts, said }: KitState<S, U>,
): View<S, U> {
  return {
    self,
    subject: (id) => (id === undefined ? undefined : subjects.get(id)),
    all: () => [...subjects.values()].toSorted(inOrder),
    count: (status) => counts.get(status) ?? 0,
    said: () => [...said.values()],
  };
}

export const SELF = "self";

export function emptyState<S extends Self, U extends Subject>(): KitState<S, U> {
  return { self: undefined, subjects: new Map(), counts: new Map(), waiting: new Map(), holding: 0, said: new Map() };
}

/** Stores a value and updates the indexes. The subjects are stored in `collection`. */
export function applyTo<S extends Self, U extends Subject>(
  collection: string,
  state: KitState<S, U>,
  change: Change,
): void {
  if ("put" in change && change.put === SELF) {
    state.self = change.value as unknown as S;
    return;
  }
  if ("put" in change && change.put === SAID) {
    state.said.set(change.id, change.value as unknown as Said);
    return;
  }
  if (("put" in change ? change.put : change.drop) !== collection)
    throw new Error(`this mode has no collection "${"put" in change ? change.put : change.drop}"`);
  const before = state.subjects.get(change.id);
  const now = "put" in change ? (change.value as unknown as U) : undefined;
  if (now) state.subjects.set(change.id, now);
  else state.subjects.delete(change.id);
  if (before?.status !== now?.status) {
    if (before) count(state.counts, before.status, -1);
    if (now) count(state.counts, now.status, 1);
  }
  state.holding += Number(isHolding(now)) - Number(isHolding(before));
  if (before?.waits_for !== undefined) state.waiting.delete(before.waits_for);
  if (now?.waits_for !== undefined) state.waiting.set(now.waits_for, now.id);
}

/** Whether a turn is open, or something is awaited. */
export function isHolding(holder: Holder | undefined): boolean {
  return (holder?.turn ?? holder?.waits_for) !== undefined;
}

export function inOrder(a: Subject, b: Subject): number {
  return a.order - b.order;
}
