import { describe, expect, it } from "vitest";
import type { LedgerTurn } from "../../src/kernel/ledger.ts";
import type { Seat } from "../../src/kernel/mode.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { Dispatcher } from "../../src/runtime/admission/dispatcher.ts";
import { Seats } from "../../src/runtime/admission/seats.ts";

const WORKER: Seat = { type: "worker" };
const MANAGER: Seat = { type: "manager" };

function role(role_id: string, more: Partial<Role> = {}): Role {
  return { role_id, type: "worker", ...more };
}

function turn(turn_id: string, seat: Seat, more: Partial<LedgerTurn> = {}): LedgerTurn {
  return { turn_id, seat, priority: 3, attempt: 1, run: 1, status: "offered", ...more };
}

function desk(roles: readonly Role[], workers: number, held: ReadonlySet<string> = new Set()): Dispatcher {
  const capacity = { worker: workers, participant: workers, manager: Number.POSITIVE_INFINITY };
  return new Dispatcher(new Seats(roles, capacity, (role_id) => held.has(role_id)));
}

/** Admits as long as there is room; gives what was admitted, each with its role. */
function admitAll(dispatcher: Dispatcher): string[] {
  const admitted: string[] = [];
  for (let next = dispatcher.admit(); next; next = dispatcher.admit())
    admitted.push(`${next.turn.turn_id} ${next.role.role_id}`);
  return admitted;
}

