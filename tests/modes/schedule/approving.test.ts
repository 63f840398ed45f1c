import { describe, expect, it } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import { APPROVED, CHANGES, escalated, runs, schedule, type ScheduleSession, task, type Task } from "./session.ts";

const ASK = { config: { plan_approval: "ask", max_escalations: 3 } } as const;
const REJECTED = { decision: "rejected", notes: "Not so" } as const;

const FIRST = [task("a"), task("b"), task("gone"), task("changed")];
const REVISED = [task("a"), task("b"), task("changed", { description: "Less" }), task("new", { dependencies: ["a"] })];

/** A revision waits for approval: it answers the escalation of `a`, leaves out `gone`, changes `changed` and adds `new`. */
function waiting(
  options: { readonly config?: object; readonly input?: { readonly confirm: boolean } } = {},
): ScheduleSession {
  const config = { ...ASK.config, ...options.config };
  return escalated({ ...options, config }, ...FIRST).replan("a", ...REVISED);
}

/** The notes and the plan in the context of a turn. */
function told(session: ScheduleSession, subject?: string) {
  const { notes = [], plan_file } = session.draft(subject).context;
  return [resolve(notes, session.lookup), plan_file];
}

describe("a revision that needs approval", () => {
  it("is applied at once if it adds nothing", () => {
    const revised = (...tasks: Task[]) => escalated(ASK, ...FIRST).replan("a", ...tasks);
    expect([revised(task("a")).phase, revised(task("a"), task("b")).open]).toEqual([
      "running",
      ["manager ticket a", "manager ticket b"],
    ]);
  });

  it("changes nothing while it waits, and work goes on", () => {
    const session = escalated(ASK, ...FIRST);
    const plan = session.state.session?.plan;
    session.instruct("gone").admit("gone");
    const [{ history: _, turn: _turn, ...trouble }, gone] = [session.ticket("a"), session.ticket("gone")];
    session.replan("a", ...REVISED);
    expect([session.phase, session.moved, session.state.session?.plan]).toEqual(["approving", [], plan]);
    expect([session.ticket("a"), session.ticket("gone")]).toMatchObject([{ ...trouble, waits_for: "revision" }, gone]);
    expect(session.open).toEqual([
      "ask approval a2",
      "manager ticket b",
      "manager ticket changed",
      "worker instruction gone",
    ]);
    const payload = { subject: "plan", ask_id: "a2", about: { plan: session.sequence }, estimate: { tasks: 4 } };
    expect(session.last.envelopes).toEqual([{ target: "user", payload_type: "approval_request", payload }]);
    expect(told(session, "b")).toEqual([[], { $file: plan }]);
    expect(session.deliver("gone").approve("gone").complete("b").status("b")).toBe("done");
  });

  it("is applied when it is approved", () => {
    const session = waiting().instruct("changed").admit("changed");
    const plan = session.state.session?.gate?.revision?.plan;
    expect(session.send("approval", APPROVED).moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "a: blocked -replanned-> pending",
      "changed: in_progress -work_stopped-> blocked (replanned)",
      "changed: blocked -replanned-> pending",
      "new: nothing -created-> pending",
    ]);
    const cleared = session.last.step.commands.filter((command) => command.do === "clear_ask");
    expect([session.phase, session.open, cleared]).toEqual([
      "running",
      ["manager ticket a", "manager ticket b", "manager ticket changed"],
      [{ do: "clear_ask", ask_id: "a2" }],
    ]);
    expect([session.state.session?.plan, session.ticket("new").since]).toEqual([plan, session.ticket("a").since]);
  });

  it("takes nothing back that was done meanwhile, nor does a later one", () => {
    const session = waiting().complete("b", "gone", "changed").send("approval", APPROVED);
    expect(session.moved).toEqual(["a: blocked -replanned-> pending", "new: nothing -created-> pending"]);
    session
      .instruct("a")
      .fail("a")
      .replan("a", ...REVISED);
    expect([session.refused, session.moved]).toEqual([undefined, ["a: blocked -replanned-> pending"]]);
    session.complete("a", "new");
    expect(session.report.tickets).toEqual({ a: "done", b: "done", gone: "done", changed: "done", new: "done" });
  });

  it("does not restart what was cancelled meanwhile, unless it changes it", () => {
    const session = waiting().command("cancel", "a").command("cancel", "b").command("cancel", "changed");
    expect(session.send("approval", APPROVED).moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "changed: error -manual_reset-> pending (replanned)",
      "new: nothing -created-> pending",
    ]);
  });

  it("changes nothing if it is rejected, and the ticket escalates with the notes", () => {
    const session = waiting();
    const [{ waits_for: _, ...trouble }, plan] = [session.ticket("a"), session.state.session?.plan];
    session.send("approval", REJECTED);
    expect([session.phase, session.moved]).toEqual(["running", []]);
    const { turn } = session.ticket("a");
    const history = [...(trouble.history ?? []), session.sequence];
    expect(session.ticket("a")).toEqual({ ...trouble, escalations: 2, turn, history });
    expect(session.open).toEqual([
      "manager error a",
      "manager ticket b",
      "manager ticket changed",
      "manager ticket gone",
    ]);
    expect(told(session, "a")).toEqual([["Not so"], { $file: plan }]);
    expect(session.state.session?.gate).toBeUndefined();
  });

  it("cannot be rejected and sent again forever", () => {
    const session = waiting().complete("b", "gone", "changed").send("approval", REJECTED);
    const again = REVISED.map((one) => (one.task_id === "changed" ? task("changed") : one));
    const tasks = [...again, task("gone")];
    session
      .replan("a", ...tasks)
      .send("approval", REJECTED)
      .replan("a", ...tasks);
    expect(session.send("approval", REJECTED).report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "error agent_failed", b: "done", gone: "done", changed: "done" },
    });
  });

  it("keeps the session open while it waits", () => {
    const session = waiting().complete("b", "gone", "changed").command("cancel", "a");
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a2"]]);
    expect(session.send("approval", REJECTED).report.tickets).toEqual({
      a: "error cancelled",
      b: "done",
      gone: "done",
      changed: "done",
    });
  });

  it("replaces one that waits, with the tickets that wait for it", () => {
    const session = waiting().instruct("b").fail("b");
    // A manager that may plan again is shown the waiting revision.
    const { plan } = session.state.session?.gate?.revision ?? {};
    expect(told(session, "b")).toEqual([[], { $file: plan }]);
    session.replan("b", ...FIRST, task("other"));
    expect([session.phase, session.moved, session.open]).toEqual([
      "approving",
      [],
      ["ask approval a3", "manager ticket changed", "manager ticket gone"],
    ]);
    expect(session.send("approval", { ...APPROVED, ask_id: "a2" }).refused).toBe("not_permitted");
    expect(session.send("approval", APPROVED).moved).toEqual([
      "a: blocked -replanned-> pending",
      "b: blocked -replanned-> pending",
      "other: nothing -created-> pending",
    ]);
  });

  it("gives way to one that adds nothing, and to a person's own plan", () => {
    const session = waiting().instruct("b").fail("b");
    session.replan("b", ...FIRST);
    const moved = ["a: blocked -replanned-> pending", "b: blocked -replanned-> pending"];
    expect([session.phase, session.moved, session.open.includes("ask approval a2")]).toEqual(["running", moved, false]);
    const own = waiting().send("plan", { tasks: [...FIRST, task("mine")] });
    expect([own.phase, own.moved]).toEqual(["running", [moved[0], "mine: nothing -created-> pending"]]);
  });

  it("may be edited in the approval", () => {
    const session = waiting().send("approval", { ...APPROVED, plan: { tasks: [task("a"), task("b"), task("mine")] } });
    expect([session.phase, session.moved.slice(-2), session.state.tickets.has("new")]).toEqual([
      "running",
      ["a: blocked -replanned-> pending", "mine: nothing -created-> pending"],
      false,
    ]);
  });

  it("is shown to the manager when it is sent back", () => {
    const session = waiting();
    const { plan } = session.state.session?.gate?.revision ?? {};
    session.send("approval", { ...CHANGES, notes: "Smaller" });
    expect([session.phase, session.moved, told(session)]).toEqual(["planning", [], [["Smaller"], { $file: plan }]]);
    session.complete("b", "gone", "changed");
    expect(session.open).toEqual(["manager requirement"]);
    session.replan(undefined, ...FIRST, task("other"));
    expect([session.moved, session.open]).toEqual([[], ["ask approval a3"]]);
    expect(session.send("approval", APPROVED).open).toEqual(["manager ticket a", "manager ticket other"]);
    const less = waiting()
      .send("approval", CHANGES)
      .replan(undefined, ...FIRST);
    expect([less.phase, less.moved]).toEqual(["running", ["a: blocked -replanned-> pending"]]);
  });

  it("may be sent again as shown, though its tickets were done meanwhile", () => {
    // The revision, with `changed` last.
    const tasks = [0, 1, 3, 2].flatMap((index) => REVISED[index] ?? []).concat(task("other"));
    const troubledTwice = () => waiting().complete("gone", "changed").instruct("b").fail("b");
    const replaced = troubledTwice().replan("b", ...tasks);
    expect([replaced.refused, replaced.phase]).toEqual([undefined, "approving"]);
    // The same holds for the revision that replaces it.
    const edited = { ...APPROVED, plan: { tasks: [...tasks, task("mine")] } };
    for (const session of [
      waiting()
        .send("approval", CHANGES)
        .complete("gone", "changed")
        .replan(undefined, ...tasks),
      replaced.send("approval", CHANGES).replan(undefined, ...tasks),
    ]) {
      expect([session.refused, session.phase]).toEqual([undefined, "approving"]);
      expect(session.send("approval", edited).moved.at(-1)).toBe("mine: nothing -created-> pending");
      session.instruct("a").fail("a").answer("a", "plan", { tasks: edited.plan.tasks });
      expect([session.refused, session.moved]).toEqual([undefined, ["a: blocked -replanned-> pending"]]);
    }
    const rejected = troubledTwice()
      .send("approval", REJECTED)
      .replan("b", ...tasks);
    expect(rejected.refused).toBe("invalid_plan /tasks/3");
  });

  it("leaves a ticket alone that a person retried meanwhile", () => {
    const session = escalated({ config: { ...ASK.config, max_review_rounds: 0 } }, task("b"), task("a"));
    session.instruct("b").deliver("b").sendBack("b");
    session.replan("b", task("b"), task("a"), task("new")).command("retry", "b");
    expect(session.moved).toEqual(["b: blocked -review_resumed-> awaiting_review"]);
    expect(session.send("approval", APPROVED).moved).toEqual(["new: nothing -created-> pending"]);
    expect(session.open).toEqual(["manager error a", "manager review_request b", "manager ticket new"]);
  });

  it("keeps a ticket that waits for it from being retried, but takes notes for it", () => {
    const session = waiting().command("retry", "a");
    expect([session.refused, session.ticket("a").waits_for]).toEqual(["not_permitted", "revision"]);
    session.command("tell", "a", { text: "Mind it" }).send("approval", APPROVED);
    expect(told(session, "a")[0]).toEqual(["Mind it"]);
  });

  it("stays through a stop", () => {
    const session = waiting().stop("waiting");
    expect([session.phase, session.recover().phase]).toEqual(["waiting", "approving"]);
    expect(session.open).toContain("ask approval a2");
    expect(session.send("approval", APPROVED).moved).toContain("new: nothing -created-> pending");
  });

  it("goes with a cancelled session", () => {
    const { report } = waiting().command("cancel");
    const error = "error cancelled";
    expect(report.tickets).toEqual({ a: error, b: error, gone: error, changed: error });
  });

  it("returns to the result's approval if it is rejected there", () => {
    const session = escalated({ ...ASK, input: { confirm: true } }, task("a")).giveUp("a");
    session.send("approval", CHANGES).replan(undefined, task("a"), task("new"));
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a3"]]);
    expect([session.send("approval", REJECTED).phase, session.open]).toEqual(["approving", ["ask approval a4"]]);
    expect(session.send("approval", APPROVED).report.ended).toBe("failed tickets_failed");
  });

  it("needs approval to restart a withdrawn task", () => {
    const session = waiting().send("approval", APPROVED).instruct("a").fail("a");
    session.replan("a", ...REVISED, task("gone"));
    expect([session.phase, session.moved]).toEqual(["approving", []]);
    expect(session.send("approval", APPROVED).moved).toEqual([
      "a: blocked -replanned-> pending",
      "gone: error -manual_reset-> pending (replanned)",
    ]);
  });
});

