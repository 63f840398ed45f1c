import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Claim, DispatchQueue, Offer } from "../../src/store/queue.ts";

const ANY = () => true;

/** What every implementation of `DispatchQueue` must do. */
export function queueContract(name: string, open: () => DispatchQueue<string>): void {
  describe(`${name}: the queue's contract`, () => {
    const offer = (queue: DispatchQueue<string>, id: string, key = "worker", priority = 0, body = id) =>
      queue.offer({ id, key, priority, body });
    const claimed = (queue: DispatchQueue<string>, limit = Infinity, accepts: (key: string) => boolean = ANY) =>
      queue.claim({ limit, accepts }).map((claim) => claim.id);

    test("the lowest priority number goes first, and among equals who was offered first", () => {
      const queue = open();
      offer(queue, "c", "worker", 2);
      offer(queue, "a", "worker", 1);
      offer(queue, "d", "manager", 2);
      offer(queue, "b", "manager", 1);
      expect(claimed(queue)).toEqual(["a", "b", "c", "d"]);
      expect(queue.size()).toEqual({ waiting: 0, claimed: 4 });
    });

    test("a claim brings what was offered, and takes no more than asked for", () => {
      const queue = open();
      offer(queue, "a", "worker", 1, "the work");
      offer(queue, "b");
      expect(claimed(queue, 0)).toEqual([]);
      expect(queue.claim({ limit: 1, accepts: ANY })).toMatchObject([
        { id: "b", key: "worker", priority: 0, body: "b" },
      ]);
      expect(queue.claim({ limit: 1, accepts: ANY })).toMatchObject([{ id: "a", priority: 1, body: "the work" }]);
      expect(queue.claim({ limit: 1, accepts: ANY })).toEqual([]);
    });

    test("nobody gets what another has claimed", () => {
      const queue = open();
      offer(queue, "a");
      expect(claimed(queue)).toEqual(["a"]);
      expect(claimed(queue)).toEqual([]);
      expect(queue.size()).toEqual({ waiting: 0, claimed: 1 });
    });

    test("a key that is not accepted is left whole, and is asked for again the next time", () => {
      const queue = open();
      for (const id of ["w1", "w2"]) offer(queue, id, "worker", 0);
      for (const id of ["m1", "m2"]) offer(queue, id, "manager", 9);
      expect(claimed(queue, 4, (key) => key !== "worker")).toEqual(["m1", "m2"]);
      expect(claimed(queue)).toEqual(["w1", "w2"]);
    });

    test("a key is asked for before each of its claims, so that what was just claimed can count", () => {
      const queue = open();
      for (const id of ["w1", "w2", "w3"]) offer(queue, id, "worker");
      offer(queue, "m1", "manager");
      let free = 2;
      const accepts = (key: string) => key === "manager" || free-- > 0;
      expect(claimed(queue, 9, accepts)).toEqual(["w1", "w2", "m1"]);
    });

    test("however many wait for one key, it is asked for once when it is refused, and another's turn comes", () => {
      const queue = open();
      for (let each = 0; each < 10_000; each++) offer(queue, `w${each}`, "worker", 0);
      offer(queue, "m", "manager", 9);
      const asked: string[] = [];
      const accepts = (key: string) => asked.push(key) > 0 && key === "manager";
      expect(claimed(queue, 5, accepts)).toEqual(["m"]);
      expect(asked).toEqual(["worker", "manager"]);
    });

    test("ten times as many waiting do not make a claim ten times as dear", () => {
      const cost = (waiting: number): number => {
        const queue = open();
        for (let each = 0; each < waiting; each++) offer(queue, `w${each}`, `k${each % 3}`, each % 7);
        const started = performance.now();
        for (let each = 0; each < 2_000; each++) claimed(queue, 1);
        return performance.now() - started;
      };
      const ratios = Array.from({ length: 5 }, () => cost(100_000) / cost(10_000));
      expect(Math.min(...ratios)).toBeLessThan(5);
    });

    test("a settled claim is over, and settling it again is stale", () => {
      const queue = open();
      offer(queue, "a");
      const [claim] = queue.claim({ limit: 1, accepts: ANY });
      const fence = claim?.fence ?? -1;
      expect(queue.heartbeat("a", fence)).toBe("applied");
      expect(queue.settle("a", fence + 1)).toBe("stale");
      expect(queue.settle("a", fence)).toBe("applied");
      expect(queue.settle("a", fence)).toBe("stale");
      expect(queue.heartbeat("a", fence)).toBe("stale");
      expect(queue.settle("never offered", 1)).toBe("stale");
      expect(queue.size()).toEqual({ waiting: 0, claimed: 0 });
    });

    test("what is withdrawn is not claimed, and a claim that was withdrawn is stale", () => {
      const queue = open();
      offer(queue, "a");
      offer(queue, "b");
      expect(queue.withdraw("a")).toBe("waiting");
      const [claim] = queue.claim({ limit: 9, accepts: ANY });
      expect(claim?.id).toBe("b");
      expect(queue.withdraw("b")).toBe("claimed");
      expect(queue.settle("b", claim?.fence ?? -1)).toBe("stale");
      expect(queue.withdraw("b")).toBe("unknown");
      expect(queue.withdraw("never offered")).toBe("unknown");
      expect(queue.size()).toEqual({ waiting: 0, claimed: 0 });
    });

    test("what is offered again while it waits moves to its new place", () => {
      const queue = open();
      offer(queue, "a", "worker", 1);
      offer(queue, "b", "worker", 1);
      offer(queue, "a", "manager", 1, "changed");
      expect(queue.size()).toEqual({ waiting: 2, claimed: 0 });
      expect(queue.claim({ limit: 9, accepts: ANY })).toMatchObject([
        { id: "b" },
        { id: "a", key: "manager", body: "changed" },
      ]);
    });

    test("what is offered again while it is claimed waits again under a higher fence, and the old claim is stale", () => {
      const queue = open();
      offer(queue, "a");
      const [first] = queue.claim({ limit: 1, accepts: ANY });
      offer(queue, "a");
      expect(queue.size()).toEqual({ waiting: 1, claimed: 0 });
      expect(queue.heartbeat("a", first?.fence ?? -1)).toBe("stale");
      const [second] = queue.claim({ limit: 1, accepts: ANY });
      expect(second?.fence).toBeGreaterThan(first?.fence ?? Infinity);
      expect(queue.settle("a", first?.fence ?? -1)).toBe("stale");
      expect(queue.settle("a", second?.fence ?? -1)).toBe("applied");
    });

    test("in any order of events it does what a plain sorted list would", () => {
      fc.assert(
        fc.property(fc.array(EVENT, { maxLength: 120, size: "max" }), (events) => {
          expect(trace(open(), events)).toEqual(trace(sortedList(), events));
        }),
        { numRuns: 200 },
      );
    });
  });
}

