import { describe, expect, it, test } from "vitest";
import { APPROVED, asking, CHANGES, COMPLETED, INSTRUCTION, Scene, type SceneOptions, task } from "./rig.ts";

const ASK = { config: { plan_approval: "ask" } } as const;

function done(scene: Scene, ...ids: readonly string[]): Scene {
  for (const id of ids) scene.says(id, "instruction", INSTRUCTION).says(id, "report", COMPLETED).says(id, "review", APPROVED);
  return scene;
}

/** The manager holds an error turn about `a`, the other tickets run. */
function troubled(options: SceneOptions, ...tasks: readonly Parameters<Scene["planned"]>[number][]): Scene {
  const scene = new Scene({ ...options, config: { max_retries: 0, ...options.config } }).planned(...tasks);
  if (scene.phase === "approving") scene.person("approval", APPROVED);
  return scene.says("a", "instruction", INSTRUCTION).fails("a");
}

describe("a plan that cannot stand", () => {
  test.each([
    ["one id twice", [task("a"), task("a")], "/tasks/1/task_id", 'task_id "a" is used twice'],
    ["an unknown dependency", [task("a"), task("b", { dependencies: ["a", "x"] })], "/tasks/1/dependencies/1", 'task "b" depends on "x", which is not in the plan'],
    ["a task that waits for itself", [task("a", { dependencies: ["a"] })], "/tasks", "the dependencies run in a circle: a -> a"],
    ["a circle", [task("z"), task("a", { dependencies: ["c", "z"] }), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] })], "/tasks", "the dependencies run in a circle: a -> c -> b -> a"],
    ["an unknown role", [task("a", { assigned_to: { role_id: "nobody" } })], "/tasks/0/assigned_to", 'task "a" is assigned to the worker "nobody", which this crew does not have'],
    ["a manager for a worker", [task("a", { assigned_to: { role_id: "boss" } })], "/tasks/0/assigned_to", 'task "a" is assigned to the worker "boss", which this crew does not have'],
    ["a capability nobody has", [task("a"), task("b", { assigned_to: { capability: "juggling" } })], "/tasks/1/assigned_to", 'task "b" is assigned to a worker with the capability "juggling", which this crew does not have'],
    ["nothing to check for a review by checks", [task("a", { review: "checks" })], "/tasks/0/acceptance_criteria", 'task "a" is reviewed by checks, but has no criterion with a command'],
  ])("%s is refused, with the place and the words, and asked for again", (_, tasks, pointer, message) => {
    const scene = new Scene().requirement().says(undefined, "plan", { tasks });
    expect([scene.refused, scene.last.step.refused?.message]).toEqual([`invalid_plan ${pointer}`, message]);
    expect([scene.phase, scene.state.tickets.size, scene.open]).toEqual(["planning", 0, ["manager requirement"]]);
    expect(scene.draft().context["refused"]).toMatchObject([{ payload_type: "plan", code: "invalid_plan", pointer }]);
  });

  it("stops the session when it comes too often", () => {
    const scene = new Scene({ config: { max_retries: 1 } }).requirement();
    const plan = { tasks: [task("a", { dependencies: ["a"] })] };
    scene.says(undefined, "plan", plan).says(undefined, "plan", plan);
    expect(scene.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
  });

  it("without tasks of its own (they were left in a file) is refused from a person too", () => {
    const scene = new Scene({ input: { plan_given: true } }).person("plan", { tasks_ref: { label: "plan", uri: "plan.json" } });
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
    expect([scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual(["running", ["manager ticket c"], ["c"]]);
    expect(scene.draft("c").context["notes"]).toEqual([{ $first: [{ $from: [scene.sequence, "/text"] }, { $from: [scene.sequence, "/notes"] }] }]);
  });

  it("validates an edited plan like the manager's, and goes on asking", () => {
    const scene = proposed("a").person("approval", { ...APPROVED, plan: { tasks: [task("c", { dependencies: ["c"] })] } });
    expect([scene.refused, scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual(["invalid_plan /tasks", "approving", ["ask approval a1"], ["a"]]);
  });

  it("sends a plan back with words, and takes the next one wholly", () => {
    const scene = proposed("a", "b").person("approval", { ...CHANGES, notes: "Smaller" });
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement"]]);
    expect(scene.draft().context["notes"]).toHaveLength(1);
    scene.says(undefined, "plan", { tasks: [task("c")] });
    expect([scene.phase, scene.open, [...scene.state.tickets.keys()]]).toEqual(["approving", ["ask approval a2"], ["c"]]);
  });

  it("lets the manager ask after its plan was sent back", () => {
    const scene = proposed("a").person("approval", CHANGES).says(undefined, "clarification", asking("q"));
    expect(scene.phase).toBe("clarifying");
    expect(scene.answers({ q: "So" }).says(undefined, "plan", { tasks: [task("b")] }).open).toEqual(["ask approval a3"]);
  });

  it("cancels the session with the first plan rejected", () => {
    expect(proposed("a").person("approval", { decision: "rejected" }).report).toMatchObject({ ended: "cancelled plan_rejected", tickets: { a: "error plan_rejected" } });
  });

  test.each([
    ["when nothing waits", () => new Scene(ASK).requirement(), APPROVED],
    ["of a plan that was just sent back", () => proposed("a").person("approval", CHANGES), APPROVED],
    ["of another plan than the one that waits", () => proposed("a").person("approval", CHANGES).says(undefined, "plan", { tasks: [task("b")] }), { ...APPROVED, ask_id: "a1" }],
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
    expect([scene.refused, scene.status("a"), scene.open]).toEqual(["not_permitted", "error (cancelled)", ["ask approval a1"]]);
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

  it("ends the manager's questions", () => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking("q")).person("plan", { tasks: [task("a")] });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket a"]]);
    expect(scene.answers({ q: "So" }).refused).toBe("validation_failed /answers/0/question_id");
  });
});

describe("a revised plan", () => {
  it("adds what is new, withdraws what is absent, starts again what changed and what it answers, and leaves the rest alone", () => {
    const scene = troubled({}, task("a"), task("gone"), task("changed"), task("same"));
    for (const id of ["changed", "same"]) scene.says(id, "instruction", INSTRUCTION).admit(id);
    const turn = scene.ticket("same").turn;
    scene.says("a", "plan", { tasks: [task("a"), task("changed", { description: "Less" }), task("same"), task("new", { dependencies: ["a"] })] });
    expect(scene.moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "a: blocked -replanned-> pending",
      "changed: in_progress -work_stopped-> blocked (replanned)",
      "changed: blocked -replanned-> pending",
      "new: nothing -created-> pending",
    ]);
    expect(scene.open).toEqual(["manager ticket a", "manager ticket changed", "worker instruction same"]);
    expect(scene.ticket("same").turn).toEqual(turn);
    expect(scene.ticket("changed").attempt).toBe(1);
  });

  it("leaves a ticket in trouble of its own to its own retries", () => {
    const scene = troubled({ config: { max_retries: 1 } }, task("a"), task("b"));
    scene.says("b", "instruction", INSTRUCTION).fails("b").fires("retry:a").fails("a");
    scene.says("a", "plan", { tasks: [task("a"), task("b")] });
    expect([scene.moved, scene.status("b")]).toEqual([["a: blocked -replanned-> pending"], "blocked (agent_failed)"]);
    expect(scene.fires("retry:b").open).toEqual(["manager ticket a", "worker instruction b"]);
  });

  it.each([
    ["changes", [task("a"), task("b", { description: "Else" })], "invalid_plan /tasks/1"],
    ["forgets", [task("a")], "invalid_plan /tasks"],
  ])("that %s a done task is refused", (_, tasks, refused) => {
    const scene = done(new Scene().planned(task("a"), task("b")), "b").says("a", "instruction", INSTRUCTION);
    scene.says("a", "report", { status: "blocked" }).says("a", "plan", { tasks });
    expect([scene.refused, scene.moved, scene.open]).toEqual([refused, [], ["manager error a"]]);
  });

  it("may echo a done task with its status", () => {
    const scene = done(troubled({}, task("a"), task("b")), "b").says("a", "plan", { tasks: [task("a"), task("b", { status: "done" })] });
    expect(scene.last.disposition).toBe("applied");
  });

  it("does not bring back what was given up or cancelled, unless it changes it", () => {
    const scene = troubled({}, task("a"), task("b"), task("c")).command("cancel", "b").command("cancel", "c");
    scene.says("a", "plan", { tasks: [task("a"), task("b"), task("c", { description: "Else" })] });
    expect(scene.moved).toEqual(["a: blocked -replanned-> pending", "c: error -manual_reset-> pending (replanned)"]);
  });

  it("does not renew the escalations of what it answers, so that they come to an end", () => {
    const scene = troubled({}, task("a"));
    for (let round = 0; round < 2; round++) scene.says("a", "plan", { tasks: [task("a")] }).says("a", "instruction", INSTRUCTION).fails("a");
    expect(scene.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error agent_failed" } });
  });

  it("may end the session, when all that is left is done", () => {
    const scene = done(troubled({}, task("a"), task("b")), "b").says("a", "plan", { tasks: [task("b")] });
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "error withdrawn", b: "done" } });
  });
});

