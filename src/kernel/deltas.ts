import { isDeepStrictEqual } from "node:util";
import type { Json } from "../lib/json.ts";
import type { RecordedDeltas } from "../protocol/record.ts";
import { about, type Effect } from "../protocol/recording.ts";
import type { Ledger, LedgerAsk, LedgerChecks, LedgerHold, LedgerTurn } from "./ledger.ts";
import type { Change, ModeReader, Reference, SubjectRow } from "./mode.ts";

/**
 * What a fact opened, ended and changed, as its record tells it: the difference between what every view shows before the fact and after it. Ids are
 * sorted, because a ledger that was loaded has another order than one that grew. A title that another record holds is still a reference.
 */
export interface Deltas extends Omit<RecordedDeltas, "changed"> {
  readonly changed?: readonly SubjectDelta[];
}

/** The fields of a subject that changed. `null` removes one. */
export type SubjectDelta = Readonly<Record<string, Json>>;

/** The fields of a subject that its transitions do not tell. They tell a reason, but a reason may also change without one. */
const FIELDS = ["title", "owner", "attempt", "max_attempts", "depends_on", "order", "reason", "spent"] as const;

/** The collections whose values every view shows, and their maps. */
const SHOWN: ReadonlyMap<string, "turns" | "asks" | "holds" | "checks"> = new Map([
  ["turn", "turns"],
  ["ask", "asks"],
  ["hold", "holds"],
  ["check", "checks"],
]);

/** The values that a step changes, as they were before it; undefined for those that it adds. */
export interface LedgerBefore {
  readonly isStopped: boolean;
  readonly turns: ReadonlyMap<string, LedgerTurn | undefined>;
  readonly asks: ReadonlyMap<string, LedgerAsk | undefined>;
  readonly holds: ReadonlyMap<string, LedgerHold | undefined>;
  readonly checks: ReadonlyMap<string, LedgerChecks | undefined>;
}

/** Call before the changes are applied. */
export function ledgerBefore(ledger: Ledger, changes: readonly Change[]): LedgerBefore {
  const before = { turns: new Map(), asks: new Map(), holds: new Map(), checks: new Map() };
  for (const change of changes) {
    const name = SHOWN.get("put" in change ? change.put : change.drop);
    if (name) before[name].set(change.id, ledger[name].get(change.id));
  }
  return { ...before, isStopped: ledger.figures.stopped !== undefined };
}

/** What a step opened and ended. Call after its changes are applied. `gone` are the subjects that are no longer there. */
export function ledgerDeltas(
  ledger: Ledger,
  before: LedgerBefore,
  gone: readonly string[] = [],
): Pick<Deltas, "opened" | "ended"> {
  const asks = difference(before.asks, ledger.asks, askDelta);
  const holds = difference(before.holds, ledger.holds, (hold_id, hold) => ({ hold_id, ...hold }));
  const checks = difference(before.checks, ledger.checks, (check_id, { subject }) => ({ check_id, ...about(subject) }));
  const opened = someOf({ asks: asks.opened, holds: holds.opened, checks: checks.opened });
  const turns = endedTurns(ledger, before);
  const ended = someOf({ turns, asks: asks.ended, holds: holds.ended, checks: checks.ended, subjects: gone });
  return { ...(opened && { opened }), ...(ended && { ended }) };
}

/** The runs that ended; their turns may be offered again. Nothing tells the turns that began: each has a record of its own, its request. */
function endedTurns(ledger: Ledger, { isStopped, turns }: LedgerBefore): readonly string[] {
  // A stop ends all runs. Their turns stay open in the ledger until the recovery.
  if (isStopped) return [];
  if (ledger.figures.stopped)
    return openTurns(ledger)
      .map(({ turn_id }) => turn_id)
      .toSorted();
  const ended: string[] = [];
  for (const [id, turn] of turns) {
    const after = ledger.turns.get(id);
    if (turn?.status === "open" && (after?.status !== "open" || after.run !== turn.run)) ended.push(id);
  }
  return ended.sort();
}

/** The turns that agents hold or, if the session's scheduler has left, held then. */
export function openTurns({ turns }: Ledger): LedgerTurn[] {
  return [...turns.values()].filter(({ status }) => status === "open");
}

