import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { Json } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { APPROVED, CHANGES, schedule, task } from "./session.ts";

/** An id of the greatest length. */
const long = (index: number) => `t${index}-`.padEnd(64, "x");

const HAND: Role = { role_id: "hand", type: "worker", backend: "scripted" };

const ASK = { config: { plan_approval: "ask" } } as const;

describe("an invalid plan", () => {
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
      "the dependencies form a cycle: a -> a",
    ],
    [
      "a cycle",
      [
        task("z"),
        task("a", { dependencies: ["c", "z"] }),
        task("b", { dependencies: ["a"] }),
        task("c", { dependencies: ["b"] }),
      ],
      "/tasks",
      "the dependencies form a cycle: a -> c -> b -> a",
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
  ])("with %s is refused, and the manager is asked again", (_, tasks, pointer, message) => {
    const session = schedule().plan(...tasks);
    expect([session.refused, session.last.step.refused?.message]).toEqual([`invalid_plan ${pointer}`, message]);
    expect([session.phase, session.state.tickets.size, session.open]).toEqual(["planning", 0, ["manager requirement"]]);
    expect(session.draft().context["refused"]).toMatchObject([{ payload_type: "plan", code: "invalid_plan", pointer }]);
  });

  it.each([
    [
      "a cycle of many tasks",
      Array.from({ length: 3_000 }, (_, index) => task(long(index), { dependencies: [long((index + 1) % 3_000)] })),
    ],
    ["an unknown role among very many", [task("a", { assigned_to: { role_id: "nobody" } })]],
  ])("leads to a request that fits its schema: %s", (_, tasks) => {
    const workers = Array.from({ length: 400 }, (_one, index): Role => ({ ...HAND, role_id: long(index) }));
    const roles: Role[] = [{ ...HAND, role_id: "boss", type: "manager" }, ...workers];
    const session = schedule({ roles }).plan(...tasks);
    expect(session.refused).toContain("invalid_plan /tasks");
    // `admit` checks the request against its schema.
    const [admitted] = session.admit().records.slice(-1);
    expect(admitted?.payload["context"]).toMatchObject({ refused: [{ payload_type: "plan", code: "invalid_plan" }] });
  });

  it("stops the session when it is sent too often", () => {
    const session = schedule({ config: { max_retries: 1 } }).requirement();
    const plan = { tasks: [task("a", { dependencies: ["a"] })] };
    session.answer(undefined, "plan", plan).answer(undefined, "plan", plan);
    expect(session.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
    const resumed = session.stop("manager_failed").recover();
    expect(resumed.draft().context["refused"]).toMatchObject([{ payload_type: "plan", code: "invalid_plan" }]);
  });

  it("without tasks is refused from a person too", () => {
    const session = schedule({ input: { plan_given: true } }).send("plan", {
      tasks_ref: { label: "plan", uri: "plan.json" },
    });
    expect(session.refused).toBe("invalid_plan /tasks");
  });
});

