import { describe, expect, it } from "vitest";
import { done, Scene, troubled } from "./rig.ts";
import { asking, INSTRUCTION, task } from "./words.ts";

describe("a revised plan", () => {
  it("adds what is new, withdraws what is absent, starts again what changed and what it answers, and leaves the rest alone", () => {
    const scene = troubled({}, task("a"), task("gone"), task("changed"), task("same"));
    for (const id of ["changed", "same"]) scene.says(id, "instruction", INSTRUCTION).admit(id);
    const turn = scene.ticket("same").turn;
    scene.says("a", "plan", {
      tasks: [task("a"), task("changed", { description: "Less" }), task("same"), task("new", { dependencies: ["a"] })],
    });
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

  it("leaves alone what the one before left out and a person took up again, also when it is done", () => {
    const patient = { config: { max_escalations: 3 } };
    const scene = troubled(patient, task("a"), task("b")).says("a", "plan", { tasks: [task("a")] });
    scene.command("retry", "b").says("a", "instruction", INSTRUCTION).fails("a");
    scene.says("a", "plan", { tasks: [task("a")] });
    expect([scene.moved, scene.status("b")]).toEqual([["a: blocked -replanned-> pending"], "pending"]);
    done(scene, "b").says("a", "instruction", INSTRUCTION).fails("a");
    expect(scene.says("a", "plan", { tasks: [task("a", { description: "Less" })] }).refused).toBeUndefined();
    scene.says("a", "instruction", INSTRUCTION).fails("a");
    expect([scene.status("a"), scene.status("b")]).toEqual(["error (agent_failed)", "done"]);
  });

  it("withdraws what a person took up again where it answers the trouble of that very task", () => {
    const scene = troubled({}, task("a"), task("b")).says("a", "plan", { tasks: [task("a")] });
    scene
      .command("retry", "b")
      .says("b", "instruction", INSTRUCTION)
      .fails("b")
      .says("b", "plan", { tasks: [task("a")] });
    expect(scene.moved).toEqual(["b: blocked -withdrawn-> error (withdrawn)"]);
  });

  it("may take in again what a person had done after one before left it out", () => {
    const scene = troubled({}, task("a"), task("b")).says("a", "plan", { tasks: [task("a")] });
    done(scene.command("retry", "b"), "b").says("a", "instruction", INSTRUCTION).fails("a");
    scene.says("a", "plan", { tasks: [task("a"), task("b"), task("c", { dependencies: ["b"] })] });
    expect([scene.refused, scene.open]).toEqual([undefined, ["manager ticket a", "manager ticket c"]]);
  });

  it("counts what it takes in again as planned: another that leaves it out withdraws it", () => {
    const patient = { config: { max_escalations: 3 } };
    const scene = troubled(patient, task("a"), task("b")).says("a", "plan", { tasks: [task("a")] });
    scene.command("retry", "b").says("a", "instruction", INSTRUCTION).fails("a");
    scene.says("a", "plan", { tasks: [task("a"), task("b")] });
    expect(scene.moved).toEqual(["a: blocked -replanned-> pending"]);
    scene
      .says("a", "instruction", INSTRUCTION)
      .fails("a")
      .says("a", "plan", { tasks: [task("a")] });
    expect(scene.moved).toContain("b: pending -withdrawn-> error (withdrawn)");
  });

  it("leaves one that it does not change with the question that a person has not answered yet", () => {
    const scene = troubled({}, task("a"), task("b")).says("b", "clarification", asking("q"));
    scene.says("a", "plan", { tasks: [task("a"), task("b")] });
    expect(scene.open).toEqual(["ask questions c1", "manager ticket a"]);
    expect(scene.answers({ q: "So" }).open).toEqual(["manager ticket a", "manager ticket b"]);
  });

  it("leaves what it starts again all that it has lived through", () => {
    const scene = troubled({}, task("a"), task("b")).says("a", "clarification", asking("q")).answers({ q: "So" });
    const { history, attempt, escalations, clarifications } = scene.ticket("a");
    scene.says("a", "plan", { tasks: [task("a", { description: "Less" }), task("b")] });
    const lived = { history: [...(history ?? []), scene.sequence], attempt, escalations, clarifications };
    expect(scene.ticket("a")).toMatchObject(lived);
    expect([history?.length, attempt, escalations, clarifications]).toEqual([4, 1, 1, ["c1"]]);
  });

  it("changes one that was not begun where it stands, and puts it anew", () => {
    const scene = troubled({}, task("a"), task("b"), task("c", { dependencies: ["b"] })).admit("b");
    const before = scene.ticket("b").turn?.turn_id;
    scene.says("a", "plan", {
      tasks: [task("a"), task("b", { description: "Less" }), task("c", { description: "Less", dependencies: ["b"] })],
    });
    expect([scene.moved, scene.open]).toEqual([
      ["a: blocked -replanned-> pending"],
      ["manager ticket a", "manager ticket b"],
    ]);
    expect(scene.last.step.commands).toContainEqual(expect.objectContaining({ do: "withdraw_turn", turn_id: before }));
    expect(scene.draft("b").context["ticket"]).toMatchObject({ task: { $from: [scene.sequence, "/tasks/1"] } });
  });

  it("puts its tickets in its own order, the done ones and those at work, too", () => {
    const scene = done(troubled({}, task("a"), task("b"), task("c")), "c").says("b", "instruction", INSTRUCTION);
    scene.says("a", "plan", { tasks: [task("new"), task("c"), task("b"), task("a")] });
    expect(scene.engine.mode.view(scene.state).subjects.map(({ id }) => id)).toEqual(["new", "c", "b", "a"]);
    expect(Object.keys(done(scene.command("cancel", "b"), "new", "a").report.tickets)).toEqual(["new", "c", "b", "a"]);
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
    const scene = done(troubled({}, task("a"), task("b")), "b").says("a", "plan", {
      tasks: [task("a"), task("b", { status: "done" })],
    });
    expect(scene.last.disposition).toBe("applied");
  });

  it("does not bring back what was given up or cancelled, unless it changes it", () => {
    const scene = troubled({}, task("a"), task("b"), task("c")).command("cancel", "b").command("cancel", "c");
    scene.says("a", "plan", { tasks: [task("a"), task("b"), task("c", { description: "Else" })] });
    expect(scene.moved).toEqual(["a: blocked -replanned-> pending", "c: error -manual_reset-> pending (replanned)"]);
  });

  it("does not renew the escalations of what it answers, so that they come to an end", () => {
    const scene = troubled({}, task("a"));
    for (let round = 0; round < 2; round++)
      scene
        .says("a", "plan", { tasks: [task("a")] })
        .says("a", "instruction", INSTRUCTION)
        .fails("a");
    expect(scene.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error agent_failed" } });
  });

  it("may free a ticket from one that was given up", () => {
    const scene = troubled({}, task("a"), task("b"), task("c", { dependencies: ["b"] })).says("b", "error", {
      code: "agent_failed",
      message: "No",
    });
    expect([...scene.state.blockedByError]).toEqual(["c"]);
    scene.says("a", "plan", { tasks: [task("a"), task("b"), task("c")] });
    expect([[...scene.state.blockedByError], scene.open]).toEqual([[], ["manager ticket a", "manager ticket c"]]);
  });

  it("does not put off the look at what takes long", () => {
    const scene = troubled({}, task("a")).says("a", "plan", { tasks: [task("a"), task("b")] });
    expect(scene.last.step.commands.filter((command) => command.do === "set_timer")).toEqual([]);
  });

  it("may end the session, when all that is left is done", () => {
    const scene = done(troubled({}, task("a"), task("b")), "b").says("a", "plan", { tasks: [task("b")] });
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "error withdrawn", b: "done" } });
  });
});
