import type { LedgerTurn } from "../../kernel/ledger.ts";
import { Heap, type HeapEntry } from "../../lib/heap.ts";

interface Waiting extends HeapEntry {
  readonly turn: LedgerTurn;
  readonly order: number;
  readonly seats: string;
}

/** The offered turns that wait for a seat, by lowest priority number, then in the order of adding. */
export class TurnQueue {
  readonly #waiting = new Map<string, Waiting>();
  /** Turns that want the same seats share a heap: if the first cannot start, none can. */
  readonly #bySeats = new Map<string, Heap<Waiting>>();
  #added = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Adds a turn. If it already waits, it moves to its new place. */
  add(turn: LedgerTurn): void {
    this.remove(turn.turn_id);
    this.#added += 1;
    const waiting = { turn, order: this.#added, seats: seatsOf(turn), position: -1 };
    this.#waiting.set(turn.turn_id, waiting);
    let heap = this.#bySeats.get(waiting.seats);
    if (!heap) {
      heap = new Heap<Waiting>((a, b) => compare(a, b) < 0);
      this.#bySeats.set(waiting.seats, heap);
    }
    heap.add(waiting);
  }

  /** Ignores unknown ids. */
  remove(turn_id: string): void {
    const waiting = this.#waiting.get(turn_id);
    if (!waiting) return;
    this.#waiting.delete(turn_id);
    const heap = this.#bySeats.get(waiting.seats);
    heap?.remove(waiting);
    if (heap?.size === 0) this.#bySeats.delete(waiting.seats);
  }

  /** Removes and returns the first turn that `fits`. `fits` is called once for each kind of seats. */
  take(fits: (turn: LedgerTurn) => boolean): LedgerTurn | undefined {
    const firsts = [...this.#bySeats.values()].flatMap((heap) => heap.first() ?? []).sort(compare);
    const next = firsts.find(({ turn }) => fits(turn));
    if (next) this.remove(next.turn.turn_id);
    return next?.turn;
  }
}

function compare(a: Waiting, b: Waiting): number {
  return a.turn.priority - b.turn.priority || a.order - b.order;
}

function seatsOf({ seat, reserve }: LedgerTurn): string {
  return [seat, reserve]
    .map((one) =>
      one ? `${one.type}/${one.role_id ?? ""}/${one.capability ?? ""}/${one.rather_not ?? ""}/${one.unlike ?? ""}` : "",
    )
    .join("|");
}
