import { textWithin } from "../../lib/json.ts";
import { applyToState, newSubject, type SessionState } from "../../kernel/state.ts";
import type { PayloadType, TotalUsage } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { tellingOf, type ToldHold } from "../../protocol/telling.ts";
import type { LedgerFigures } from "../../kernel/ledger.ts";
import { totalOf } from "../usage.ts";

/** The progress of a session, and which role works on what. */
export interface Standing {
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  /** Number of turns so far. */
  readonly turns: number;
  /** The usage of all ended turns; undefined if unknown. */
  readonly usage: TotalUsage | undefined;
  readonly waiting: number;
  readonly running: readonly RunningTurn[];
  readonly checking: readonly string[];
  /** The roles held by more than their rate limit. */
  readonly held: readonly ToldHold[];
}

/** A turn that a role holds now. */
export interface RunningTurn {
  readonly turn_id: string;
  readonly role_id: string;
  /** Absent for some turns of a manager. */
  readonly subject?: string | undefined;
  /** When it was requested, in milliseconds since 1970. */
  readonly since?: number;
  /** The agent's latest progress report, if any. */
  readonly progress?: string | undefined;
}

/** The text of an agent's progress report on its running turn; undefined for any other record, and for an empty text. */
export function progressOf({ payload_type, payload, record }: UnsealedRecord): string | undefined {
  const isProgress = payload_type === "report" && payload.status === "progress" && record.disposition === "applied";
  return (isProgress && textWithin(payload.summary)) || undefined;
}

/** The payload types that tell progress, or begin a run without any. */
export const NOTED: ReadonlySet<PayloadType> = new Set(["turn_request", "report"]);

/** The state of a session that is followed: at first from its rows, then folded from its records. It adds what agents report as their progress. */
export class FollowedState {
  readonly state: SessionState;
  readonly #progress = new Map<string, string>();

  constructor(state: SessionState) {
    this.state = state;
  }

  /** Call with the records after those that led to the first state, in order. */
  add(record: UnsealedRecord): void {
    applyToState(this.state, record, tellingOf(record), newSubject);
    this.note(record);
  }

  /** Takes only the progress from a record. */
  note(record: UnsealedRecord): void {
    const { turn_id } = record.record;
    const progress = progressOf(record);
    if (turn_id === undefined) return;
    if (record.payload_type === "turn_request") this.#progress.delete(turn_id);
    else if (progress !== undefined) this.#progress.set(turn_id, progress);
  }

  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.state.counts);
  }

  get running(): RunningTurn[] {
    return [...this.state.turns.values()].map(({ turn_id, role_id, subject, since }) => ({
      turn_id,
      role_id,
      subject,
      since: Date.parse(since),
      progress: this.#progress.get(turn_id),
    }));
  }

  standing(figures: LedgerFigures | undefined): Standing {
    const { state, asks, checks, holds } = this.state;
    return {
      state,
      counts: this.counts,
      turns: figures?.turns ?? 0,
      usage: figures && totalOf(figures),
      waiting: asks.size,
      running: this.running,
      checking: [...checks.values()].flatMap(({ subject }) => subject ?? []),
      held: [...holds.values()].filter(({ limit }) => limit?.limit !== "turns_per_minute"),
    };
  }
}
