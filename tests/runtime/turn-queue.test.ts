import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { LedgerTurn } from "../../src/kernel/ledger.ts";
import { TurnQueue } from "../../src/runtime/admission/turn-queue.ts";

function turn(turn_id: string, role_id: string, priority = 0): LedgerTurn {
  return { turn_id, seat: { type: "worker", role_id }, priority, attempt: 1, run: 1, status: "offered" };
}

const ID = fc.nat(30).map(String);
const ROLE = fc.nat(3).map(String);
const EVENT = fc.oneof(
  fc.record({ do: fc.constant("add" as const), id: ID, role: ROLE, priority: fc.nat(3) }),
  fc.record({ do: fc.constant("remove" as const), id: ID }),
  fc.record({ do: fc.constant("take" as const), busy: ROLE }),
);

type Event = typeof EVENT extends fc.Arbitrary<infer E> ? E : never;
type Queue = Pick<TurnQueue, "add" | "remove" | "take" | "size">;

/** A queue too simple to be wrong. */
function sortedList(): Queue {
  let sorted: LedgerTurn[] = [];
  const list = {
    get size() {
      return sorted.length;
    },
    add(added: LedgerTurn) {
      list.remove(added.turn_id);
      sorted = [...sorted, added].sort((a, b) => a.priority - b.priority);
    },
    remove(turn_id: string) {
      sorted = sorted.filter((one) => one.turn_id !== turn_id);
    },
    take(fits: (turn: LedgerTurn) => boolean) {
      const first = sorted.find(fits);
      if (first) list.remove(first.turn_id);
      return first;
    },
  };
  return list;
}

/** What was taken, and how many waited, after each event. */
function trace(queue: Queue, events: readonly Event[]): unknown[] {
  return events.map((event) => {
    if (event.do === "take") return [queue.take(({ seat }) => seat.role_id !== event.busy)?.turn_id, queue.size];
    if (event.do === "remove") queue.remove(event.id);
    else queue.add(turn(event.id, event.role, event.priority));
    return queue.size;
  });
}

test("gives turns by priority, then in the order added, past those that do not fit", () => {
  fc.assert(
    fc.property(fc.array(EVENT, { maxLength: 120, size: "max" }), (events) => {
      expect(trace(new TurnQueue(), events)).toEqual(trace(sortedList(), events));
    }),
    { numRuns: 200 },
  );
});

test("asks once for each kind of seats", () => {
  const queue = new TurnQueue();
  for (let each = 0; each < 10_000; each++) queue.add(turn(`t${each}`, "busy"));
  queue.add(turn("last", "free", 9));
  const asked: string[] = [];
  const fits = ({ turn_id, seat }: LedgerTurn) => asked.push(turn_id) > 0 && seat.role_id === "free";
  expect(queue.take(fits)?.turn_id).toBe("last");
  expect(asked).toEqual(["t0", "last"]);
});

test("takes a turn from 100,000 about as fast as from 10,000", () => {
  const cost = (waiting: number): number => {
    const queue = new TurnQueue();
    for (let each = 0; each < waiting; each++) queue.add(turn(`t${each}`, `r${each % 3}`, each % 7));
    const started = performance.now();
    for (let each = 0; each < 2_000; each++) queue.take(() => true);
    return performance.now() - started;
  };
  const ratios = Array.from({ length: 5 }, () => cost(100_000) / cost(10_000));
  expect(Math.min(...ratios)).toBeLessThan(5);
});
