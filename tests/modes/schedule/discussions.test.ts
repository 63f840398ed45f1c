import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { DEBATE, type Options, schedule, type ScheduleSession, task, type Task } from "./session.ts";

const PROPOSAL = {
  summary: "In two steps",
  draft_steps: ["copy", { text: "drop" }],
  risks: ["data loss"],
  open_questions: ["when?"],
};
const VERDICT = { verdict: { conclusion: "Three steps", dissent: ["two would do"] } };

/** A session that debates proposals, and has one about ticket `a`. */
function proposed(more: Partial<Task> = {}, options: Options = {}, ...others: readonly Task[]): ScheduleSession {
  return schedule({ ...options, config: { discussion: DEBATE, ...options.config } })
    .plan(task("a", { risks: ["it is large"], ...more }), task("b", { dependencies: ["a"] }), ...others)
    .answer("a", "instruction_proposal", PROPOSAL);
}

function asked(session: ScheduleSession): JsonObject {
  return resolve(session.draft("a").message.payload, session.lookup) as JsonObject;
}

describe("a proposal that a child session discusses", () => {
  it("opens it with the proposal as its topic", () => {
    const session = proposed();
    expect([session.open, session.status("a")]).toEqual([["debate about a offered"], "discussing"]);
    const { child, mode, input, budget } = session.child;
    expect([child, mode, budget]).toEqual([String(session.sequence), "debate", { turns: 40 }]);
    expect(resolve(input, session.lookup)).toEqual({
      ...DEBATE.input,
      topic:
        "How should this task be done?\nDo a\nProposed:\nIn two steps\nSteps:\n- copy\n- drop\nRisks:\n- data loss\nOpen questions:\n- when?",
    });
  });

  it("comes back to the manager with the result", () => {
    const session = proposed().beginChild().finishChild({ result: VERDICT });
    expect([session.open, session.status("a")]).toEqual([["manager report a"], "discussing"]);
    expect(asked(session)).toEqual({
      status: "proposal",
      summary:
        "The proposal was discussed in a session of its own.\nHow that ended:\ndone\nWhat it came to:\nThree steps",
      issues: ["two would do"],
      metadata: { session_id: `s.${session.sequence - 2}` },
    });
    expect(session.ticket("a").history?.at(-1)).toBe(session.sequence);
    expect(session.engine.ledger.timers.has("discussion:a")).toBe(false);
    session.instruct("a");
    expect([session.moved, session.open]).toEqual([
      ["a: discussing -instruction_finalized-> in_progress"],
      ["worker instruction a"],
    ]);
  });

  it("is not in the manager's turn when the worker asks afterwards", () => {
    const session = proposed().beginChild().finishChild({ result: VERDICT }).instruct("a");
    const questions = [{ question_id: "q", text: "Which column?" }];
    session.answer("a", "report", { status: "blocked", questions });
    expect([session.open, asked(session)]).toEqual([["manager report a"], { status: "blocked", questions }]);
  });

  test.each([
    ["failed", "no_debaters_left"],
    ["cancelled", "timeout"],
  ])("comes back even if it ended %s", (outcome, reason) => {
    const session = proposed().beginChild().finishChild({ outcome, reason });
    expect(asked(session)["summary"]).toBe(
      `The proposal was discussed in a session of its own.\nHow that ended:\n${outcome}\nWhy:\n${reason}`,
    );
    expect(session.instruct("a").status("a")).toBe("in_progress");
  });

  it("goes to the worker if no discussion is configured", () => {
    const session = schedule().plan(task("a")).answer("a", "instruction_proposal", PROPOSAL);
    expect(session.open).toEqual(["worker instruction_proposal a"]);
  });

  it("counts for the session and the ticket's budget, and is limited by it", () => {
    const session = proposed({ budget: { turns: 6 } });
    expect([session.ticket("a").allowance?.used, session.child.budget]).toEqual([1, { turns: 5 }]);
    const before = session.engine.ledger.figures;
    session.beginChild().finishChild();
    const { turns, input_tokens, unpriced_turns } = session.engine.ledger.figures;
    expect([turns - before.turns, input_tokens - before.input_tokens, unpriced_turns - before.unpriced_turns]).toEqual([
      3, 10, 1,
    ]);
    expect(session.ticket("a").allowance?.used).toBe(5);
  });

  it.each([
    [{ usd: 2 }, { usd: 2, turns: 5 }],
    [
      { usd: 2, turns: 3 },
      { usd: 2, turns: 3 },
    ],
  ])("may use %j within what the ticket has left", (budget, allowed) => {
    const session = proposed({ budget: { turns: 6 } }, { config: { discussion: { ...DEBATE, budget } } });
    expect(session.child.budget).toEqual(allowed);
  });

  it("does not begin if the ticket's budget is spent", () => {
    const session = proposed({ budget: { turns: 1 } });
    expect([session.open, session.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });

  it("escalates if it has spent the ticket's budget", () => {
    const session = proposed({ budget: { turns: 4 } })
      .beginChild()
      .finishChild();
    expect([session.open, session.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });
});

describe("a discussion that takes too long", () => {
  it("is withdrawn when its time is up, and still ends", () => {
    const session = proposed({}, { config: { discussion: { ...DEBATE, timeout_s: 60 } } }).beginChild();
    expect(session.engine.ledger.timers.get("discussion:a")).toEqual({ due_at: "2026-01-01T00:01:06Z", passive: true });
    const { child } = session.child;
    session.fireTimer("discussion:a");
    expect(session.last.step.commands).toEqual([{ do: "withdraw_session", child, reason: "timeout" }]);
    expect(session.open).toEqual(["debate about a withdrawn"]);
    session.finishChild({ outcome: "cancelled", reason: "timeout" });
    expect([session.open, session.engine.ledger.timers.has("discussion:a")]).toEqual([["manager report a"], false]);
  });

  it("is withdrawn when the ticket's time is up", () => {
    const session = proposed({ budget: { wall_s: 30 } })
      .beginChild()
      .fireTimer("budget:a");
    expect(session.open).toEqual(["debate about a withdrawn"]);
    session.finishChild({ outcome: "cancelled" });
    expect([session.open, session.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });
});

describe("a ticket whose time is up before its discussion has begun", () => {
  it("is stopped at once", () => {
    const session = proposed({ budget: { wall_s: 30 } }).fireTimer("budget:a");
    expect([session.open, session.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
    expect(session.engine.ledger.children.size).toBe(0);
  });
});

describe("a ticket that leaves its discussion", () => {
  test.each<[string, (session: ScheduleSession) => ScheduleSession, string]>([
    ["cancelled", (session) => session.command("cancel", "a"), "error (cancelled)"],
    ["planned otherwise", (session) => session.send("plan", { tasks: [task("c")] }), "error (withdrawn)"],
  ])("because it is %s withdraws it, and ignores its end", (_, taken, status) => {
    const session = taken(proposed({}, {}, task("c")).beginChild());
    expect([session.status("a"), session.open]).toEqual([status, ["debate about a withdrawn", "manager ticket c"]]);
    session.finishChild();
    expect([session.last.disposition, session.moved, session.status("a")]).toEqual(["applied", [], status]);
    expect(session.open).toEqual(["manager ticket c"]);
  });

  it("before it has begun leaves nothing of it", () => {
    const session = proposed().command("cancel", "a");
    expect([...session.engine.ledger.children]).toEqual([]);
  });

  it("with the whole session leaves nothing of it", () => {
    const session = proposed().beginChild();
    const child = session.child;
    session.command("cancel");
    expect([session.report.ended, session.engine.ledger.children.size]).toEqual(["cancelled cancelled", 0]);
    expect(session.finishChild({}, child).last.disposition).toBe("late");
  });
});

describe("a fact about a discussion that is not open", () => {
  it("is late: a second beginning, an early or second end", () => {
    const session = proposed();
    const child = session.child;
    expect(session.finishChild().last.disposition).toBe("late");
    session.beginChild();
    expect(session.beginChild().last.disposition).toBe("late");
    session.finishChild();
    expect(session.finishChild({}, child).last.disposition).toBe("late");
  });
});

describe("a session that is stopped while a proposal is discussed", () => {
  it("waits for it on resume", () => {
    const session = proposed().beginChild().stop().recover();
    expect([session.open, session.phase]).toEqual([["debate about a open"], "running"]);
    expect(session.finishChild({ result: VERDICT }).open).toEqual(["manager report a"]);
  });
});
