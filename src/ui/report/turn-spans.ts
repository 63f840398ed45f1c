import type { UnsealedRecord } from "../../protocol/record.ts";
import { textOf } from "../../lib/json.ts";
import type { ToldTurn } from "../../protocol/telling.ts";
import type { SessionModel } from "../model/model.ts";

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

/** Finds when turns ended, from the turns that are open in the model after each record. */
export class TurnSpans {
  readonly #ended: TurnSpan[] = [];
  readonly #open = new Map<string, ToldTurn>();

  /** In the order in which they ended, followed by the open ones. */
  get all(): readonly TurnSpan[] {
    const open = [...this.#open.values()].map((turn) => spanOf(turn, undefined, undefined));
    return [...this.#ended, ...open];
  }

  /** Call after the record is applied to the model. */
  add({ turns }: SessionModel, record: UnsealedRecord): void {
    const { turn_id, received_at } = record.record;
    for (const [id, turn] of this.#open) {
      if (turns.get(id) === turn) continue;
      this.#ended.push(spanOf(turn, received_at, id === turn_id ? failureOf(record) : "cut_off"));
      this.#open.delete(id);
    }
    const given = turn_id === undefined ? undefined : turns.get(turn_id);
    if (given) this.#open.set(given.turn_id, given);
  }
}

function spanOf(turn: ToldTurn, to: string | undefined, failed: string | undefined): TurnSpan {
  const { turn_id, run, role_id, subject, since } = turn;
  return { turn_id, run, role_id, ticket_id: subject, from: since, to, failed };
}

/** A request with a higher run means that the previous run was cut off. */
function failureOf({ payload_type, payload }: UnsealedRecord): string | undefined {
  if (payload_type === "turn_request") return "cut_off";
  return payload_type === "turn_failed" ? textOf(payload.code) || "failed" : undefined;
}
