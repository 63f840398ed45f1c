import type { LedgerChecks, LedgerHold, LedgerTurn } from "../../kernel/ledger.ts";
import { objectOf } from "../../lib/json.ts";
import type { PayloadType, TotalUsage } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { latestOf } from "../../store/kept-record.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";

/** The progress of a session, and which role works on what. */
export interface Standing {
  readonly state: string;
  /** Number of subjects in each state. */
  readonly counts: Readonly<Record<string, number>>;
  /** Number of turns so far. */
  readonly turns: number;
  /** The usage of all ended turns; undefined if unknown. */
  readonly usage: TotalUsage | undefined;
  /** Number of open asks. */
  readonly waiting: number;
  readonly running: readonly RunningTurn[];
  /** The subjects whose checks run. */
  readonly checking: readonly string[];
  /** The roles held by more than their rate limit. */
  readonly held: readonly LedgerHold[];
}

/** A turn that a role holds now. */
export interface RunningTurn {
  readonly turn_id: string;
  readonly role_id: string;
  /** Absent for some turns of a manager. */
  readonly subject?: string | undefined;
  /** When it was requested, in milliseconds since 1970, if known. */
  readonly since?: number | undefined;
  /** The agent's latest progress report, if any. */
  readonly progress?: string | undefined;
}

/** Derives which role works on what from the ledger's turns, checks and holds. */
export function workload(
  turns: Iterable<LedgerTurn>,
  checks: Iterable<LedgerChecks>,
  holds: Iterable<LedgerHold>,
): Pick<Standing, "running" | "checking" | "held"> {
  return {
    running: runningTurns(turns),
    checking: [...checks].flatMap(({ subject }) => subject ?? []),
    held: [...holds].filter(({ limit }) => limit?.limit !== "turns_per_minute"),
  };
}

/** The turns that roles hold. */
export function runningTurns(turns: Iterable<LedgerTurn>): RunningTurn[] {
  return [...turns].flatMap(({ status, turn_id, role_id, subject }) =>
    status === "open" && role_id !== undefined ? [{ turn_id, role_id, subject }] : [],
  );
}

/** The text of an agent's progress report on its running turn; undefined for any other record, and for an empty text. */
export function progressOf({ payload_type, payload, record }: UnsealedRecord): string | undefined {
  const isProgress = payload_type === "report" && payload.status === "progress" && record.disposition === "applied";
  if (!isProgress) return undefined;
  const { summary } = payload;
  const text = typeof summary === "string" ? summary : objectOf(summary).text;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** When each turn was requested, and its agent's latest progress report. */
export class TurnNotes {
  readonly #notes = new Map<string, Pick<RunningTurn, "since" | "progress"> & { readonly run: number }>();

  /** Call with the records of a session in order. */
  add(record: UnsealedRecord): void {
    const { turn_id, run = 1, received_at } = record.record;
    if (turn_id === undefined) return;
    const progress = progressOf(record);
    if (record.payload_type === "turn_request") this.#notes.set(turn_id, { run, since: Date.parse(received_at) });
    else if (progress !== undefined) this.#notes.set(turn_id, { ...this.#notes.get(turn_id), run, progress });
  }

  /** Call at the end of a run, to limit memory: a large session has very many. */
  drop({ turn_id, run }: { readonly turn_id: string; readonly run: number }): void {
    if (this.#notes.get(turn_id)?.run === run) this.#notes.delete(turn_id);
  }

  /** Adds the notes to the turns. */
  of(running: readonly RunningTurn[]): RunningTurn[] {
    return running.map((turn) => {
      const { since, progress } = this.#notes.get(turn.turn_id) ?? {};
      return { ...turn, ...(since === undefined ? {} : { since }), ...(progress === undefined ? {} : { progress }) };
    });
  }
}

const NOTED: ReadonlySet<PayloadType> = new Set(["turn_request", "report"]);

/** Notes from the latest records of a session; older ones are left out. Throws a `StorageError`. */
export function latestNotes(store: StoreReader, row: Pick<SessionRow, "session_id" | "last_sequence">): TurnNotes {
  const notes = new TurnNotes();
  for (const record of latestOf(store, row, NOTED)) notes.add(record);
  return notes;
}
