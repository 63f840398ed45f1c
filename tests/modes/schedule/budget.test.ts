import { describe, expect, it, test } from "vitest";
import { later } from "../../../src/protocol/timestamp.ts";
import { type Options, runs, schedule, type ScheduleSession, task, type Task } from "./session.ts";

/** A session whose ticket `a` has this budget, and has just been planned. */
function planned(budget: Task["budget"], more: Partial<Task> = {}, options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a", { ...(budget ? { budget } : {}), ...more }));
}

/** The plan with another budget for `a`. */
function replan(budget: Task["budget"]): { tasks: Task[] } {
  return { tasks: [task("a", budget ? { budget } : {})] };
}

function used(session: ScheduleSession): number | undefined {
  return session.ticket("a").allowance?.used;
}

function budgetTimer(session: ScheduleSession): string | undefined {
  const timer = session.engine.ledger.timers.get("budget:a");
  return timer && `${timer.due_at}${timer.passive ? " passive" : ""}`;
}

function refusedWith(session: ScheduleSession): unknown {
  return session.draft("a").context["refused"];
}

describe("a ticket's budget of turns", () => {
  it("counts every turn about it except the manager's error turns", () => {
    const session = planned({ turns: 9 });
    expect(used(session)).toBe(1);
    session.instruct("a");
    expect(used(session)).toBe(2);
    session.deliver("a");
    expect([used(session), session.open]).toEqual([3, ["manager review_request a"]]);
    session.sendBack("a").fail("a", "cancelled");
    expect([used(session), session.open]).toEqual([4, ["manager error a"]]);
    session.fail("a", "timeout").fireTimer("retry:a");
    expect([used(session), session.open]).toEqual([4, ["manager error a"]]);
  });

  it("does not count a turn twice after a hold or a crash", () => {
    const session = planned({ turns: 9 }).fail("a", "rate_limited").admit("a").recover(false).admit("a");
    expect(used(session)).toBe(1);
  });

  it("escalates before the next turn when it is spent", () => {
    const session = planned({ turns: 1 }).instruct("a");
    expect(session.moved).toEqual([
      "a: pending -instruction_received-> in_progress",
      "a: in_progress -work_stopped-> blocked (budget_exhausted)",
    ]);
    expect([session.open, session.ticket("a").escalations, used(session)]).toEqual([["manager error a"], 1, 1]);
    const { message, expects, remaining_turns } = session.draft("a");
    expect(message).toMatchObject({
      payload_type: "error",
      payload: { code: "budget_exhausted", resolution_hint: expect.stringContaining("larger one") },
    });
    expect([expects.includes("instruction"), remaining_turns]).toEqual([true, 0]);
  });

  test.each<[string, (session: ScheduleSession) => ScheduleSession]>([
    ["a retry", (session) => session.instruct("a").fail("a", "timeout")],
    ["an answer that was refused", (session) => session.instruct("a").answer("a", "report", { status: "proposal" })],
    [
      "a worker's questions",
      (session) =>
        session.instruct("a").answer("a", "report", {
          status: "blocked",
          questions: [{ question_id: "q", text: "What?" }],
        }),
    ],
    [
      "a person's answer",
      (session) => {
        for (const id of ["c1.q", "c2.q"]) {
          session.ask("a", "q");
          session.answerQuestions({ [id]: "So" });
        }
        return session;
      },
    ],
    [
      "the manager's own back-off",
      (session) => session.fail("a", "timeout").fireTimer("retry:a").fail("a").fireTimer("retry:a"),
    ],
  ])("counts %s too", (_, spend) => {
    const session = spend(planned({ turns: 2 }));
    expect([session.status("a"), session.open]).toEqual(["blocked (budget_exhausted)", ["manager error a"]]);
  });

  it("is in each request, as the turns that remain after it", () => {
    const session = planned({ turns: 3 });
    expect(session.draft("a").remaining_turns).toBe(2);
    session.instruct("a");
    expect(session.draft("a").remaining_turns).toBe(1);
    expect(schedule().plan(task("b")).draft("b").remaining_turns).toBeUndefined();
  });

  it("comes from the configuration, key by key, if the task has none", () => {
    const config = { budget: { ticket: { turns: 7, wall_s: 60 } } };
    const allowances = [undefined, { turns: 2 }, { wall_s: 5 }].map(
      (budget) => planned(budget, {}, { config }).ticket("a").allowance,
    );
    expect(allowances).toMatchObject([
      { turns: 7, wall_s: 60 },
      { turns: 2, wall_s: 60 },
      { turns: 7, wall_s: 5 },
    ]);
    expect(planned(undefined).ticket("a")).not.toHaveProperty("allowance");
  });
});

