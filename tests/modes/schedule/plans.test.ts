import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { Json } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { Scene } from "./rig.ts";
import { APPROVED, asking, CHANGES, task } from "./words.ts";

/** An id of the most characters there may be. */
const long = (index: number) => `t${index}-`.padEnd(64, "x");

const HAND: Role = { role_id: "hand", type: "worker", backend: "scripted" };

const ASK = { config: { plan_approval: "ask" } } as const;

describe("a plan that cannot stand", () => {
  test.each([
    ["one id twice", [task("a"), task("a")], "/tasks/1/task_id", 'task_id "a" is used twice'],
    [
      "an unknown dependency",
      [task("a"), task("b", { dependencies: ["a", "x"] })],
      "/tasks/1/dependencies/1",
      'task "b" depends on "x", which is not in the plan',
    ],
    [
      "a task that waits for itself",
      [task("a", { dependencies: ["a"] })],
      "/tasks",
      "the dependencies run in a circle: a -> a",
    ],
    [
      "a circle",
      [
        task("z"),
        task("a", { dependencies: ["c", "z"] }),
        task("b", { dependencies: ["a"] }),
        task("c", { dependencies: ["b"] }),
      ],
      "/tasks",
      "the dependencies run in a circle: a -> c -> b -> a",
    ],
    [
      "an unknown role",
      [task("a", { assigned_to: { role_id: "nobody" } })],
      "/tasks/0/assigned_to",
      'task "a" is assigned to the worker "nobody", which this crew does not have',
    ],
    [
      "a manager for a worker",
      [task("a", { assigned_to: { role_id: "boss" } })],
      "/tasks/0/assigned_to",
      'task "a" is assigned to the worker "boss", which this crew does not have',
    ],
    [
      "a capability nobody has",
      [task("a"), task("b", { assigned_to: { capability: "juggling" } })],
      "/tasks/1/assigned_to",
      'task "b" is assigned to a worker with the capability "juggling", which this crew does not have',
    ],
    [
      "nothing to check for a review by checks",
      [task("a", { review: "checks" })],
      "/tasks/0/acceptance_criteria",
      'task "a" is reviewed by checks, but has no criterion with a command',
    ],
    [
      "a budget of no turn",
      [task("a", { budget: { turns: 0 } })],
      "/tasks/0/budget/turns",
      'the budget of task "a" allows no turn at all',
    ],
    [
      "a budget of what is not counted by task",
      [task("a", { budget: { turns: 0, usd: 1 } })],
      "/tasks/0/budget/usd",
      'the budget of task "a" is in usd, which are not counted by task',
    ],
  ])("%s is refused, with the place and the words, and asked for again", (_, tasks, pointer, message) => {
    const scene = new Scene().requirement().says(undefined, "plan", { tasks });
    expect([scene.refused, scene.last.step.refused?.message]).toEqual([`invalid_plan ${pointer}`, message]);
    expect([scene.phase, scene.state.tickets.size, scene.open]).toEqual(["planning", 0, ["manager requirement"]]);
    expect(scene.draft().context["refused"]).toMatchObject([{ payload_type: "plan", code: "invalid_plan", pointer }]);
  });

  it.each([
    [
      "a circle of many tasks",
      Array.from({ length: 3_000 }, (_, index) => task(long(index), { dependencies: [long((index + 1) % 3_000)] })),
    ],
    ["an unknown role among very many", [task("a", { assigned_to: { role_id: "nobody" } })]],
  ])("is put again in a request that fits its schema: %s", (_, tasks) => {
    const workers = Array.from({ length: 400 }, (_one, index): Role => ({ ...HAND, role_id: long(index) }));
    const roles: Role[] = [{ ...HAND, role_id: "boss", type: "manager" }, ...workers];
    const scene = new Scene({ roles }).requirement().says(undefined, "plan", { tasks });
    expect(scene.refused).toContain("invalid_plan /tasks");
    // The scene holds every request against its schema.
    const [admitted] = scene.admit().records.slice(-1);
    expect(admitted?.payload["context"]).toMatchObject({ refused: [{ payload_type: "plan", code: "invalid_plan" }] });
  });

  it("stops the session when it comes too often", () => {
    const scene = new Scene({ config: { max_retries: 1 } }).requirement();
    const plan = { tasks: [task("a", { dependencies: ["a"] })] };
    scene.says(undefined, "plan", plan).says(undefined, "plan", plan);
    expect(scene.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
    const resumed = scene.stops("manager_failed").recovers();
    expect(resumed.draft().context["refused"]).toMatchObject([{ payload_type: "plan", code: "invalid_plan" }]);
  });

  it("without tasks of its own (they were left in a file) is refused from a person too", () => {
    const scene = new Scene({ input: { plan_given: true } }).person("plan", {
      tasks_ref: { label: "plan", uri: "plan.json" },
    });
    expect(scene.refused).toBe("invalid_plan /tasks");
  });
});

describe("the plan gate", () => {
  const proposed = (...ids: string[]) => new Scene(ASK).planned(...ids.map((id) => task(id)));

  it("asks the person before anything begins", () => {
    const scene = proposed("a", "b");
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a1"]]);
    const payload = { subject: "plan", ask_id: "a1", about: { plan: scene.sequence }, estimate: { tasks: 2 } };
    expect(scene.last.envelopes).toEqual([{ target: "user", payload_type: "approval_request", payload }]);
  });

  it("is not there where approval is never asked for, nor for a plan of the person's own", () => {
    expect(new Scene().planned(task("a")).phase).toBe("running");
    const given = new Scene({ ...ASK, input: { plan_given: true } }).requirement();
    expect(given.engine.ledger.turns.size).toBe(0);
    expect([given.person("plan", { tasks: [task("a")] }).phase, given.open]).toEqual(["running", ["manager ticket a"]]);
  });

  it("opens with approval", () => {
    const scene = proposed("a").person("approval", { ...APPROVED, ask_id: "a1" });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket a"]]);
  });

  it("takes an edited plan instead, with the person's words", () => {
    const scene = proposed("a", "b").person("approval", { ...APPROVED, notes: "Only c", plan: { tasks: [task("c")] } });
    expect([scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual([
      "running",
      ["manager ticket c"],
      ["c"],
    ]);
    expect(scene.draft("c").context["notes"]).toEqual([
      { $first: [{ $from: [scene.sequence, "/text"] }, { $from: [scene.sequence, "/notes"] }] },
    ]);
    expect(resolve(scene.draft("c").context["ticket"] as Json, scene.lookup)).toMatchObject({ task: task("c") });
  });

  it("takes no plan that comes with another word than approval, and keeps all that was said", () => {
    const plan = { tasks: [task("c")] };
    const scene = proposed("a", "b").command("tell", undefined, { text: "Hurry" });
    scene.person("approval", { ...CHANGES, notes: "Like this", plan });
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement"]]);
    scene.says(undefined, "plan", plan).person("approval", { ...APPROVED, notes: "Now", plan });
    expect(resolve(scene.draft("c").context["notes"] as Json, scene.lookup)).toEqual(["Hurry", "Like this", "Now"]);
    expect(proposed("a").person("approval", { decision: "rejected", plan }).report.ended).toBe(
      "cancelled plan_rejected",
    );
  });

  it("validates an edited plan like the manager's, and goes on asking", () => {
    const scene = proposed("a").person("approval", {
      ...APPROVED,
      plan: { tasks: [task("c", { dependencies: ["c"] })] },
    });
    expect([scene.refused, scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual([
      "invalid_plan /tasks",
      "approving",
      ["ask approval a1"],
      ["a"],
    ]);
  });

  it("sends a plan back with words, and takes the next one wholly", () => {
    const scene = proposed("a", "b").person("approval", { ...CHANGES, notes: "Smaller" });
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement"]]);
    expect(scene.draft().context["notes"]).toHaveLength(1);
    scene.says(undefined, "plan", { tasks: [task("c")] });
    expect([scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual([
      "approving",
      ["ask approval a2"],
      ["c"],
    ]);
  });

  it("lets the manager ask after its plan was sent back", () => {
    const scene = proposed("a").person("approval", CHANGES).says(undefined, "clarification", asking("q"));
    expect(scene.phase).toBe("clarifying");
    expect(scene.answers({ q: "So" }).says(undefined, "plan", { tasks: [task("b")] }).open).toEqual([
      "ask approval a3",
    ]);
  });

  it("cancels the session with the first plan rejected", () => {
    expect(proposed("a").person("approval", { decision: "rejected" }).report).toMatchObject({
      ended: "cancelled plan_rejected",
      tickets: { a: "error plan_rejected" },
      // To try again what somebody has just refused is nothing to propose.
      whole: { next_steps: ["bosun log"] },
    });
  });

  test.each([
    ["when nothing waits", () => new Scene(ASK).requirement(), APPROVED],
    ["of a plan that was just sent back", () => proposed("a").person("approval", CHANGES), APPROVED],
    [
      "of another plan than the one that waits",
      () =>
        proposed("a")
          .person("approval", CHANGES)
          .says(undefined, "plan", { tasks: [task("b")] }),
      { ...APPROVED, ask_id: "a1" },
    ],
  ])("refuses approval %s", (_, make, payload) => {
    const scene = make();
    const open = scene.open;
    scene.person("approval", payload);
    expect([scene.refused, scene.open]).toEqual(["not_permitted", open]);
  });

  it("gives way to a plan of the person's own", () => {
    const scene = proposed("a").person("plan", { tasks: [task("b")] });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket b"]]);
  });

  it("waits through a stop", () => {
    const scene = proposed("a").stops("waiting");
    expect([scene.phase, scene.recovers().phase, scene.open]).toEqual(["waiting", "approving", ["ask approval a1"]]);
  });

  it("lets nothing of an unapproved plan be tried again behind its back", () => {
    const scene = proposed("a", "b").command("cancel", "a").command("retry", "a");
    expect([scene.refused, scene.status("a"), scene.open]).toEqual([
      "not_permitted",
      "error (cancelled)",
      ["ask approval a1"],
    ]);
  });
});

describe("a plan of the person's own", () => {
  it("takes the place of the manager's turn, whose answer is late", () => {
    const scene = new Scene().requirement().admit();
    const turn = { turn_id: "t2", attempt: 1, run: 1 };
    expect(scene.person("plan", { tasks: [task("mine")] }).open).toEqual(["manager ticket mine"]);
    scene.fact("boss", "plan", { tasks: [task("theirs")] }, { turn });
    expect([scene.last.disposition, [...scene.state.tickets.keys()]]).toEqual(["late", ["mine"]]);
  });

  it("that cannot stand leaves the manager at work", () => {
    const scene = new Scene().requirement().person("plan", { tasks: [task("a", { dependencies: ["a"] })] });
    expect([scene.refused, scene.open]).toEqual(["invalid_plan /tasks", ["manager requirement"]]);
  });

  it("is refused where the session's state does not take it, and changes nothing", () => {
    const scene = new Scene().planned(task("a")).stops();
    const before = JSON.stringify([...scene.state.tickets]);
    expect(scene.person("plan", { tasks: [task("b")] }).refused).toBe("not_permitted");
    expect([scene.phase, JSON.stringify([...scene.state.tickets]), scene.last.step.commands]).toEqual([
      "stopped",
      before,
      [],
    ]);
  });

  it("ends the manager's questions", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "clarification", asking("q"))
      .person("plan", { tasks: [task("a")] });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket a"]]);
    expect(scene.answers({ q: "So" }).refused).toBe("validation_failed /answers/0/question_id");
  });
});