describe("a revised plan where plans are approved", () => {
  const revised = (...ids: string[]) => troubled(ASK, task("a"), task("b")).says("a", "plan", { tasks: ids.map((id) => task(id)) });

  it("is not asked about when it adds nothing", () => {
    expect([revised("a").phase, revised("a", "b").open]).toEqual(["running", ["manager ticket a", "manager ticket b"]]);
  });

  it("is asked about when it adds tasks, while the others go on", () => {
    const scene = revised("a", "b", "c");
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a2", "manager ticket a", "manager ticket b"]]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.person("approval", APPROVED).open).toEqual(["manager ticket b", "manager ticket c", "worker instruction a"]);
  });

  it("that is rejected withdraws what it added, and the rest goes on", () => {
    const scene = revised("a", "b", "c").person("approval", { decision: "rejected" });
    expect([scene.phase, scene.moved, scene.open]).toEqual(["running", ["c: pending -withdrawn-> error (withdrawn)"], ["manager ticket a", "manager ticket b"]]);
  });

  it("that brings a rejected task again is asked about again", () => {
    const scene = revised("a", "b", "c").person("approval", { decision: "rejected" }).says("a", "instruction", INSTRUCTION).fails("a");
    scene.says("a", "plan", { tasks: [task("a"), task("b"), task("c")] });
    expect([scene.moved, scene.phase, scene.open.includes("manager ticket c")]).toEqual([
      ["a: blocked -replanned-> pending", "c: error -manual_reset-> pending (replanned)"],
      "approving",
      false,
    ]);
  });

  it("that comes while another waits takes its place, and changes nothing about who has to be asked", () => {
    const scene = revised("a", "b", "c").says("b", "instruction", INSTRUCTION).fails("b");
    scene.says("b", "plan", { tasks: [task("a"), task("b"), task("c", { description: "Else" })] });
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a3", "manager ticket a", "manager ticket b"]]);
    expect(scene.person("approval", APPROVED).open).toContain("manager ticket c");
  });

  it("may be edited, which approves what is left of it", () => {
    const scene = revised("a", "b", "c", "d").person("approval", { ...APPROVED, plan: { tasks: [task("a"), task("b"), task("c")] } });
    expect([scene.phase, scene.open]).toEqual(["running", ["manager ticket a", "manager ticket b", "manager ticket c"]]);
    expect(scene.status("d")).toBe("error (withdrawn)");
  });

  it("that is sent back is written again as a revision of what runs", () => {
    const scene = revised("a", "b", "c").person("approval", CHANGES);
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager requirement", "manager ticket a", "manager ticket b"]]);
    scene.says(undefined, "plan", { tasks: [task("a"), task("b"), task("d")] });
    expect([scene.moved, scene.open]).toEqual([["c: pending -withdrawn-> error (withdrawn)", "d: nothing -created-> pending"], ["ask approval a3", "manager ticket a", "manager ticket b"]]);
  });

  it("keeps the session open while it waits, though all else is over", () => {
    const scene = done(revised("a", "b", "c"), "a", "b");
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a2"]]);
    expect(scene.person("approval", { decision: "rejected" }).report).toMatchObject({ ended: "done", tickets: { c: "error withdrawn" } });
  });

  it("can be rejected after one of its tasks was cancelled", () => {
    const scene = revised("a", "b", "c", "d").command("cancel", "c").person("approval", { decision: "rejected" });
    expect([scene.moved, scene.phase]).toEqual([["d: pending -withdrawn-> error (withdrawn)"], "running"]);
  });
});
