import { describe, expect, it, test } from "vitest";
import { APPROVED, CHANGES, type Options, runs, schedule, type ScheduleSession, task } from "./session.ts";

const CRITERIA = { acceptance_criteria: ["reads well", runs("npm", "test")] };

/** A session whose ticket `a` is delivered. */
function delivered(more: Parameters<typeof task>[1], options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a", more), task("b")).instruct("a").deliver("a");
}

function again(session: ScheduleSession): ScheduleSession {
  return session.deliver("a");
}

describe("checks", () => {
  it("run before the review, and only if a criterion has a command", () => {
    expect(delivered({ acceptance_criteria: ["reads well"] }).open).toContain("manager review_request a");
    const session = delivered(CRITERIA);
    expect([session.status("a"), session.open]).toEqual(["awaiting_review", ["checks a", "manager ticket b"]]);
    expect(session.finishChecks("a", true).open).toEqual(["manager review_request a", "manager ticket b"]);
  });

  it("are the criteria of the configuration, the task and every instruction", () => {
    const session = schedule({ config: { checks: { ticket: ["be kind", runs("lint")] } } });
    session.plan(
      task("a", {
        acceptance_criteria: ["reads well", runs("npm", "test")],
        instruction: { summary: "So", acceptance_criteria: [runs("true")] },
      }),
    );
    session.block("a");
    const second = session.answer("a", "instruction", {
      summary: "Else",
      acceptance_criteria: ["neat", runs("make")],
    }).sequence;
    const third = session.block("a").answer("a", "instruction", { summary: "Or so" }).sequence;
    expect(third).toBeGreaterThan(second);
    again(session);
    expect(session.last.step.commands).toEqual([
      {
        do: "run_checks",
        check_id: `k${session.sequence}`,
        subject: "a",
        criteria: [
          { $from: [1, "/config/checks/ticket/1"] },
          { $from: [4, "/tasks/0/acceptance_criteria/1"] },
          { $from: [4, "/tasks/0/instruction/acceptance_criteria/0"] },
          { $from: [second, "/acceptance_criteria/1"] },
        ],
      },
    ]);
  });

  it("send work back check_rounds times, then go to the manager as evidence", () => {
    const session = delivered(CRITERIA);
    for (let round = 0; round < 2; round++) {
      session.finishChecks("a", true, false);
      expect(session.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress (checks_failed)"]);
      expect(session.open).toEqual(["manager ticket b", "worker instruction a"]);
      again(session);
    }
    session.finishChecks("a", false);
    expect([session.moved, session.status("a"), session.open]).toEqual([
      [],
      "awaiting_review",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(session.draft("a").message.payload).toMatchObject({ checks: { $from: [session.sequence, "/results"] } });
  });

  it("that never pass go through every round, while attempts are left", () => {
    const session = delivered(CRITERIA, { config: { max_attempts: 100 } });
    while (session.ticket("a").status !== "error") {
      if (session.open.includes("checks a")) session.finishChecks("a", false);
      else if (session.open.includes("manager review_request a")) session.sendBack("a");
      else if (session.open.includes("manager error a")) session.instruct("a");
      else again(session);
    }
    const { attempt, reviews, reason } = session.ticket("a");
    expect([attempt, reviews, reason]).toEqual([36, 12, "checks_failed"]);
  });

  it("that failed are in the worker's history", () => {
    const session = delivered(CRITERIA).finishChecks("a", false);
    const report = session.sequence - 1;
    expect(session.draft("a").context["history"]).toEqual({ $history: [expect.any(Number), report, session.sequence] });
  });

  it("have fresh rounds after the manager sent the work back", () => {
    const session = delivered(CRITERIA, { config: { check_rounds: 1 } }).finishChecks("a", false);
    again(session).finishChecks("a", false).sendBack("a");
    expect(again(session).finishChecks("a", false).moved).toEqual([
      "a: awaiting_review -changes_requested-> in_progress (checks_failed)",
    ]);
  });

  it("are dropped with a cancelled ticket", () => {
    const session = delivered(CRITERIA);
    const check_id = `k${session.sequence}`;
    session.command("cancel", "a");
    expect(session.last.step.commands).toContainEqual({ do: "drop_checks", check_id });
    session.submit("scheduler", "check_result", { check_id, results: [] }, { subject: "a" });
    expect([session.last.disposition, session.status("a")]).toEqual(["late", "error (cancelled)"]);
  });
});

describe("approval against failed checks", () => {
  const failed = () => delivered(CRITERIA, { config: { check_rounds: 0 } }).finishChecks("a", false);

  it("is refused once, and then counts as changes_requested", () => {
    const session = failed().approve("a");
    expect([session.refused, session.status("a"), session.open]).toEqual([
      "checks_failed /decision",
      "awaiting_review",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(session.draft("a").context["refused"]).toMatchObject([
      { payload_type: "review", code: "checks_failed", pointer: "/decision" },
    ]);
    session.approve("a");
    expect([session.last.disposition, session.moved]).toEqual([
      "applied",
      ["a: awaiting_review -changes_requested-> in_progress"],
    ]);
  });

  it("is refused once even without retries, and does not stop the session", () => {
    const session = delivered(CRITERIA, { config: { check_rounds: 0, max_retries: 0 } }).finishChecks("a", false);
    session.approve("a");
    expect([session.refused, session.open]).toEqual([
      "checks_failed /decision",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(session.approve("a").moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
    again(session).finishChecks("a", false).approve("a").fail("a");
    expect(session.last.step.commands).toContainEqual(expect.objectContaining({ do: "stop_session" }));
  });

  it("is refused again for new evidence", () => {
    const session = failed().approve("a").approve("a");
    again(session).finishChecks("a", false).approve("a");
    expect(session.refused).toBe("checks_failed /decision");
  });

  it("is refused again after the ticket was cancelled and retried", () => {
    const session = failed().approve("a").command("cancel", "a").command("retry", "a");
    expect(again(session).finishChecks("a", false).approve("a").refused).toBe("checks_failed /decision");
  });

  it("is accepted once the next work passes", () => {
    const session = failed().sendBack("a");
    expect(again(session).finishChecks("a", true).approve("a").moved).toEqual(["a: awaiting_review -approved-> done"]);
  });

  it("is refused from a person too, who is still asked", () => {
    const session = delivered({ ...CRITERIA, review: "user" }, { config: { check_rounds: 0 } }).finishChecks(
      "a",
      false,
    );
    session.send("review", { ...APPROVED, ticket_id: "a" });
    expect([session.refused, session.open]).toEqual([
      "checks_failed /decision",
      ["ask review review:a", "manager ticket b"],
    ]);
    session.send("review", { ...APPROVED, ticket_id: "a" });
    expect(session.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
  });
});

describe("a manager's review", () => {
  it("sends work back max_review_rounds times, then the ticket escalates", () => {
    const session = delivered({});
    for (let round = 0; round < 3; round++) {
      session.answer("a", "review", { ...CHANGES, requested_changes: ["tests"] });
      expect(session.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
      again(session);
    }
    session.sendBack("a");
    expect([session.moved, session.open]).toEqual([
      ["a: awaiting_review -work_stopped-> blocked (checks_failed)"],
      ["manager error a", "manager ticket b"],
    ]);
    expect(session.ticket("a").reviews).toBe(4);
  });

  it("has fresh rounds after a new instruction", () => {
    const session = again(delivered({}, { config: { max_review_rounds: 1 } }).sendBack("a")).answer(
      "a",
      "review",
      CHANGES,
    );
    expect(session.status("a")).toBe("blocked (checks_failed)");
    again(session.instruct("a")).sendBack("a");
    expect(session.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
  });

  it("may begin with a question to a person", () => {
    const session = delivered({}).ask("a", "q");
    expect([session.status("a"), session.open]).toEqual(["awaiting_review", ["ask questions c1", "manager ticket b"]]);
    expect(session.answerQuestions({ "c1.q": "Good enough" }).open).toEqual([
      "manager review_request a",
      "manager ticket b",
    ]);
  });
});

describe("a person's review", () => {
  it("is asked for, with the report, if the policy says so", () => {
    const checked = delivered({ ...CRITERIA, review: "user" });
    const report = checked.sequence;
    expect(checked.finishChecks("a", true).engine.ledger.asks.get("review:a")).toMatchObject({
      record: report,
      subject: "a",
    });
    const session = delivered({ review: "user" });
    expect(session.open).toEqual(["ask review review:a", "manager ticket b"]);
    session.send("review", { ...APPROVED, ticket_id: "a" });
    expect([session.moved, session.open]).toEqual([["a: awaiting_review -approved-> done"], ["manager ticket b"]]);
  });

  it("is in the ticket's history for the worker", () => {
    const session = delivered({ review: "user" }).send("review", { ...CHANGES, notes: "Shorter", ticket_id: "a" });
    expect([session.moved, session.ticket("a").history?.at(-1)]).toEqual([
      ["a: awaiting_review -changes_requested-> in_progress"],
      session.sequence,
    ]);
  });

  it("may replace the manager's, whose turn is withdrawn", () => {
    const session = delivered({}).admit("a");
    const turn = { turn_id: `t${session.sequence - 1}`, subject: "a", attempt: 1, run: 1 };
    session.send("review", { ...APPROVED, ticket_id: "a" });
    expect([session.status("a"), session.open]).toEqual(["done", ["manager ticket b"]]);
    session.submit("boss", "review", CHANGES, { subject: "a", turn });
    expect([session.last.disposition, session.status("a")]).toEqual(["late", "done"]);
  });

  it("is refused while checks run", () => {
    const session = delivered(CRITERIA).send("review", { ...APPROVED, ticket_id: "a" });
    expect([session.refused, session.status("a"), session.open]).toEqual([
      "not_permitted",
      "awaiting_review",
      ["checks a", "manager ticket b"],
    ]);
  });

  test.each([
    ["a ticket that is not delivered", { ...APPROVED, ticket_id: "b" }],
    ["a ticket that does not exist", { ...APPROVED, ticket_id: "nobody" }],
    ["no ticket", APPROVED],
  ])("is refused for %s", (_, payload) => {
    const session = delivered({}).send("review", payload);
    expect([session.refused, session.moved, session.open]).toEqual([
      "not_permitted",
      [],
      ["manager review_request a", "manager ticket b"],
    ]);
  });
});

describe("review by checks", () => {
  const CHECKS = { config: { review: "checks", check_rounds: 0 } } as const;

  it("approves when every check passes, and records a review", () => {
    const session = schedule(CHECKS)
      .plan(task("a", CRITERIA), task("b", { review: "manager" }))
      .instruct("a")
      .deliver("a");
    session.finishChecks("a", true);
    expect(session.moved).toEqual(["a: awaiting_review -approved-> done"]);
    expect(session.last.envelopes).toMatchObject([
      { target: "user", payload_type: "review", subject: "a", payload: { decision: "approved" } },
    ]);
  });

  it("escalates when checks fail", () => {
    const session = schedule(CHECKS).plan(task("a", CRITERIA)).instruct("a").deliver("a").finishChecks("a", false);
    expect([session.moved, session.open]).toEqual([
      ["a: awaiting_review -work_stopped-> blocked (checks_failed)"],
      ["manager error a"],
    ]);
  });

  it("is refused in a plan without any check, unless the configuration has one", () => {
    const plan = { tasks: [task("a", { acceptance_criteria: ["reads well"], review: "checks" })] };
    expect(schedule().requirement().answer(undefined, "plan", plan).refused).toBe(
      "invalid_plan /tasks/0/acceptance_criteria",
    );
    const configured = schedule({ config: { checks: { ticket: [runs("lint")] } } });
    expect(configured.requirement().answer(undefined, "plan", plan).phase).toBe("running");
    const everywhere = schedule({ config: { review: "checks" } }).requirement();
    expect(everywhere.replan(undefined, task("a")).refused).toBe("invalid_plan /tasks/0/acceptance_criteria");
  });
});