describe("work that was delivered with the last of its budget", () => {
  const delivered = (more: Partial<Task> = {}) => planned({ turns: 2 }, more).instruct("a").deliver("a");

  it("is still reviewed, even if the first review turn fails", () => {
    const session = delivered();
    expect(session.open).toEqual(["manager review_request a"]);
    session.fail("a", "timeout").fireTimer("retry:a").approve("a");
    expect(session.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("is not corrected, but can still be approved", () => {
    const session = delivered().sendBack("a");
    expect(session.moved).toEqual(["a: awaiting_review -work_stopped-> blocked (budget_exhausted)"]);
    expect(session.draft("a").expects).toContain("review");
    session.approve("a");
    expect(session.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("goes to review with its failed checks, and is not approved against them", () => {
    const session = delivered({ acceptance_criteria: [runs("true")] }).finishChecks("a", false);
    expect([session.status("a"), session.open]).toEqual(["awaiting_review", ["manager review_request a"]]);
    session.approve("a");
    expect(session.refused).toBe("checks_failed /decision");
    session.approve("a");
    expect(session.status("a")).toBe("blocked (budget_exhausted)");
  });

  it("is given up if it is sent back until escalations are spent", () => {
    const session = delivered().sendBack("a").sendBack("a").sendBack("a");
    expect(session.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error budget_exhausted" } });
  });
});

describe("a manager that is asked about a spent budget", () => {
  const asked = () => planned({ turns: 1 }).instruct("a");

  it("cannot instruct, and is told what it can do", () => {
    const session = asked().instruct("a");
    expect([session.last.disposition, session.refused, session.status("a")]).toEqual([
      "refused",
      "budget_exhausted ",
      "blocked (budget_exhausted)",
    ]);
    expect(session.open).toEqual(["manager error a"]);
    expect(session.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("larger one"),
    });
    expect(refusedWith(session)).toEqual([
      {
        payload_type: "instruction",
        code: "budget_exhausted",
        pointer: "",
        message:
          'nothing is left of the budget of ticket "a" (1 turns); send a "plan" that gives its task a larger budget, or "error" to give it up',
      },
    ]);
    session.instruct("a").instruct("a");
    expect(session.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
  });

  it("cannot instruct if the ticket escalated for another reason", () => {
    const session = planned({ turns: 2 }, {}, { config: { max_retries: 0 } }).instruct("a");
    session.block("a");
    expect(session.status("a")).toBe("blocked (needs_input)");
    expect(session.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("larger one"),
    });
    expect(session.instruct("a").refused).toBe("budget_exhausted ");
  });

  it("may instruct while turns are left", () => {
    const session = planned({ turns: 9 }).instruct("a").block("a");
    expect(session.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("a new instruction"),
    });
    expect(session.instruct("a").open).toEqual(["worker instruction a"]);
  });

  it("may give the task a larger budget, of which the used turns are gone", () => {
    const session = asked().answer("a", "plan", replan({ turns: 3 }));
    expect([session.status("a"), session.open, used(session)]).toEqual(["pending", ["manager ticket a"], 2]);
    session.instruct("a").deliver("a").approve("a");
    expect(session.report.ended).toBe("done");
  });

  it("may take the limit away", () => {
    const session = asked().answer("a", "plan", replan(undefined));
    expect([session.open, session.ticket("a")]).toEqual([
      ["manager ticket a"],
      expect.not.objectContaining({ allowance: expect.anything() }),
    ]);
  });

  it("is asked again if its plan gives no more, until escalations are spent", () => {
    const session = asked().answer("a", "plan", replan({ turns: 1 }));
    expect([session.status("a"), session.open]).toEqual(["blocked (budget_exhausted)", ["manager error a"]]);
    session.answer("a", "plan", replan({ turns: 1 }));
    expect(session.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error budget_exhausted" } });
  });

  it("may let the ticket end and go on with others", () => {
    const session = planned({ turns: 1 }, {}, { config: { max_escalations: 1 } }).instruct("a");
    session.replan("a", task("a", { budget: { turns: 1 } }), task("b"));
    expect([session.status("a"), session.ended, session.open]).toEqual([
      "error (budget_exhausted)",
      undefined,
      ["manager ticket b"],
    ]);
  });
});

describe("a person's retry", () => {
  it("gives a spent budget once more, and the work goes on", () => {
    const session = planned({ turns: 2 }).instruct("a").fail("a", "timeout").command("retry", "a");
    expect([session.moved, session.open, used(session)]).toEqual([
      ["a: blocked -retry-> in_progress"],
      ["worker instruction a"],
      1,
    ]);
  });

  it("restarts a ticket that was never instructed", () => {
    const session = planned({ turns: 1 }).fail("a", "timeout").fireTimer("retry:a").command("retry", "a");
    expect([session.moved, session.open, used(session)]).toEqual([
      ["a: blocked -replanned-> pending"],
      ["manager ticket a"],
      1,
    ]);
  });

  it("restarts a ticket that was given up", () => {
    const session = planned({ turns: 1 }).instruct("a");
    session.giveUp("a").reopen().command("retry", "a");
    expect([session.open, used(session)]).toEqual([["worker instruction a"], 1]);
  });

  it("lets delivered work be corrected once more", () => {
    const session = planned({ turns: 2 }).instruct("a").deliver("a");
    session.sendBack("a").command("retry", "a").sendBack("a");
    expect(session.open).toEqual(["worker instruction a"]);
  });
});

describe("a ticket's budget of time", () => {
  const FROM = "2026-01-01T00:00:03Z";

  it("runs from its first offered turn, with a passive timer", () => {
    const session = planned({ wall_s: 60 });
    expect([session.ticket("a").allowance, budgetTimer(session)]).toEqual([
      { wall_s: 60, used: 1, from: FROM },
      "2026-01-01T00:01:03Z passive",
    ]);
    session.instruct("a");
    expect(budgetTimer(session)).toBe("2026-01-01T00:01:03Z passive");
  });

  it("withdraws the open turn when it is over, and escalates", () => {
    const session = planned({ wall_s: 60 }).instruct("a").admit("a");
    const { turn_id } = session.ticket("a").turn ?? {};
    session.fireTimer("budget:a");
    expect(session.last.step.commands[0]).toEqual({
      do: "withdraw_turn",
      turn_id,
      reason: "the ticket's budget is spent",
    });
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (budget_exhausted)"],
      ["manager error a"],
    ]);
    expect(session.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("larger one"),
    });
    expect(session.instruct("a").refused).toBe("budget_exhausted ");
    expect(session.last.step.refused?.message).toBe('nothing is left of the budget of ticket "a" (60 s)');
  });

  test.each<[string, (session: ScheduleSession) => ScheduleSession]>([
    ["a review", (session) => session.instruct("a").deliver("a").admit("a")],
    ["the manager's error turn", (session) => session.instruct("a").fail("a", "cancelled").admit("a")],
    ["a back-off", (session) => session.instruct("a").fail("a", "timeout")],
    ["a question to a person", (session) => session.ask("a", "q")],
  ])("does not end %s", (_, before) => {
    const session = before(planned({ wall_s: 60 }, {}, { config: { retry_backoff_ms: 60_000 } }));
    const [open, status] = [session.open.map((line) => line.replace(/ in \d+ ms/, "")), session.status("a")];
    session.fireTimer("budget:a");
    expect([session.open.map((line) => line.replace(/ in \d+ ms/, "")), session.status("a")]).toEqual([open, status]);
  });

  it.each([
    [1, []],
    [0, ["a: blocked -retries_exceeded-> error (budget_exhausted)"]],
  ])("stops a waiting ticket at its next turn (%s escalations left)", (max_escalations, given_up) => {
    const session = schedule({ config: { retry_backoff_ms: 60_000, max_escalations } });
    session.plan(task("a", { budget: { wall_s: 30 } }), task("b")).instruct("a");
    session.fail("a", "timeout").fireTimer("budget:a").fireTimer("retry:a");
    expect(session.moved).toEqual([
      "a: blocked -retry-> in_progress",
      "a: in_progress -work_stopped-> blocked (budget_exhausted)",
      ...given_up,
    ]);
    for (const held of ["waits_for", "put_again"]) expect(session.ticket("a")).not.toHaveProperty(held);
  });

  it("is extended by a plan, from the same beginning", () => {
    const session = planned({ wall_s: 60 }).instruct("a").fireTimer("budget:a");
    session.answer("a", "plan", replan({ wall_s: 600 }));
    expect([session.open, budgetTimer(session)]).toEqual([["manager ticket a"], `${later(FROM, 600_000)} passive`]);
  });

  it("has no timer once the ticket is over or has no limit", () => {
    const session = planned({ wall_s: 60 }).instruct("a").command("cancel", "a");
    expect(budgetTimer(session)).toBeUndefined();
    const other = planned({ wall_s: 60 }).send("plan", replan({ turns: 9 }));
    expect(budgetTimer(other)).toBeUndefined();
    const third = schedule().plan(task("a", { budget: { wall_s: 60 } }), task("b"));
    third.instruct("a").deliver("a").approve("a");
    expect(budgetTimer(third)).toBeUndefined();
  });

  it("begins again with a person's retry", () => {
    const session = planned({ wall_s: 60 }).instruct("a").fireTimer("budget:a").command("retry", "a");
    expect([session.open, budgetTimer(session)]).toEqual([
      ["worker instruction a"],
      `${later(session.ticket("a").allowance?.from ?? "", 60_000)} passive`,
    ]);
  });
});
