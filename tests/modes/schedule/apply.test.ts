import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/lib/json.ts";
import { apply } from "../../../src/modes/schedule/apply.ts";
import { empty, type ScheduleState, type Ticket } from "../../../src/modes/schedule/state.ts";

/** Tickets that count how often they are read. */
class Counted extends Map<string, Ticket> {
  reads = 0;

  override get(id: string): Ticket | undefined {
    this.reads += 1;
    return super.get(id);
  }

  override values(): ReturnType<Map<string, Ticket>["values"]> {
    this.reads += this.size;
    return super.values();
  }
}

function put(state: ScheduleState, id: string, status: Ticket["status"], depends_on: readonly string[] = []): void {
  apply(state, { put: "ticket", id, value: { id, status, depends_on } as unknown as Json });
}

function numbered(count: number, letter: string): string[] {
  return Array.from({ length: count }, (_, n) => `${letter}${n}`);
}

describe("a plan that changes many tickets", () => {
  it.each<readonly [string, (state: ScheduleState, count: number) => () => void]>([
    [
      "with new dependencies, while as many wait for one in error",
      (state, count) => {
        for (const id of ["bad", "one", "other"]) put(state, id, "pending");
        for (const id of numbered(count, "y")) put(state, id, "pending", ["bad"]);
        for (const id of numbered(count, "x")) put(state, id, "pending", ["one"]);
        put(state, "bad", "error");
        return () => {
          for (const id of numbered(count, "x")) put(state, id, "pending", ["other"]);
          expect(state.blockedByError.size).toBe(count);
        };
      },
    ],
    [
      "that no longer wait for one in error",
      (state, count) => {
        for (const id of ["bad", "other"]) put(state, id, "pending");
        for (const id of numbered(count, "x")) put(state, id, "pending", ["bad"]);
        put(state, "bad", "error");
        return () => {
          for (const id of numbered(count, "x")) put(state, id, "pending", ["other"]);
          expect(state.blockedByError.size).toBe(0);
        };
      },
    ],
    [
      "that were withdrawn",
      (state, count) => {
        for (const id of numbered(count, "x")) put(state, id, "error");
        return () => {
          for (const id of numbered(count, "x")) put(state, id, "pending");
          expect(state.blockedByError.size).toBe(0);
        };
      },
    ],
  ])("takes time in proportion to them: %s", (_which, prepare) => {
    const reads = [100, 1_000].map((count) => {
      const tickets = new Counted();
      const change = prepare(Object.assign(empty(), { tickets }), count);
      tickets.reads = 0;
      change();
      return tickets.reads;
    });
    expect(reads[1]).toBeLessThan(12 * (reads[0] ?? 0));
  });

  it("may have 150,000 tickets that wait for one", () => {
    const state = empty();
    put(state, "bad", "pending");
    put(state, "hub", "pending", ["bad"]);
    for (const id of numbered(150_000, "x")) put(state, id, "pending", ["hub"]);
    put(state, "bad", "error");
    expect(state.blockedByError.size).toBe(150_001);
    // Quadratic time would exceed the test's limit by far.
    for (const id of numbered(150_000, "x").reverse()) put(state, id, "pending");
    expect(state.blockedByError.size).toBe(1);
  });
});

describe("a ticket that waits for one in error", () => {
  it("is free when that is retried, unless another blocks it", () => {
    const state = empty();
    for (const [id, depends_on] of [
      ["a", []],
      ["b", []],
      ["c", ["a"]],
      ["d", ["c"]],
      ["e", ["d", "b"]],
    ] as const)
      put(state, id, "pending", depends_on);
    for (const id of ["a", "b"]) put(state, id, "error");
    expect([...state.blockedByError].toSorted()).toEqual(["c", "d", "e"]);
    put(state, "a", "pending");
    expect([...state.blockedByError]).toEqual(["e"]);
    put(state, "c", "error", ["a"]);
    put(state, "a", "error");
    put(state, "b", "pending");
    put(state, "c", "pending", ["a"]);
    expect([...state.blockedByError].toSorted()).toEqual(["c", "d", "e"]);
    apply(state, { drop: "ticket", id: "a" });
    put(state, "c", "pending", []);
    expect([...state.blockedByError]).toEqual([]);
  });
});

describe("a ticket whose dependencies change", () => {
  it("waits for its new dependencies, and not for removed ones", () => {
    const state = empty();
    for (const id of ["a", "b", "c"]) put(state, id, "pending");
    put(state, "x", "pending", ["a", "b"]);
    put(state, "x", "pending", ["a", "c"]);
    put(state, "c", "done");
    expect(state.unmet.get("x")).toBe(1);
    put(state, "b", "error");
    expect([...state.blockedByError]).toEqual([]);
  });
});

describe("a ticket that is dropped", () => {
  it("is in no index", () => {
    const state = empty();
    put(state, "bad", "error");
    put(state, "a", "in_progress");
    put(state, "x", "pending", ["a", "bad"]);
    expect([...state.blockedByError]).toEqual(["x"]);
    for (const id of ["x", "a", "bad"]) apply(state, { drop: "ticket", id });
    const waiting = [...state.dependents.values()].flatMap((ids) => [...ids]);
    expect([waiting, [...state.underway], [...state.blockedByError], [...state.unmet]]).toEqual([[], [], [], []]);
    expect(new Set(state.counts.values())).toEqual(new Set([0]));
  });

  it("blocks no other", () => {
    const state = empty();
    put(state, "bad", "error");
    put(state, "x", "pending", ["bad"]);
    apply(state, { drop: "ticket", id: "bad" });
    expect([...state.blockedByError]).toEqual([]);
  });
});
