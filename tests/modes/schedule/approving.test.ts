import { describe, expect, it } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import { done, type Scene, troubled } from "./rig.ts";
import { APPROVED, CHANGES, COMPLETED, INSTRUCTION, type Task, task } from "./words.ts";

const ASK = { config: { plan_approval: "ask", max_escalations: 3 } } as const;
const REJECTED = { decision: "rejected", notes: "Not so" } as const;

const FIRST = [task("a"), task("b"), task("gone"), task("changed")];
const REVISED = [task("a"), task("b"), task("changed", { description: "Less" }), task("new", { dependencies: ["a"] })];

/** A revision waits for approval that answers the trouble of `a`, leaves out `gone`, changes `changed` and adds `new`. */
function waiting(options: { readonly config?: object; readonly input?: { readonly confirm: boolean } } = {}): Scene {
  const config = { ...ASK.config, ...options.config };
  return troubled({ ...options, config }, ...FIRST).says("a", "plan", { tasks: REVISED });
}

/** The notes and the plan that whoever has the turn is told of. */
function told(scene: Scene, subject?: string) {
  const { notes = [], plan_file } = scene.draft(subject).context;
  return [resolve(notes, scene.lookup), plan_file];
}

describe("a revised plan where plans are approved", () => {
  it("is not asked about when it adds nothing", () => {
    const revised = (...tasks: Task[]) => troubled(ASK, ...FIRST).says("a", "plan", { tasks });
    expect([revised(task("a")).phase, revised(task("a"), task("b")).open]).toEqual([
      "running",
      ["manager ticket a", "manager ticket b"],
    ]);
  });

  it("changes nothing while it is asked about, and what counts goes on", () => {
    const scene = troubled(ASK, ...FIRST);
    const plan = scene.state.session?.plan;
    scene.says("gone", "instruction", INSTRUCTION).admit("gone");
    const [{ history: _, turn: _turn, ...trouble }, gone] = [scene.ticket("a"), scene.ticket("gone")];
    scene.says("a", "plan", { tasks: REVISED });
    expect([scene.phase, scene.moved, scene.state.session?.plan]).toEqual(["approving", [], plan]);
    expect([scene.ticket("a"), scene.ticket("gone")]).toMatchObject([{ ...trouble, waits_for: "revision" }, gone]);
    expect(scene.open).toEqual([
      "ask approval a2",
      "manager ticket b",
      "manager ticket changed",
      "worker instruction gone",
    ]);
    const payload = { subject: "plan", ask_id: "a2", about: { plan: scene.sequence }, estimate: { tasks: 4 } };
    expect(scene.last.envelopes).toEqual([{ target: "user", payload_type: "approval_request", payload }]);
    expect(told(scene, "b")).toEqual([[], { $file: plan }]);
    expect(done(scene.says("gone", "report", COMPLETED).says("gone", "review", APPROVED), "b").status("b")).toBe(
      "done",
    );
  });

  it("is taken when it is approved", () => {
    const scene = waiting().says("changed", "instruction", INSTRUCTION).admit("changed");
    const plan = scene.state.session?.gate?.revision?.plan;
    expect(scene.person("approval", APPROVED).moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "a: blocked -replanned-> pending",
      "changed: in_progress -work_stopped-> blocked (replanned)",
      "changed: blocked -replanned-> pending",
      "new: nothing -created-> pending",
    ]);
    const cleared = scene.last.step.commands.filter((command) => command.do === "clear_ask");
    expect([scene.phase, scene.open, cleared]).toEqual([
      "running",
      ["manager ticket a", "manager ticket b", "manager ticket changed"],
      [{ do: "clear_ask", ask_id: "a2" }],
    ]);
    expect([scene.state.session?.plan, scene.ticket("new").since]).toEqual([plan, scene.ticket("a").since]);
  });

  it("takes nothing back that was done before it was approved, and a later one has that as it has it", () => {
    const scene = done(waiting(), "b", "gone", "changed").person("approval", APPROVED);
    expect(scene.moved).toEqual(["a: blocked -replanned-> pending", "new: nothing -created-> pending"]);
    scene.says("a", "instruction", INSTRUCTION).fails("a").says("a", "plan", { tasks: REVISED });
    expect([scene.refused, scene.moved]).toEqual([undefined, ["a: blocked -replanned-> pending"]]);
    done(scene, "a", "new");
    expect(scene.report.tickets).toEqual({ a: "done", b: "done", gone: "done", changed: "done", new: "done" });
  });

  it("does not begin again what was cancelled meanwhile, unless it changes it", () => {
    const scene = waiting().command("cancel", "a").command("cancel", "b").command("cancel", "changed");
    expect(scene.person("approval", APPROVED).moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "changed: error -manual_reset-> pending (replanned)",
      "new: nothing -created-> pending",
    ]);
  });

  it("that is rejected has changed nothing, and the manager is asked about the trouble again, with the person's words", () => {
    const scene = waiting();
    const [{ waits_for: _, ...trouble }, plan] = [scene.ticket("a"), scene.state.session?.plan];
    scene.person("approval", REJECTED);
    expect([scene.phase, scene.moved]).toEqual(["running", []]);
    const { turn } = scene.ticket("a");
    const history = [...(trouble.history ?? []), scene.sequence];
    expect(scene.ticket("a")).toEqual({ ...trouble, escalations: 2, turn, history });
    expect(scene.open).toEqual([
      "manager error a",
      "manager ticket b",
      "manager ticket changed",
      "manager ticket gone",
    ]);
    expect(told(scene, "a")).toEqual([["Not so"], { $file: plan }]);
    expect(scene.state.session?.gate).toBeUndefined();
  });

  it("comes to an end, however often it is rejected and brought again", () => {
    const scene = done(waiting(), "b", "gone", "changed").person("approval", REJECTED);
    const again = REVISED.map((one) => (one.task_id === "changed" ? task("changed") : one));
    const tasks = [...again, task("gone")];
    scene.says("a", "plan", { tasks }).person("approval", REJECTED).says("a", "plan", { tasks });
    expect(scene.person("approval", REJECTED).report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "error agent_failed", b: "done", gone: "done", changed: "done" },
    });
  });

  it("keeps the session open while it waits, though all else is over", () => {
    const scene = done(waiting(), "b", "gone", "changed").command("cancel", "a");
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a2"]]);
    expect(scene.person("approval", REJECTED).report.tickets).toEqual({
      a: "error cancelled",
      b: "done",
      gone: "done",
      changed: "done",
    });
  });

  it("takes the place of one that waits, and what waited for that one waits for it", () => {
    const scene = waiting().says("b", "instruction", INSTRUCTION).fails("b");
    // Whoever may plan again is shown what would be lost.
    const { plan } = scene.state.session?.gate?.revision ?? {};
    expect(told(scene, "b")).toEqual([[], { $file: plan }]);
    scene.says("b", "plan", { tasks: [...FIRST, task("other")] });
    expect([scene.phase, scene.moved, scene.open]).toEqual([
      "approving",
      [],
      ["ask approval a3", "manager ticket changed", "manager ticket gone"],
    ]);
    expect(scene.person("approval", { ...APPROVED, ask_id: "a2" }).refused).toBe("not_permitted");
    expect(scene.person("approval", APPROVED).moved).toEqual([
      "a: blocked -replanned-> pending",
      "b: blocked -replanned-> pending",
      "other: nothing -created-> pending",
    ]);
  });

  it("gives way to one that adds nothing, and to the person's own", () => {
    const scene = waiting().says("b", "instruction", INSTRUCTION).fails("b");
    scene.says("b", "plan", { tasks: FIRST });
    const moved = ["a: blocked -replanned-> pending", "b: blocked -replanned-> pending"];
    expect([scene.phase, scene.moved, scene.open.includes("ask approval a2")]).toEqual(["running", moved, false]);
    const own = waiting().person("plan", { tasks: [...FIRST, task("mine")] });
    expect([own.phase, own.moved]).toEqual(["running", [moved[0], "mine: nothing -created-> pending"]]);
  });

  it("may be edited, which approves what is left of it", () => {
    const scene = waiting().person("approval", { ...APPROVED, plan: { tasks: [task("a"), task("b"), task("mine")] } });
    expect([scene.phase, scene.moved.slice(-2), scene.state.tickets.has("new")]).toEqual([
      "running",
      ["a: blocked -replanned-> pending", "mine: nothing -created-> pending"],
      false,
    ]);
  });

  it("that is sent back is written again, by a manager who is shown it", () => {
    const scene = waiting();
    const { plan } = scene.state.session?.gate?.revision ?? {};
    scene.person("approval", { ...CHANGES, notes: "Smaller" });
    expect([scene.phase, scene.moved, told(scene)]).toEqual(["planning", [], [["Smaller"], { $file: plan }]]);
    done(scene, "b", "gone", "changed");
    expect(scene.open).toEqual(["manager requirement"]);
    scene.says(undefined, "plan", { tasks: [...FIRST, task("other")] });
    expect([scene.moved, scene.open]).toEqual([[], ["ask approval a3"]]);
    expect(scene.person("approval", APPROVED).open).toEqual(["manager ticket a", "manager ticket other"]);
    const less = waiting().person("approval", CHANGES).says(undefined, "plan", { tasks: FIRST });
    expect([less.phase, less.moved]).toEqual(["running", ["a: blocked -replanned-> pending"]]);
  });

  it("is written again as it is shown, though what it changes and leaves out was done meanwhile", () => {
    // What it changes has its place of the plan that counts.
    const tasks = [0, 1, 3, 2].flatMap((index) => REVISED[index] ?? []).concat(task("other"));
    const troubledTwice = () => done(waiting(), "gone", "changed").says("b", "instruction", INSTRUCTION).fails("b");
    const replaced = troubledTwice().says("b", "plan", { tasks });
    expect([replaced.refused, replaced.phase]).toEqual([undefined, "approving"]);
    // Also the one that takes its place is shown, sent back, edited and taken.
    const edited = { ...APPROVED, plan: { tasks: [...tasks, task("mine")] } };
    for (const scene of [
      done(waiting().person("approval", CHANGES), "gone", "changed").says(undefined, "plan", { tasks }),
      replaced.person("approval", CHANGES).says(undefined, "plan", { tasks }),
    ]) {
      expect([scene.refused, scene.phase]).toEqual([undefined, "approving"]);
      expect(scene.person("approval", edited).moved.at(-1)).toBe("mine: nothing -created-> pending");
      scene.says("a", "instruction", INSTRUCTION).fails("a").says("a", "plan", { tasks: edited.plan.tasks });
      expect([scene.refused, scene.moved]).toEqual([undefined, ["a: blocked -replanned-> pending"]]);
    }
    const rejected = troubledTwice().person("approval", REJECTED).says("b", "plan", { tasks });
    expect(rejected.refused).toBe("invalid_plan /tasks/3");
  });

  it("leaves alone what a person helped on meanwhile in another way", () => {
    const scene = troubled({ config: { ...ASK.config, max_review_rounds: 0 } }, task("b"), task("a"));
    scene.says("b", "instruction", INSTRUCTION).says("b", "report", COMPLETED).says("b", "review", CHANGES);
    scene.says("b", "plan", { tasks: [task("b"), task("a"), task("new")] }).command("retry", "b");
    expect(scene.moved).toEqual(["b: blocked -review_resumed-> awaiting_review"]);
    expect(scene.person("approval", APPROVED).moved).toEqual(["new: nothing -created-> pending"]);
    expect(scene.open).toEqual(["manager error a", "manager review_request b", "manager ticket new"]);
  });

  it("refuses a retry of what waits for it, and takes a word about that along", () => {
    const scene = waiting().command("retry", "a");
    expect([scene.refused, scene.ticket("a").waits_for]).toEqual(["not_permitted", "revision"]);
    scene.command("tell", "a", { text: "Mind it" }).person("approval", APPROVED);
    expect(told(scene, "a")[0]).toEqual(["Mind it"]);
  });

  it("waits through a stop", () => {
    const scene = waiting().stops("waiting");
    expect([scene.phase, scene.recovers().phase]).toEqual(["waiting", "approving"]);
    expect(scene.open).toContain("ask approval a2");
    expect(scene.person("approval", APPROVED).moved).toContain("new: nothing -created-> pending");
  });

  it("is nothing in a session that is cancelled", () => {
    const { report } = waiting().command("cancel");
    const error = "error cancelled";
    expect(report.tickets).toEqual({ a: error, b: error, gone: error, changed: error });
  });

  it("that a person asked for when they did not accept the result is rejected back to the result", () => {
    const scene = troubled({ ...ASK, input: { confirm: true } }, task("a")).says("a", "error", {
      code: "agent_failed",
      message: "No",
    });
    scene.person("approval", CHANGES).says(undefined, "plan", { tasks: [task("a"), task("new")] });
    expect([scene.phase, scene.open]).toEqual(["approving", ["ask approval a3"]]);
    expect([scene.person("approval", REJECTED).phase, scene.open]).toEqual(["approving", ["ask approval a4"]]);
    expect(scene.person("approval", APPROVED).report.ended).toBe("failed tickets_failed");
  });

  it("that brings a withdrawn task again is asked about, and begins it anew", () => {
    const scene = waiting().person("approval", APPROVED).says("a", "instruction", INSTRUCTION).fails("a");
    scene.says("a", "plan", { tasks: [...REVISED, task("gone")] });
    expect([scene.phase, scene.moved]).toEqual(["approving", []]);
    expect(scene.person("approval", APPROVED).moved).toEqual([
      "a: blocked -replanned-> pending",
      "gone: error -manual_reset-> pending (replanned)",
    ]);
  });
});