const ID = fc.nat(30).map(String);
const KEY = fc.nat(3).map(String);
const EVENT = fc.oneof(
  fc.record({ do: fc.constant("offer" as const), id: ID, key: KEY, priority: fc.nat(3) }),
  fc.record({ do: fc.constant("withdraw" as const), id: ID }),
  fc.record({ do: fc.constant("claim" as const), limit: fc.nat(4), refused: KEY }),
  fc.record({ do: fc.constant("settle" as const), id: ID }),
);
type Event = typeof EVENT extends fc.Arbitrary<infer E> ? E : never;

/** What a queue answers to each event, and its size after it. */
function trace(queue: DispatchQueue<string>, events: readonly Event[]): unknown[] {
  const fences = new Map<string, number>();
  return events.map((event) => [answer(queue, event, fences), queue.size()]);
}

function answer(queue: DispatchQueue<string>, event: Event, fences: Map<string, number>): string | Claim<string>[] {
  if (event.do === "withdraw") return queue.withdraw(event.id);
  if (event.do === "settle") return queue.settle(event.id, fences.get(event.id) ?? 0);
  if (event.do === "offer") {
    queue.offer({ id: event.id, key: event.key, priority: event.priority, body: event.id });
    return "offered";
  }
  const claims = queue.claim({ limit: event.limit, accepts: (key) => key !== event.refused });
  for (const claim of claims) fences.set(claim.id, claim.fence);
  return claims;
}

/** A queue that is too simple to be wrong, and too slow to be used. */
function sortedList(): DispatchQueue<string> {
  const waiting: Offer<string>[] = [];
  const claims = new Map<string, number>();
  let fence = 0;
  const counts = (id: string, claim: number) => (claims.get(id) === claim ? "applied" : "stale");
  const queue: DispatchQueue<string> = {
    offer(offer) {
      queue.withdraw(offer.id);
      const at = waiting.findIndex((other) => other.priority > offer.priority);
      waiting.splice(at === -1 ? waiting.length : at, 0, offer);
    },
    withdraw(id) {
      const at = waiting.findIndex((other) => other.id === id);
      if (at === -1) return claims.delete(id) ? "claimed" : "unknown";
      waiting.splice(at, 1);
      return "waiting";
    },
    claim({ limit, accepts }) {
      const taken = waiting.filter((offer) => accepts(offer.key)).slice(0, limit);
      return taken.map((offer) => {
        queue.withdraw(offer.id);
        fence += 1;
        claims.set(offer.id, fence);
        return { ...offer, fence };
      });
    },
    heartbeat: counts,
    settle(id, claim) {
      const outcome = counts(id, claim);
      if (outcome === "applied") claims.delete(id);
      return outcome;
    },
    size: () => ({ waiting: waiting.length, claimed: claims.size }),
  };
  return queue;
}