describe("the dispatcher", () => {
  it("admits as many workers as the capacity allows", () => {
    const dispatcher = desk([role("a"), role("b"), role("c")], 2);
    for (const id of ["t1", "t2", "t3"]) dispatcher.offer(turn(id, WORKER, { subject: id }));
    expect(admitAll(dispatcher)).toEqual(["t1 a", "t2 b"]);
    expect(dispatcher.running).toBe(2);
    dispatcher.end("t1");
    expect(admitAll(dispatcher)).toEqual(["t3 a"]);
  });

  it("respects the instances of each role", () => {
    const roles = [
      role("boss", { type: "manager" }),
      role("solo", { supports_multiple_instances: false }),
      role("two", { max_instances: 2 }),
    ];
    const dispatcher = desk(roles, 9);
    for (const id of ["t1", "t2"]) dispatcher.offer(turn(id, MANAGER));
    for (const id of ["t3", "t4"]) dispatcher.offer(turn(id, { type: "worker", role_id: "solo" }));
    for (const id of ["t5", "t6", "t7"]) dispatcher.offer(turn(id, { type: "worker", role_id: "two" }));
    expect(admitAll(dispatcher)).toEqual(["t1 boss", "t3 solo", "t5 two", "t6 two"]);
    dispatcher.end("t1");
    dispatcher.end("t3");
    expect(admitAll(dispatcher)).toEqual(["t2 boss", "t4 solo"]);
  });

  it("prefers a reviewer of another program or account than the worker's", () => {
    const reviewer = (role_id: string, program: string, more: Partial<Role> = {}) =>
      role(role_id, {
        type: "participant",
        capabilities: ["review"],
        cli_command: [program],
        max_instances: 1,
        ...more,
      });
    const roles = [
      role("hand", { cli_command: ["/usr/bin/claude", "-x"], account: "acme" }),
      reviewer("alike", "claude"),
      reviewer("paid", "codex", { account: "acme" }),
      reviewer("other", "codex"),
    ];
    const dispatcher = desk(roles, 9);
    const seat: Seat = { type: "participant", capability: "review", unlike: "hand" };
    for (const id of ["t1", "t2", "t3"]) dispatcher.offer(turn(id, seat));
    expect(admitAll(dispatcher)).toEqual(["t1 other", "t2 alike", "t3 paid"]);
  });

  it("prefers other roles to the one that failed last", () => {
    const again: Seat = { ...WORKER, rather_not: "a" };
    const dispatcher = desk([role("a"), role("b", { max_instances: 1 })], 9);
    for (const id of ["t1", "t2"]) dispatcher.offer(turn(id, again, { subject: id }));
    dispatcher.offer(turn("t3", WORKER, { subject: "t3" }));
    expect(admitAll(dispatcher)).toEqual(["t1 b", "t2 a", "t3 a"]);
  });

  it("moves a reserved seat away from the role that failed last", () => {
    const dispatcher = desk([role("boss", { type: "manager" }), role("a"), role("b")], 1);
    dispatcher.offer(turn("ask", MANAGER, { subject: "x", reserve: WORKER }));
    expect(admitAll(dispatcher)).toEqual(["ask boss"]);
    dispatcher.offer(turn("first", WORKER, { subject: "x" }));
    dispatcher.end("ask");
    expect(admitAll(dispatcher)).toEqual(["first a"]);
    dispatcher.offer(turn("again", { ...WORKER, rather_not: "a" }, { subject: "x" }));
    dispatcher.end("first");
    expect(admitAll(dispatcher)).toEqual(["again b"]);
  });

  it("admits only roles with the capability", () => {
    const dispatcher = desk([role("plain"), role("painter", { capabilities: ["paint"] })], 4);
    dispatcher.offer(turn("t1", { type: "worker", capability: "paint" }));
    dispatcher.offer(turn("t2", { type: "worker", capability: "sing" }));
    expect(admitAll(dispatcher)).toEqual(["t1 painter"]);
  });

  it("admits by priority, then by age, skipping what does not fit", () => {
    const dispatcher = desk([role("boss", { type: "manager", max_instances: 9 }), role("hand")], 1);
    dispatcher.offer(turn("ticket", MANAGER, { priority: 5 }));
    dispatcher.offer(turn("review1", MANAGER, { priority: 1 }));
    dispatcher.offer(turn("error", MANAGER, { priority: 0 }));
    dispatcher.offer(turn("review2", MANAGER, { priority: 1 }));
    dispatcher.offer(turn("work1", WORKER, { priority: 0, subject: "x" }));
    dispatcher.offer(turn("work2", WORKER, { priority: 0, subject: "y" }));
    expect(admitAll(dispatcher).map((text) => text.split(" ")[0])).toEqual([
      "error",
      "work1",
      "review1",
      "review2",
      "ticket",
    ]);
  });

  it("gives each turn the smallest free slot", () => {
    const dispatcher = desk([role("a")], 3);
    for (const id of ["t1", "t2", "t3", "t4"]) dispatcher.offer(turn(id, WORKER, { subject: id }));
    expect([dispatcher.admit(), dispatcher.admit(), dispatcher.admit()].map((one) => one?.slot)).toEqual([1, 2, 3]);
    dispatcher.end("t2");
    expect(dispatcher.admit()?.slot).toBe(2);
  });

  it("admits no turn of a held role until it is released", () => {
    const held = new Set(["a"]);
    const dispatcher = desk([role("a"), role("b", { max_instances: 1 })], 4, held);
    for (const id of ["t1", "t2", "t3"]) dispatcher.offer(turn(id, WORKER, { subject: id }));
    expect(admitAll(dispatcher)).toEqual(["t1 b"]);
    held.delete("a");
    expect(admitAll(dispatcher)).toEqual(["t2 a", "t3 a"]);
  });

  it("admits 10,000 turns in order, each once", () => {
    const dispatcher = desk([role("a"), role("b")], 3);
    for (let n = 0; n < 10_000; n += 1) dispatcher.offer(turn(`t${n}`, WORKER, { subject: `s${n}`, priority: n % 5 }));
    for (let n = 0; n < 10_000; n += 7) dispatcher.end(`t${n}`);
    const admitted: number[] = [];
    for (let next = dispatcher.admit(); next; next = dispatcher.admit()) {
      admitted.push(Number(next.turn.turn_id.slice(1)));
      expect(dispatcher.running).toBeLessThanOrEqual(3);
      if (dispatcher.running === 3) dispatcher.end(next.turn.turn_id);
    }
    // Two stay; each that was third is ended at once.
    const wanted = Array.from({ length: 10_000 }, (_, n) => n)
      .filter((n) => n % 7 !== 0)
      .toSorted((x, y) => (x % 5) - (y % 5) || x - y);
    expect(admitted).toEqual(wanted);
  });
});