describe("the plan gate", () => {
  const proposed = (...ids: string[]) => schedule(ASK).plan(...ids.map((id) => task(id)));

  it("asks a person before anything begins", () => {
    const session = proposed("a", "b");
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a1"]]);
    const payload = { subject: "plan", ask_id: "a1", about: { plan: session.sequence }, estimate: { tasks: 2 } };
    expect(session.last.envelopes).toEqual([{ target: "user", payload_type: "approval_request", payload }]);
  });

  it("is not used if approval is off, nor for a person's own plan", () => {
    expect(schedule().plan(task("a")).phase).toBe("running");
    const given = schedule({ ...ASK, input: { plan_given: true } }).requirement();
    expect(given.engine.ledger.turns.size).toBe(0);
    expect([given.send("plan", { tasks: [task("a")] }).phase, given.open]).toEqual(["running", ["manager ticket a"]]);
  });

  it("is used for a person's plan that was made of a list of another program, once", () => {
    const gated = (format: string) => {
      const input = { plan_given: true, plan_source: { format, file: "a.md" } };
      return schedule({ ...ASK, input })
        .requirement()
        .send("plan", { tasks: [task("a")] });
    };
    expect([gated("plan_file").phase, gated("markdown").phase, gated("markdown").open]).toEqual([
      "running",
      "approving",
      ["ask approval a1"],
    ]);
    const edited = gated("markdown").send("approval", { ...APPROVED, plan: { tasks: [task("b")] } });
    expect([edited.phase, edited.open]).toEqual(["running", ["manager ticket b"]]);
    const sent_back = gated("markdown").send("approval", { ...CHANGES, notes: "Smaller" });
    expect([sent_back.phase, sent_back.open]).toEqual(["planning", ["manager requirement"]]);
    expect(sent_back.replan(undefined, task("c")).phase).toBe("approving");
  });

  it("opens with approval", () => {
    const session = proposed("a").send("approval", { ...APPROVED, ask_id: "a1" });
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket a"]]);
  });

  it("takes an edited plan with its notes", () => {
    const session = proposed("a", "b").send("approval", { ...APPROVED, notes: "Only c", plan: { tasks: [task("c")] } });
    expect([session.phase, session.open, [...session.state.tickets.keys()]]).toEqual([
      "running",
      ["manager ticket c"],
      ["c"],
    ]);
    expect(session.draft("c").context["notes"]).toEqual([
      { $first: [{ $from: [session.sequence, "/text"] }, { $from: [session.sequence, "/notes"] }] },
    ]);
    expect(resolve(session.draft("c").context["ticket"] as Json, session.lookup)).toMatchObject({ task: task("c") });
  });

  it("takes no plan with another decision, and keeps all notes", () => {
    const plan = { tasks: [task("c")] };
    const session = proposed("a", "b").command("tell", undefined, { text: "Hurry" });
    session.send("approval", { ...CHANGES, notes: "Like this", plan });
    expect([session.phase, session.open]).toEqual(["planning", ["manager requirement"]]);
    session.answer(undefined, "plan", plan).send("approval", { ...APPROVED, notes: "Now", plan });
    expect(resolve(session.draft("c").context["notes"] as Json, session.lookup)).toEqual(["Hurry", "Like this", "Now"]);
    expect(proposed("a").send("approval", { decision: "rejected", plan }).report.ended).toBe("cancelled plan_rejected");
  });

  it("checks an edited plan, and keeps asking if it is invalid", () => {
    const session = proposed("a").send("approval", {
      ...APPROVED,
      plan: { tasks: [task("c", { dependencies: ["c"] })] },
    });
    expect([session.refused, session.phase, session.open, [...session.state.tickets.keys()]]).toEqual([
      "invalid_plan /tasks",
      "approving",
      ["ask approval a1"],
      ["a"],
    ]);
  });

  it("sends a plan back with notes, and replaces it by the next one", () => {
    const session = proposed("a", "b").send("approval", { ...CHANGES, notes: "Smaller" });
    expect([session.phase, session.open]).toEqual(["planning", ["manager requirement"]]);
    expect(session.draft().context["notes"]).toHaveLength(1);
    session.replan(undefined, task("c"));
    expect([session.phase, session.open, [...session.state.tickets.keys()]]).toEqual([
      "approving",
      ["ask approval a2"],
      ["c"],
    ]);
  });

  it("lets the manager ask questions after its plan was sent back", () => {
    const session = proposed("a").send("approval", CHANGES).ask(undefined, "q");
    expect(session.phase).toBe("clarifying");
    expect(session.answerQuestions({ q: "So" }).replan(undefined, task("b")).open).toEqual(["ask approval a3"]);
  });

  it("cancels the session if the first plan is rejected", () => {
    expect(proposed("a").send("approval", { decision: "rejected" }).report).toMatchObject({
      ended: "cancelled plan_rejected",
      tickets: { a: "error plan_rejected" },
      // A retry of what was just rejected is no next step.
      whole: { next_steps: ["bosun log"] },
    });
  });

  test.each([
    ["when nothing waits", () => schedule(ASK).requirement(), APPROVED],
    ["of a plan that was just sent back", () => proposed("a").send("approval", CHANGES), APPROVED],
    [
      "of another plan than the one that waits",
      () => proposed("a").send("approval", CHANGES).replan(undefined, task("b")),
      { ...APPROVED, ask_id: "a1" },
    ],
  ])("refuses approval %s", (_, make, payload) => {
    const session = make();
    const open = session.open;
    session.send("approval", payload);
    expect([session.refused, session.open]).toEqual(["not_permitted", open]);
  });

  it("starts a person's own plan instead of the proposed one", () => {
    const session = proposed("a").send("plan", { tasks: [task("b")] });
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket b"]]);
  });

  it("refuses to retry tickets of an unapproved plan", () => {
    const session = proposed("a", "b").command("cancel", "a").command("retry", "a");
    expect([session.refused, session.status("a"), session.open]).toEqual([
      "not_permitted",
      "error (cancelled)",
      ["ask approval a1"],
    ]);
  });
});

describe("a person's own plan", () => {
  it("withdraws the manager's turn, whose answer is then late", () => {
    const session = schedule().requirement().admit();
    const turn = { turn_id: "t2", attempt: 1, run: 1 };
    expect(session.send("plan", { tasks: [task("mine")] }).open).toEqual(["manager ticket mine"]);
    session.submit("boss", "plan", { tasks: [task("theirs")] }, { turn });
    expect([session.last.disposition, [...session.state.tickets.keys()]]).toEqual(["late", ["mine"]]);
  });

  it("leaves the manager at work if it is invalid", () => {
    const session = schedule()
      .requirement()
      .send("plan", { tasks: [task("a", { dependencies: ["a"] })] });
    expect([session.refused, session.open]).toEqual(["invalid_plan /tasks", ["manager requirement"]]);
  });

  it("is refused in a stopped session, and changes nothing", () => {
    const session = schedule().plan(task("a")).stop();
    const before = JSON.stringify([...session.state.tickets]);
    expect(session.send("plan", { tasks: [task("b")] }).refused).toBe("not_permitted");
    expect([session.phase, JSON.stringify([...session.state.tickets]), session.last.step.commands]).toEqual([
      "stopped",
      before,
      [],
    ]);
  });

  it("ends the manager's questions", () => {
    const session = schedule()
      .requirement()
      .ask(undefined, "q")
      .send("plan", { tasks: [task("a")] });
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket a"]]);
    expect(session.answerQuestions({ q: "So" }).refused).toBe("validation_failed /answers/0/question_id");
  });
});
