import type { Change } from "../../src/kernel/mode.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Commit } from "../../src/store/store.ts";

/** What few sessions do. Enough seeds must play each. */
const PLAYS = ["a rewritten plan drops tickets", "a person's plan drops tickets"] as const;

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

  /** 1 for each play that was seen. */
  get counts(): PlayCounts {
    return Object.fromEntries(PLAYS.map((play) => [play, this.#seen.has(play) ? 1 : 0])) as PlayCounts;
  }

  observe({ records, changes }: Commit): void {
    const committed = records.map(({ line }) => JSON.parse(line) as LogRecord);
    if (droppedFrom("ticket", changes).length > 0) this.#onDroppedTickets(committed);
  }

  #onDroppedTickets(records: readonly LogRecord[]): void {
    const isOfPerson = ({ payload_type, source }: LogRecord) =>
      source === "user" && (payload_type === "plan" || payload_type === "approval");
    this.#seen.add(records.some(isOfPerson) ? "a person's plan drops tickets" : "a rewritten plan drops tickets");
  }
}

/** The ids that a commit leaves out of a collection. */
function droppedFrom(collection: string, changes: readonly Change[]): string[] {
  const last = new Map(changes.map((change) => [`${"put" in change ? change.put : change.drop} ${change.id}`, change]));
  return [...last.values()].flatMap((change) => ("drop" in change && change.drop === collection ? [change.id] : []));
}