describe("a reserved seat", () => {
  const roles = [role("boss", { type: "manager", max_instances: 9 }), role("hand")];
  const asking = (subject: string) => turn(`ask-${subject}`, MANAGER, { subject, reserve: WORKER, priority: 5 });

  it("limits instruction turns to the number of workers", () => {
    const dispatcher = desk(roles, 2);
    for (const subject of ["x", "y", "z"]) dispatcher.offer(asking(subject));
    expect(admitAll(dispatcher)).toEqual(["ask-x boss", "ask-y boss"]);
  });

  it("is used by its subject's turn and free afterwards", () => {
    const dispatcher = desk(roles, 1);
    dispatcher.offer(asking("x"));
    expect(admitAll(dispatcher)).toEqual(["ask-x boss"]);
    dispatcher.offer(turn("other", WORKER, { subject: "y", priority: 0 }));
    dispatcher.offer(turn("work-x", WORKER, { subject: "x" }));
    expect(admitAll(dispatcher)).toEqual([]);
    dispatcher.end("ask-x");
    expect(admitAll(dispatcher)).toEqual(["work-x hand"]);
    dispatcher.end("work-x");
    expect(admitAll(dispatcher)).toEqual(["other hand"]);
  });

  it("is freed when no turn of its subject wants it", () => {
    const dispatcher = desk(roles, 1);
    dispatcher.offer(asking("x"));
    admitAll(dispatcher);
    dispatcher.offer(turn("other", WORKER, { subject: "y" }));
    dispatcher.end("ask-x");
    expect(admitAll(dispatcher)).toEqual(["other hand"]);
  });

  it("is not used while its role is held", () => {
    const held = new Set<string>();
    const dispatcher = desk(roles, 2, held);
    dispatcher.offer(asking("x"));
    admitAll(dispatcher);
    dispatcher.offer(turn("work-x", WORKER, { subject: "x" }));
    held.add("hand");
    dispatcher.end("ask-x");
    expect(admitAll(dispatcher)).toEqual([]);
    held.clear();
    expect(admitAll(dispatcher)).toEqual(["work-x hand"]);
  });

  it("does not give a turn to an unsuitable role", () => {
    const crew = [...roles, role("painter", { capabilities: ["paint"] })];
    const dispatcher = desk(crew, 2);
    dispatcher.offer(asking("x"));
    admitAll(dispatcher);
    dispatcher.offer(turn("paint-x", { type: "worker", capability: "paint" }, { subject: "x" }));
    dispatcher.end("ask-x");
    expect(admitAll(dispatcher)).toEqual(["paint-x painter"]);
  });
});

describe("a subject's next turn", () => {
  it("waits until the running turn has ended", () => {
    const dispatcher = desk([role("a")], 4);
    dispatcher.offer(turn("t1", WORKER, { subject: "x" }));
    admitAll(dispatcher);
    dispatcher.offer(turn("t2", WORKER, { subject: "x" }));
    expect(admitAll(dispatcher)).toEqual([]);
    dispatcher.end("t1");
    expect(admitAll(dispatcher)).toEqual(["t2 a"]);
  });

  it("is dropped when it is withdrawn while waiting", () => {
    const dispatcher = desk([role("a")], 4);
    dispatcher.offer(turn("t1", WORKER, { subject: "x" }));
    admitAll(dispatcher);
    dispatcher.offer(turn("t2", WORKER, { subject: "x" }));
    dispatcher.end("t2");
    dispatcher.end("t1");
    expect(admitAll(dispatcher)).toEqual([]);
    expect(dispatcher.running).toBe(0);
  });
});

describe("a role", () => {
  const roles = [role("boss", { type: "manager" }), role("hand", { capabilities: ["code"] }), role("eye")];
  const wanted = (dispatcher: Dispatcher) => ["boss", "hand", "eye", "nobody"].filter((id) => dispatcher.wants(id));

  it("is wanted while a waiting turn could use it", () => {
    const dispatcher = desk(roles, 4);
    expect(wanted(dispatcher)).toEqual([]);
    dispatcher.offer(turn("t1", MANAGER, { subject: "x", reserve: { type: "worker", capability: "code" } }));
    expect(wanted(dispatcher)).toEqual(["boss", "hand"]);
    admitAll(dispatcher);
    expect(wanted(dispatcher)).toEqual([]);
    dispatcher.offer(turn("t2", { type: "worker", role_id: "eye" }, { subject: "x" }));
    expect(wanted(dispatcher)).toEqual(["eye"]);
    dispatcher.end("t1");
    dispatcher.end("t2");
    expect(wanted(dispatcher)).toEqual([]);
  });
});
