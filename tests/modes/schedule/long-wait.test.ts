import { describe, expect, it, test } from "vitest";
import { asking, schedule, type ScheduleSession, task } from "./session.ts";

const PLAN = [task("a"), task("b", { dependencies: ["a"] }), task("c")];

/** Ticket `a` is in its worker's hands and has held up `b` for long. */
function waiting(): ScheduleSession {
  const session = schedule({ config: { dependency_notice_s: 60 } }).plan(...PLAN);
  return session.instruct("a").admit("a").fireTimer("notice").fireTimer("notice");
}

const OPEN = ["manager report", "manager ticket c", "worker instruction a"];
const AFTER = ["manager ticket c", "worker instruction a"];

describe("a long wait", () => {
  it("gives the manager a turn beside the worker's, about the ticket that is waited for", () => {
    const session = waiting();
    expect(session.open).toEqual(OPEN);
    expect(session.draft()).toMatchObject({
      expects: ["clarification", "error", "instruction", "plan"],
      message: { payload_type: "report", payload: { $from: [session.sequence + 1, ""] } },
      context: { ticket: { ticket_id: "a", status: "in_progress" }, dependencies: [] },
    });
    expect(session.admit().resolved(session.draft()).message.payload).toMatchObject({
      status: "blocked",
      metadata: { reason: "waiting_for_dependency", ticket_ids: ["b"] },
    });
  });

  it("is waited on, in the manager's words, and moves nothing", () => {
    const session = waiting().answer(undefined, "instruction", { summary: "Give it another hour." });
    expect([session.moved, session.open]).toEqual([[], AFTER]);
    expect(session.ticket("a").history?.at(-1)).toBe(session.sequence);
    expect(session.deliver("a").open).toContain("manager review_request a");
  });

  it("may lead to another plan", () => {
    const session = waiting().replan(undefined, task("a"), task("b"), task("c"));
    expect(session.moved).toEqual([]);
    expect(session.open).toEqual(["manager ticket b", ...AFTER]);
  });

  it("may lead to a question, after which the manager is asked again", () => {
    const session = waiting().ask(undefined, "q");
    expect([session.phase, session.open]).toEqual(["running", ["ask questions c1", ...AFTER]]);
    expect(session.fireTimer("notice").open).toEqual(["ask questions c1", ...AFTER]);
    expect(session.answerQuestions({ q: "It is slow" }).open).toEqual(OPEN);
    expect(session.draft().context["clarifications"]).toHaveLength(1);
  });

  test.each<[string, (session: ScheduleSession) => void]>([
    ["a failed turn", (session) => session.fail(undefined, "timeout")],
    ["an error", (session) => session.giveUp()],
    ["an invalid plan", (session) => session.replan(undefined, task("b"), task("b"))],
    ["an answer without the right", (session) => session.answer(undefined, "review", { decision: "approved" })],
    ["no questions", (session) => session.answer(undefined, "clarification", { questions: [], status: "complete" })],
    ["questions with one id", (session) => session.answer(undefined, "clarification", asking("q", "q"))],
  ])("is not asked about again because of %s, which moves nothing", (_, answer) => {
    const session = waiting();
    answer(session);
    expect([session.moved, session.phase, session.open]).toEqual([[], "running", AFTER]);
    expect(session.fireTimer("notice").open).toEqual(OPEN);
  });

  it("is asked about once at a time", () => {
    const session = waiting().fireTimer("notice");
    expect(session.open).toEqual(OPEN);
  });

  it("is asked about max_escalations times at most, also after another plan", () => {
    const session = waiting().replan(undefined, task("a", { description: "another way" }), ...PLAN.slice(1));
    session.instruct("a").admit("a").fireTimer("notice").fireTimer("notice");
    expect(session.open).toEqual(OPEN);
    session.answer(undefined, "instruction", { summary: "Wait." }).fireTimer("notice");
    expect(session.open).toEqual(AFTER);
  });

  it("is not asked about while the manager has a turn about the ticket", () => {
    const session = schedule({ config: { dependency_notice_s: 60 } }).plan(...PLAN);
    session.instruct("a").deliver("a").fireTimer("notice").fireTimer("notice");
    expect([session.last.envelopes.length, session.open]).toEqual([
      1,
      ["manager review_request a", "manager ticket c"],
    ]);
  });

  it("is not answered by a plan in other reports", () => {
    const session = schedule()
      .plan(...PLAN)
      .instruct("a")
      .block("a", "why");
    expect(session.draft("a").expects).not.toContain("plan");
    session.replan("a", ...PLAN);
    expect(session.refused).toBe("not_permitted");
  });

  it("ends with the session, also where a person accepts the result", () => {
    const session = schedule({ config: { dependency_notice_s: 60 }, input: { confirm: true } }).plan(...PLAN);
    session.complete("c").instruct("a").admit("a").fireTimer("notice").fireTimer("notice").admit();
    session.command("cancel", "b").deliver("a").approve("a");
    expect(session.open).toEqual(["ask approval a1"]);
    expect(session.send("approval", { decision: "approved" }).ended?.outcome).toBe("failed");
  });

  it("ends with a plan that answers another ticket's trouble", () => {
    const session = waiting();
    session
      .instruct("c")
      .block("c")
      .replan("c", ...PLAN);
    expect(session.open).toEqual(AFTER);
  });
});