/** The turns that agents hold. */
export function runningTurns(ledger: Ledger): LedgerTurn[] {
  return ledger.figures.stopped ? [] : openTurns(ledger);
}

function difference<V, D extends object>(
  before: ReadonlyMap<string, V | undefined>,
  after: ReadonlyMap<string, V>,
  deltaOf: (id: string, value: V) => D,
): { readonly opened: readonly D[]; readonly ended: readonly string[] } {
  if (before.size === 0) return NO_DIFFERENCE;
  const opened: D[] = [];
  const ended: string[] = [];
  for (const id of [...before.keys()].sort()) {
    const [old, now] = [before.get(id), after.get(id)];
    if (now === undefined) {
      if (old !== undefined) ended.push(id);
    } else {
      const delta = deltaOf(id, now);
      if (old === undefined || !isDeepStrictEqual(deltaOf(id, old), delta)) opened.push(delta);
    }
  }
  return { opened, ended };
}

const NO_DIFFERENCE = { opened: [], ended: [] };

function askDelta(ask_id: string, { kind, record, subject, permission, open }: LedgerAsk): object {
  const turn = permission ? { turn_id: permission.turn_id } : {};
  return { ask_id, kind, record, ...about(subject), ...turn, ...(open ? { open } : {}) };
}

/** The lists that are not empty; undefined if none is. */
function someOf(lists: Readonly<Record<string, readonly unknown[]>>): object | undefined {
  let some: Record<string, readonly unknown[]> | undefined;
  for (const name in lists) if (lists[name]?.length) (some ??= {})[name] = lists[name];
  return some;
}

/** The subjects that a step may change, as they are before it. Call before its changes are applied. */
export function subjectsBefore<S>(
  mode: ModeReader<S>,
  state: S,
  changes: readonly Change[],
): ReadonlyMap<string, SubjectRow | undefined> {
  const before = new Map<string, SubjectRow | undefined>();
  for (const change of changes) {
    const collection = "put" in change ? change.put : change.drop;
    if (collection === mode.subjects && !before.has(change.id)) before.set(change.id, mode.subject(state, change.id));
  }
  return before;
}

/** What changed of the subjects of a step with these effects, and which are gone. Call after its changes are applied. */
export function subjectDeltas<S>(
  mode: ModeReader<S>,
  state: S,
  before: ReadonlyMap<string, SubjectRow | undefined>,
  { sequence, effects }: { readonly sequence: number; readonly effects: readonly Effect[] },
): { readonly changed: readonly SubjectDelta[]; readonly gone: readonly string[] } {
  if (before.size === 0) return { changed: [], gone: [] };
  const reasons = new Map(effects.map(({ subject, reason }) => [subject, reason]));
  const changed: SubjectDelta[] = [];
  const gone: string[] = [];
  for (const id of before.size === 1 ? before.keys() : [...before.keys()].sort()) {
    const now = mode.subject(state, id);
    const old = before.get(id);
    if (now === undefined) {
      if (old !== undefined) gone.push(id);
      continue;
    }
    const reason = reasons.has(id) ? reasons.get(id) : old?.reason;
    const delta = subjectDelta(now, { ...(old ?? NEW), reason }, sequence);
    if (delta) changed.push({ ...about(id), ...delta });
  }
  return { changed, gone };
}

/** What a subject is before anything is told of it. */
const NEW: Partial<SubjectRow> = { attempt: 0, depends_on: [] };

function subjectDelta(now: SubjectRow, old: Partial<SubjectRow>, sequence: number): SubjectDelta | undefined {
  let delta: Record<string, Json> | undefined;
  for (const field of FIELDS) {
    if (isEqual(now[field], old[field])) continue;
    delta ??= {};
    if (field !== "title") delta[field] = now[field] ?? null;
    else if (isReference(now.title) && now.title.$from[0] === sequence) delta["title_at"] = now.title.$from[1];
    else delta["title"] = now.title;
  }
  return delta;
}

function isReference(title: Json | undefined): title is Json & Reference {
  return typeof title === "object" && title !== null && "$from" in title;
}

/** Compares texts, numbers, lists of ids and references. */
function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  const [one, other] = [isReference(a) ? a.$from : a, isReference(b) ? b.$from : b];
  if (!Array.isArray(one) || !Array.isArray(other)) return false;
  return one.length === other.length && one.every((member, index) => member === other[index]);
}
