import type { Change } from "../../src/kernel/mode.ts";
import type { QuestionSet } from "../../src/modes/schedule/state.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Commit, Lease } from "../../src/store/store.ts";

/** What few sessions do. Enough seeds must play each. */
const PLAYS = [
  "a rewritten plan drops tickets",
  "a person's plan drops tickets",
  "a late quota opens a hold",
  "a late quota ends a hold",
  "questions are answered one by one",
] as const;

export type Play = (typeof PLAYS)[number];

/** How many seeds play each. */
export type PlayCounts = Readonly<Record<Play, number>>;

export const NO_PLAYS = Object.fromEntries(PLAYS.map((play) => [play, 0])) as PlayCounts;

export function addPlays(counts: PlayCounts, more: PlayCounts): PlayCounts {
  return Object.fromEntries(PLAYS.map((play) => [play, counts[play] + more[play]])) as PlayCounts;
}

/** The plays of a run, found in its commits. */
export class Plays {
  readonly #seen = new Set<Play>();
  readonly #holds = new Set<string>();
  /** How many commits have answered a part of an ask's questions. */
  readonly #parts = new Map<string, number>();

  /** 1 for each play that was seen. */
  get counts(): PlayCounts {
    return Object.fromEntries(PLAYS.map((play) => [play, this.#seen.has(play) ? 1 : 0])) as PlayCounts;
  }

  observe({ session_id }: Lease, { records, changes }: Commit): void {
    const committed = records.map(({ line }) => JSON.parse(line) as LogRecord);
    if (droppedFrom("ticket", changes).length > 0) this.#onDroppedTickets(committed);
    this.#onQuotaHolds(session_id, committed, changes);
    for (const change of changes)
      if ("put" in change && change.put === "question")
        this.#onQuestions(`${session_id} ${change.id}`, change.value as unknown as QuestionSet);
  }

  #onQuestions(id: string, { answers, closed }: QuestionSet): void {
    const isWhole = !answers.includes(null);
    const parts = this.#parts.get(id) ?? 0;
    if (isWhole && parts > 1) this.#seen.add("questions are answered one by one");
    if (!closed && answers.some((answer) => answer !== null)) this.#parts.set(id, parts + 1);
  }

  #onDroppedTickets(records: readonly LogRecord[]): void {
    const isOfPerson = ({ payload_type, source }: LogRecord) =>
      source === "user" && (payload_type === "plan" || payload_type === "approval");
    this.#seen.add(records.some(isOfPerson) ? "a person's plan drops tickets" : "a rewritten plan drops tickets");
  }

  /** A commit says which hold changed, but not why: only one whose other records change no quota hold counts. */
  #onQuotaHolds(session_id: string, records: readonly LogRecord[], changes: readonly Change[]): void {
    const isLate =
      records.some(isLateQuota) && !records.some((record) => changesQuotaHolds(record) && !isLateQuota(record));
    for (const change of changes) {
      const hold = `${session_id} ${change.id}`;
      if (("put" in change ? change.put : change.drop) !== "hold" || !change.id.startsWith("quota:")) continue;
      if (isLate && "put" in change && !this.#holds.has(hold)) this.#seen.add("a late quota opens a hold");
      if (isLate && "drop" in change) this.#seen.add("a late quota ends a hold");
      if ("put" in change) this.#holds.add(hold);
      else this.#holds.delete(hold);
    }
  }
}

/** Whether a record may open or end a quota hold. */
function changesQuotaHolds({ payload_type, record }: LogRecord): boolean {
  const others = ["turn_request", "user_command", "session_reopened", "session_closed"];
  return record.quota !== undefined || others.includes(payload_type);
}

/** Whether a record reports a quota late. */
function isLateQuota({ record }: LogRecord): boolean {
  return record.disposition === "late" && record.quota !== undefined;
}

/** The ids that a commit leaves out of a collection. */
function droppedFrom(collection: string, changes: readonly Change[]): string[] {
  const last = new Map(changes.map((change) => [`${"put" in change ? change.put : change.drop} ${change.id}`, change]));
  return [...last.values()].flatMap((change) => ("drop" in change && change.drop === collection ? [change.id] : []));
}
