import { Heap, type HeapEntry } from "./heap.ts";

/**
 * Who does what, and nobody twice. The dispatcher puts here what a mode offers, and claims what there is room for. A claim counts
 * until it is settled, withdrawn, or overtaken by a later offer of the same id; its fence tells an answer that still counts from
 * one that does not. The queue carries `T` along without looking at it. The calls answer at once. A queue that many machines
 * share would claim ahead for its dispatcher, but must not answer `applied` for a claim that somebody else has taken over.
 */
export interface DispatchQueue<T> {
  /** Waits to be claimed. An id that waits already moves to its new place; one that is claimed waits again, and its claim is void. */
  offer(offer: Offer<T>): void;
  /** No longer wanted, waiting or claimed; unknown ids are fine. Says which it was, since a claimed one may be running. */
  withdraw(id: string): "waiting" | "claimed" | "unknown";
  /**
   * Takes up to `limit` offers, lowest priority number first, then in the order offered. `accepts` is asked for the key of each
   * next offer, so again after each claim; a refusal leaves that key for another time, however many offers wait under it.
   */
  claim(wanted: { readonly limit: number; readonly accepts: (key: string) => boolean }): Claim<T>[];
  /** Says that the claim is being worked on; `stale` if it is void, and whoever works on it must stop. */
  heartbeat(id: string, fence: number): "applied" | "stale";
  /** Ends the claim; `stale` if it is void: then nothing happened. */
  settle(id: string, fence: number): "applied" | "stale";
  size(): { readonly waiting: number; readonly claimed: number };
}

export interface Offer<T> {
  readonly id: string;
  /** Who may take it, in whatever words the dispatcher uses: offers of one key are alike to `accepts`. */
  readonly key: string;
  /** Lower goes first. */
  readonly priority: number;
  readonly body: T;
}

export interface Claim<T> extends Offer<T> {
  /** Rises with every claim of this queue. */
  readonly fence: number;
}

/** A queue in this process's memory, for one scheduler: claims last as long as it does, so none expire. */
export function embeddedQueue<T>(): DispatchQueue<T> {
  const heaps = new Map<string, Heap<Waiting<T>>>();
  const waiting = new Map<string, Waiting<T>>();
  const claimed = new Map<string, Claim<T>>();
  let order = 0;
  let fence = 0;

  function removeWaiting(entry: Waiting<T>): void {
    waiting.delete(entry.offer.id);
    const heap = heaps.get(entry.offer.key);
    heap?.remove(entry);
    if (heap?.size === 0) heaps.delete(entry.offer.key);
  }

  function withdraw(id: string): "waiting" | "claimed" | "unknown" {
    const entry = waiting.get(id);
    if (entry === undefined) return claimed.delete(id) ? "claimed" : "unknown";
    removeWaiting(entry);
    return "waiting";
  }

  function offer(offered: Offer<T>): void {
    withdraw(offered.id);
    order += 1;
    const entry = { offer: offered, order, position: -1 };
    waiting.set(offered.id, entry);
    let heap = heaps.get(offered.key);
    if (heap === undefined) {
      heap = new Heap<Waiting<T>>(goesBefore);
      heaps.set(offered.key, heap);
    }
    heap.add(entry);
  }

  function claim(limit: number, accepts: (key: string) => boolean): Claim<T>[] {
    const claims: Claim<T>[] = [];
    const open = new Set(heaps.values());
    while (claims.length < limit) {
      const heap = firstOf(open);
      const entry = heap?.first();
      if (heap === undefined || entry === undefined) break;
      if (!accepts(entry.offer.key)) {
        open.delete(heap);
        continue;
      }
      removeWaiting(entry);
      fence += 1;
      const made = { ...entry.offer, fence };
      claimed.set(made.id, made);
      claims.push(made);
    }
    return claims;
  }

  const counts = (id: string, claim: number): boolean => claimed.get(id)?.fence === claim;

  return {
    offer,
    withdraw,
    claim: ({ limit, accepts }) => claim(limit, accepts),
    heartbeat: (id, claim) => (counts(id, claim) ? "applied" : "stale"),
    settle(id, claim) {
      if (!counts(id, claim)) return "stale";
      claimed.delete(id);
      return "applied";
    },
    size: () => ({ waiting: waiting.size, claimed: claimed.size }),
  };
}

/** An offer in the heap of its key. */
interface Waiting<T> extends HeapEntry {
  readonly offer: Offer<T>;
  readonly order: number;
}

function goesBefore(a: Waiting<unknown>, b: Waiting<unknown>): boolean {
  return a.offer.priority < b.offer.priority || (a.offer.priority === b.offer.priority && a.order < b.order);
}

/** The heap whose first offer goes before those of the others. There are as many as keys, not as offers. */
function firstOf<T>(heaps: Iterable<Heap<Waiting<T>>>): Heap<Waiting<T>> | undefined {
  let best: Heap<Waiting<T>> | undefined;
  let bestEntry: Waiting<T> | undefined;
  for (const heap of heaps) {
    const entry = heap.first();
    if (entry === undefined || (bestEntry !== undefined && !goesBefore(entry, bestEntry))) continue;
    best = heap;
    bestEntry = entry;
  }
  return best;
}
