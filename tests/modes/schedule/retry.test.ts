import { describe, expect, it } from "vitest";
import { schedule, task } from "./session.ts";

describe("retrying a ticket", () => {
  const given = () =>
    schedule({ config: { max_retries: 0, max_escalations: 0 } })
      .plan(task("a"), task("b", { dependencies: ["a"] }), task("c"))
      .instruct("a")
      .fail("a");

  it("resets a ticket in error, and unblocks its dependents", () => {
    const session = given();
    expect([session.status("a"), [...session.state.blockedByError]]).toEqual(["error (agent_failed)", ["b"]]);
    session.command("retry", "a");
    expect([session.moved, session.open, [...session.state.blockedByError]]).toEqual([
      ["a: error -manual_reset-> pending"],
      ["manager ticket c", "worker instruction a"],
      [],
    ]);
    expect(session.deliver("a").approve("a").complete("b", "c").report.ended).toBe("done");
  });

  it("is refused for a working, waiting or unknown ticket, or behind one in error", () => {
    const session = given();
    for (const id of ["b", "c", "nobody"]) expect(session.command("retry", id).refused).toBe("not_permitted");
    session.command("cancel", "b").command("retry", "b");
    expect([session.last.step.refused?.message, session.last.step.refused?.hint]).toEqual([
      'ticket "b" waits for "a", which cannot be done',
      "bosun retry a",
    ]);
    expect(session.command("retry").refused).toBe("not_permitted");
    const behind = schedule().plan(task("a"), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] }));
    behind.command("cancel", "c").giveUp("a");
    behind.reopen().command("retry", "c");
    // "a" is the one to retry: "b" waits for it, whether pending or in error.
    expect([behind.last.step.refused?.message, behind.last.step.refused?.hint]).toEqual([
      'ticket "c" waits for "a", which cannot be done',
      "bosun retry a",
    ]);
    behind.command("cancel", "b").reopen().command("retry", "c");
    expect(behind.last.step.refused?.hint).toBe("bosun retry a");
  });

  it("ends a back-off at once, with a fresh budget", () => {
    const session = schedule()
      .plan(task("a", { budget: { turns: 1 } }))
      .fail("a");
    expect(session.open).toEqual(["retry:a in 1000 ms"]);
    session.command("retry", "a");
    expect([session.moved, session.status("a"), session.open]).toEqual([[], "pending", ["manager ticket a"]]);
  });

  it("waits for open dependencies", () => {
    const session = schedule()
      .plan(task("a"), task("b", { dependencies: ["a"] }))
      .command("cancel", "b")
      .command("retry", "b");
    expect([session.status("b"), session.open]).toEqual(["pending", ["manager ticket a"]]);
    expect(session.complete("a").open).toEqual(["manager ticket b"]);
  });

  it("reopens a closed session, which ends again", () => {
    const session = given().complete("c");
    expect(session.report.tickets).toEqual({
      a: "error agent_failed",
      b: "pending waiting_for_dependency by a",
      c: "done",
    });
    session.reopen().command("retry", "a");
    expect([session.phase, session.open, [...session.engine.ledger.timers.keys()]]).toEqual([
      "running",
      ["worker instruction a"],
      ["notice"],
    ]);
    expect(session.deliver("a").approve("a").complete("b").report.ended).toBe("done");
  });

  it("restarts only that ticket of a cancelled session", () => {
    const session = schedule()
      .plan(task("a"), task("b"))
      .instruct("a")
      .command("cancel")
      .reopen()
      .command("retry", "a");
    expect(session.open).toEqual(["worker instruction a"]);
    expect(session.deliver("a").approve("a").report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "done", b: "error cancelled" },
    });
  });

  it("restarts only that ticket of a plan that was never approved", () => {
    const session = schedule({ config: { plan_approval: "ask" } }).plan(task("a"), task("b", { dependencies: ["a"] }));
    session.command("cancel", "a").command("cancel").reopen().command("retry", "a");
    expect(session.complete("a").report.tickets).toEqual({ a: "done", b: "error cancelled" });
  });

  it("resets the counts of retries and escalations", () => {
    const session = schedule({ config: { max_retries: 1, max_escalations: 1 } })
      .plan(task("a"), task("b"))
      .instruct("a");
    const fail = () => session.fail("a").fireTimer("retry:a").fail("a");
    fail().instruct("a");
    expect([fail().status("a"), session.command("retry", "a").status("a")]).toEqual([
      "error (agent_failed)",
      "pending",
    ]);
    expect([fail().status("a"), session.open]).toEqual([
      "blocked (agent_failed)",
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("resets the rounds of checks, reviews and questions", () => {
    const stuck = { status: "blocked", questions: [{ question_id: "q", text: "Where?" }] };
    const config = { max_escalations: 0, check_rounds: 1, max_review_rounds: 1, max_clarification_rounds: 1 };
    const session = schedule({ config })
      .plan(task("a", { acceptance_criteria: [{ text: "passes", command: ["true"] }] }), task("b"))
      .instruct("a");
    const fails = () => session.deliver("a").finishChecks("a", false);
    const rounds = () => {
      const seen = [1, 2].map(() => {
        const worker = fails().open.includes("worker instruction a");
        fails().sendBack("a");
        return worker;
      });
      return [...seen, session.status("a")];
    };
    const all = [true, true, "error (checks_failed)"];
    expect(rounds()).toEqual(all);
    session.command("retry", "a");
    expect(rounds()).toEqual(all);
    const asked = () => {
      session.command("retry", "a").answer("a", "report", stuck).instruct("a");
      return session.answer("a", "report", stuck).status("a");
    };
    expect([asked(), asked()]).toEqual(["error (needs_input)", "error (needs_input)"]);
  });

  it("closes a reopened session as before if it is refused", () => {
    const session = schedule().plan(task("a")).complete("a").reopen().command("retry", "a");
    expect([session.refused, session.phase]).toEqual(["not_permitted", "running"]);
    expect(session.stop("no_progress").report.ended).toBe("done");
  });

  it("keeps the outcome cancelled or rejected if it is refused", () => {
    const cancelled = schedule()
      .plan(task("a"), task("b", { dependencies: ["a"] }))
      .command("cancel")
      .reopen();
    expect(cancelled.command("retry", "b").refused).toBe("not_permitted");
    expect(cancelled.stop("no_progress").report.ended).toBe("cancelled cancelled");
    const rejected = schedule({ input: { confirm: true } })
      .plan(task("a"))
      .complete("a")
      .send("approval", { decision: "rejected" })
      .reopen()
      .command("retry", "a");
    expect(rejected.stop("no_progress").report.ended).toBe("failed result_rejected");
  });

  it("keeps the outcome cancelled without a plan, also after a crash", () => {
    const before = () => schedule().send("requirement", { text: "Do it." }).command("cancel").reopen();
    expect(before().stop("no_progress").report.ended).toBe("cancelled cancelled");
    expect(before().recover().report.ended).toBe("cancelled cancelled");
  });

  it("replaces the outcome if it changes something", () => {
    const session = schedule().plan(task("a")).command("cancel").reopen().command("retry", "a");
    expect(session.complete("a").report.ended).toBe("done");
  });

  it("works in spite of an old stop or pause", () => {
    const session = schedule().plan(task("a")).command("pause").stop("no_progress").reopen();
    expect(session.engine.ledger.figures).not.toHaveProperty("stopped");
    expect(session.engine.ledger.figures).not.toHaveProperty("paused");
  });
});
