import { textOf } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { tellingOf, type ToldTurn } from "../../protocol/telling.ts";

/** One run of a turn, from its request to its end. */
export interface TurnSpan {
  readonly turn_id: string;
  readonly run: number;
  readonly role_id: string;
  readonly ticket_id: string | undefined;
  readonly from: string;
  /** Undefined while the turn is open. */
  readonly to: string | undefined;
  /** The code of the failure that ended it, or `cut_off` if it ended without an answer. */
  readonly failed: string | undefined;
}

/** The runs of turns, from what records tell. */
export class TurnSpans {
  readonly #ended: TurnSpan[] = [];
  readonly #open = new Map<string, ToldTurn>();

  /** In the order in which they ended, followed by the open ones. */
  get all(): readonly TurnSpan[] {
    return [...this.#ended, ...Array.from(this.#open.values(), (turn) => spanOf(turn, undefined, undefined))];
  }

  add(record: UnsealedRecord): void {
    const { turn_id, received_at } = record.record;
    const { ended, turn } = tellingOf(record);
    for (const id of ended.turns) {
      const run = this.#open.get(id);
      if (run) this.#ended.push(spanOf(run, received_at, id === turn_id ? failureOf(record) : "cut_off"));
      this.#open.delete(id);
    }
    if (turn) this.#open.set(turn.turn_id, turn);
  }
}

function spanOf(turn: ToldTurn, to: string | undefined, failed: string | undefined): TurnSpan {
  const { subject, since, ...run } = turn;
  return { ...run, ticket_id: subject, from: since, to, failed };
}

function failureOf({ payload_type, payload }: UnsealedRecord): string | undefined {
  return payload_type === "turn_failed" ? textOf(payload.code) || "failed" : undefined;
}