describe("the checks of a plan", () => {
  const checked = (id: string, word: string) => task(id, { acceptance_criteria: [runs(word)] });
  const commandsRun = (session: ScheduleSession) =>
    session.last.step.commands.flatMap((command) => {
      if (command.do !== "run_checks") return [];
      return [[command.check_id, command.criteria.map((one) => resolve(one, session.lookup))]];
    });

  it("run on the base once it is approved, and not before", () => {
    const session = schedule({ ...ASK, copies: true }).plan(checked("a", "one"), checked("b", "two"), task("c"));
    expect(commandsRun(session)).toEqual([]);
    session.send("approval", APPROVED);
    expect(commandsRun(session)).toEqual([["kbase4", [runs("one"), runs("two")]]]);
    expect(session.open).toContain("manager ticket a");
  });

  it("of a revision run if they are new", () => {
    const session = schedule({ copies: true }).plan(checked("a", "one"), task("b")).instruct("b").fail("b");
    session.fireTimer("retry:b").fail("b").fireTimer("retry:b").fail("b");
    session.replan("b", checked("a", "one"), checked("b", "two"));
    expect(commandsRun(session)).toEqual([[`kbase${session.sequence}`, [runs("two")]]]);
  });

  it("do not run if nothing is left to do", () => {
    const session = schedule({ config: { max_attempts: 2, max_retries: 0 }, copies: true }).plan(task("a"), task("b"));
    session.instruct("a").fail("a").instruct("a").fail("a").instruct("b").fail("b");
    // The plan leaves out b, and a has no attempt left.
    session.replan("b", checked("a", "one"));
    expect([session.phase, commandsRun(session), session.open]).toEqual(["closed", [], []]);
  });

  it("do not run without copies", () => {
    expect(commandsRun(schedule().plan(checked("a", "one")))).toEqual([]);
  });
});
