import { describe, expect, it } from "vitest";
import { escalated, schedule, task } from "./session.ts";

describe("a revised plan", () => {
  it("adds, withdraws and restarts tickets, and leaves the others alone", () => {
    const session = escalated({}, task("a"), task("gone"), task("changed"), task("same"));
    for (const id of ["changed", "same"]) session.instruct(id).admit(id);
    const turn = session.ticket("same").turn;
    session.replan(
      "a",
      task("a"),
      task("changed", { description: "Less" }),
      task("same"),
      task("new", { dependencies: ["a"] }),
    );
    expect(session.moved).toEqual([
      "gone: pending -withdrawn-> error (withdrawn)",
      "a: blocked -replanned-> pending",
      "changed: in_progress -work_stopped-> blocked (replanned)",
      "changed: blocked -replanned-> pending",
      "new: nothing -created-> pending",
    ]);
    expect(session.open).toEqual(["manager ticket a", "manager ticket changed", "worker instruction same"]);
    expect(session.ticket("same").turn).toEqual(turn);
    expect(session.ticket("changed").attempt).toBe(1);
  });

  it("leaves a ticket alone that a person retried after it was left out", () => {
    const patient = { config: { max_escalations: 3 } };
    const session = escalated(patient, task("a"), task("b")).replan("a", task("a"));
    session.command("retry", "b").instruct("a").fail("a");
    session.replan("a", task("a"));
    expect([session.moved, session.status("b")]).toEqual([["a: blocked -replanned-> pending"], "pending"]);
    session.complete("b").instruct("a").fail("a");
    expect(session.replan("a", task("a", { description: "Less" })).refused).toBeUndefined();
    session.instruct("a").fail("a");
    expect([session.status("a"), session.status("b")]).toEqual(["error (agent_failed)", "done"]);
  });

  it("withdraws a retried ticket if it answers that ticket's escalation", () => {
    const session = escalated({}, task("a"), task("b")).replan("a", task("a"));
    session.command("retry", "b").instruct("b").fail("b").replan("b", task("a"));
    expect(session.moved).toEqual(["b: blocked -withdrawn-> error (withdrawn)"]);
  });

  it("may contain a done task again that an earlier one left out", () => {
    const session = escalated({}, task("a"), task("b")).replan("a", task("a"));
    session.command("retry", "b").complete("b").instruct("a").fail("a");
    session.replan("a", task("a"), task("b"), task("c", { dependencies: ["b"] }));
    expect([session.refused, session.open]).toEqual([undefined, ["manager ticket a", "manager ticket c"]]);
  });

  it("takes a retried task in again, so that a later one can withdraw it", () => {
    const patient = { config: { max_escalations: 3 } };
    const session = escalated(patient, task("a"), task("b")).replan("a", task("a"));
    session.command("retry", "b").instruct("a").fail("a");
    session.replan("a", task("a"), task("b"));
    expect(session.moved).toEqual(["a: blocked -replanned-> pending"]);
    session.instruct("a").fail("a").replan("a", task("a"));
    expect(session.moved).toContain("b: pending -withdrawn-> error (withdrawn)");
  });

  it("leaves the open question of an unchanged ticket", () => {
    const session = escalated({}, task("a"), task("b")).ask("b", "q");
    session.replan("a", task("a"), task("b"));
    expect(session.open).toEqual(["ask questions c1", "manager ticket a"]);
    expect(session.answerQuestions({ q: "So" }).open).toEqual(["manager ticket a", "manager ticket b"]);
  });

  it("keeps the history and counts of a restarted ticket", () => {
    const session = escalated({}, task("a"), task("b")).ask("a", "q").answerQuestions({ q: "So" });
    const { history, attempt, escalations, clarifications } = session.ticket("a");
    session.replan("a", task("a", { description: "Less" }), task("b"));
    const lived = { history: [...(history ?? []), session.sequence], attempt, escalations, clarifications };
    expect(session.ticket("a")).toMatchObject(lived);
    expect([history?.length, attempt, escalations, clarifications]).toEqual([4, 1, 1, ["c1"]]);
  });

  it("changes a pending ticket in place, and asks again", () => {
    const session = escalated({}, task("a"), task("b"), task("c", { dependencies: ["b"] })).admit("b");
    const before = session.ticket("b").turn?.turn_id;
    session.replan(
      "a",
      task("a"),
      task("b", { description: "Less" }),
      task("c", { description: "Less", dependencies: ["b"] }),
    );
    expect([session.moved, session.open]).toEqual([
      ["a: blocked -replanned-> pending"],
      ["manager ticket a", "manager ticket b"],
    ]);
    expect(session.last.step.commands).toContainEqual(
      expect.objectContaining({ do: "withdraw_turn", turn_id: before }),
    );
    expect(session.draft("b").context["ticket"]).toMatchObject({ task: { $from: [session.sequence, "/tasks/1"] } });
  });

  it("orders all tickets, done ones too", () => {
    const session = escalated({}, task("a"), task("b"), task("c")).complete("c").instruct("b");
    session.replan("a", task("new"), task("c"), task("b"), task("a"));
    expect([...session.standing.subjects.keys()]).toEqual(["new", "c", "b", "a"]);
    expect(Object.keys(session.command("cancel", "b").complete("new", "a").report.tickets)).toEqual([
      "new",
      "c",
      "b",
      "a",
    ]);
  });

  it("leaves another blocked ticket to its own retries", () => {
    const session = escalated({ config: { max_retries: 1 } }, task("a"), task("b"));
    session.instruct("b").fail("b").fireTimer("retry:a").fail("a");
    session.replan("a", task("a"), task("b"));
    expect([session.moved, session.status("b")]).toEqual([
      ["a: blocked -replanned-> pending"],
      "blocked (agent_failed)",
    ]);
    expect(session.fireTimer("retry:b").open).toEqual(["manager ticket a", "worker instruction b"]);
  });

  it.each([
    ["changes", [task("a"), task("b", { description: "Else" })], "invalid_plan /tasks/1"],
    ["forgets", [task("a")], "invalid_plan /tasks"],
  ])("is refused if it %s a done task", (_, tasks, refused) => {
    const session = schedule().plan(task("a"), task("b")).complete("b").instruct("a");
    session.block("a").replan("a", ...tasks);
    expect([session.refused, session.moved, session.open]).toEqual([refused, [], ["manager error a"]]);
  });

  it("may repeat a done task with its status", () => {
    const session = escalated({}, task("a"), task("b"))
      .complete("b")
      .replan("a", task("a"), task("b", { status: "done" }));
    expect(session.last.disposition).toBe("applied");
  });

  it("does not restart what was given up or cancelled, unless it changes it", () => {
    const session = escalated({}, task("a"), task("b"), task("c")).command("cancel", "b").command("cancel", "c");
    session.replan("a", task("a"), task("b"), task("c", { description: "Else" }));
    expect(session.moved).toEqual(["a: blocked -replanned-> pending", "c: error -manual_reset-> pending (replanned)"]);
  });

  it("does not renew escalations", () => {
    const session = escalated({}, task("a"));
    for (let round = 0; round < 2; round++) session.replan("a", task("a")).instruct("a").fail("a");
    expect(session.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error agent_failed" } });
  });

  it("may remove a dependency on a failed ticket", () => {
    const session = escalated({}, task("a"), task("b"), task("c", { dependencies: ["b"] })).giveUp("b");
    expect([...session.state.blockedByError]).toEqual(["c"]);
    session.replan("a", task("a"), task("b"), task("c"));
    expect([[...session.state.blockedByError], session.open]).toEqual([[], ["manager ticket a", "manager ticket c"]]);
  });

  it("does not reset the notice timer", () => {
    const session = escalated({}, task("a")).replan("a", task("a"), task("b"));
    expect(session.last.step.commands.filter((command) => command.do === "set_timer")).toEqual([]);
  });

  it("ends the session if all remaining tickets are done", () => {
    const session = escalated({}, task("a"), task("b")).complete("b").replan("a", task("b"));
    expect(session.report).toMatchObject({ ended: "done", tickets: { a: "error withdrawn", b: "done" } });
  });
});
