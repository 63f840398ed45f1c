import { describe, expect, it, test } from "vitest";
import { asking, COMPLETED, INSTRUCTION, type Options, schedule, type ScheduleSession, task } from "./session.ts";

function instructed(options: Options = {}): ScheduleSession {
  return schedule(options).plan(task("a"), task("b")).instruct("a");
}

/** The worker fails until its retries are spent. */
function spent(session: ScheduleSession): ScheduleSession {
  return session.fail("a").fireTimer("retry:a").fail("a").fireTimer("retry:a").fail("a");
}

describe("failed work", () => {
  test.each(["timeout", "idle_timeout", "agent_failed", "no_answer", "malformed_output", "output_limit"])(
    "blocks the ticket with the reason %s, and is retried",
    (code) => {
      const session = instructed().fail("a", code);
      expect(session.moved).toEqual([`a: in_progress -work_stopped-> blocked (${code})`]);
      expect(session.open).toEqual(["manager ticket b", "retry:a in 1000 ms"]);
      session.fireTimer("retry:a");
      expect(session.moved).toEqual(["a: blocked -retry-> in_progress"]);
      expect(session.open).toEqual(["manager ticket b", "worker instruction a"]);
    },
  );

  test.each(["budget_exhausted", "cancelled"])("escalates at once with the reason %s", (code) => {
    const session = instructed().fail("a", code);
    expect([session.moved, session.open]).toEqual([
      [`a: in_progress -work_stopped-> blocked (${code})`],
      ["manager error a", "manager ticket b"],
    ]);
    expect(session.draft("a").message.payload).toMatchObject({ code });
    const manager = instructed().deliver("a").fail("a", code);
    expect(manager.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
  });

  it("is also an error report and an error answer", () => {
    const reported = instructed().answer("a", "report", { status: "error", issues: ["no disk"] });
    expect(reported.moved).toEqual(["a: in_progress -work_stopped-> blocked (agent_failed)"]);
    const answered = instructed().answer("a", "error", { code: "conflict", message: "Somebody else is at it" });
    expect(answered.moved).toEqual(["a: in_progress -work_stopped-> blocked (conflict)"]);
    for (const session of [reported, answered]) expect(session.open).toContain("retry:a in 1000 ms");
  });

  it("is retried by another worker if possible, unless a report was refused", () => {
    const seatOf = (session: ScheduleSession) =>
      [...session.engine.ledger.turns.values()].find(({ subject }) => subject === "a")?.seat;
    const hand = { type: "worker", rather_not: "hand" };
    const session = instructed().fail("a").fireTimer("retry:a");
    expect(seatOf(session)).toEqual(hand);
    expect(seatOf(session.answer("a", "report", { status: "proposal" }))).toEqual({ type: "worker" });
    session.deliver("a").sendBack("a");
    expect(seatOf(session)).toEqual({ type: "worker" });
  });

  it("does not reserve another seat when the manager fails", () => {
    const session = schedule({ config: { max_retries: 1 } }).plan(task("a"), task("b"));
    session.answer("a", "instruction_proposal", { summary: "One way" }).fail("a").fireTimer("retry:a").fail("a");
    session.giveUp("a");
    session.command("retry", "a").fail("a").fireTimer("retry:a");
    const asked = [...session.engine.ledger.turns.values()].find(({ subject }) => subject === "a");
    expect(asked).toMatchObject({ seat: { type: "manager" }, reserve: { type: "worker" } });
    expect(asked?.reserve).not.toHaveProperty("rather_not");
  });

  it("waits twice as long each time, up to a minute", () => {
    const session = instructed({ config: { max_retries: 8, max_attempts: 9 } });
    const waits: string[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      session.fail("a");
      waits.push(...session.open.filter((line) => line.startsWith("retry:a")));
      session.fireTimer("retry:a");
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => `retry:a in ${seconds}000 ms`));
  });

  it("escalates when the retries are spent, and stays blocked", () => {
    const session = spent(instructed());
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (agent_failed)"],
      ["manager error a", "manager ticket b"],
    ]);
    expect(session.ticket("a").attempt).toBe(3);
    session.admit("a");
    expect(session.status("a")).toBe("blocked (agent_failed)");
  });

  it("has fresh retries with a new instruction", () => {
    const session = spent(instructed({ config: { max_attempts: 7 } }));
    session.answer("a", "instruction", { summary: "Differently" });
    expect(session.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
    expect(spent(session).open).toContain("manager error a");
    expect(session.ticket("a").attempt).toBe(6);
  });

  it("is given up after max_escalations", () => {
    const session = spent(instructed({ config: { max_attempts: 10 } }));
    for (let round = 0; round < 2; round++) spent(session.instruct("a"));
    expect(session.moved).toEqual([
      "a: in_progress -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    expect(session.open).toEqual(["manager ticket b"]);
  });

  it("is given up, with its own reason, when the manager gives up", () => {
    const session = instructed({ config: { max_retries: 0 } })
      .fail("a", "timeout")
      .giveUp("a");
    expect(session.moved).toEqual(["a: blocked -retries_exceeded-> error (timeout)"]);
    expect(session.open).toEqual(["manager ticket b"]);
  });

  it("lets the manager ask a person", () => {
    const session = spent(instructed()).ask("a", "q");
    expect([session.status("a"), session.open]).toEqual([
      "blocked (agent_failed)",
      ["ask questions c1", "manager ticket b"],
    ]);
    expect(session.answerQuestions({ q: "Use the other disk" }).open).toEqual(["manager error a", "manager ticket b"]);
  });

  it("leaves no details behind for later escalations", () => {
    const session = instructed()
      .fail("a", "timeout", { details: { exit_code: 9 } })
      .fireTimer("retry:a");
    session.block("a");
    expect(session.draft("a").message.payload).not.toHaveProperty("details");
  });

  it("escalates with its own details, not those of a manager's failure", () => {
    const details = { exit_code: 7 };
    const asked = instructed({ config: { max_retries: 0 } }).fail("a", "timeout", { details: { exit_code: 9 } });
    const { payload } = asked.draft("a").message;
    const again = instructed({ config: { max_retries: 1 } }).block("a");
    again.fail("a", "timeout", { details }).fireTimer("retry:a");
    const reviewed = instructed({ config: { max_review_rounds: 0 } }).deliver("a");
    reviewed.fail("a", "timeout", { details }).fireTimer("retry:a").sendBack("a");
    expect(payload).toHaveProperty("details");
    const said = instructed({ config: { max_retries: 0 } }).answer("a", "error", {
      code: "conflict",
      message: "No",
      details,
    });
    expect(said.draft("a").message.payload).toMatchObject({
      code: "conflict",
      details: { exit_code: { $from: [said.sequence, "/details/exit_code"] } },
    });
    for (const session of [again, reviewed]) {
      expect(session.open).toContain("manager error a");
      expect(session.draft("a").message.payload).not.toHaveProperty("details");
    }
  });

  it("is retried at once by a person's command", () => {
    const session = instructed().fail("a").command("retry", "a");
    expect(session.moved).toEqual(["a: blocked -retry-> in_progress"]);
    expect(session.open).toEqual(["manager ticket b", "worker instruction a"]);
    expect(session.fireTimer("retry:a").last.disposition).toBe("late");
  });
});

describe("a blocked worker", () => {
  it("asks, and the manager instructs", () => {
    const session = instructed().block("a", "where");
    expect(session.moved).toEqual(["a: in_progress -report_blocked-> blocked (needs_input)"]);
    expect(session.open).toEqual(["manager report a", "manager ticket b"]);
    session.answer("a", "instruction", { summary: "There" });
    expect(session.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
  });

  it("escalates at once without a question", () => {
    const session = instructed().answer("a", "report", { status: "blocked", issues: ["no idea"] });
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -report_blocked-> blocked (needs_input)"],
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("moves nothing by reporting progress", () => {
    const session = instructed().admit("a");
    const before = session.open;
    session.answer("a", "report", { status: "progress", summary: "Half way" });
    expect([session.last.disposition, session.moved, session.open, session.status("a")]).toEqual([
      "applied",
      [],
      before,
      "in_progress",
    ]);
  });
});

describe("a report with the wrong status", () => {
  it("is refused, and the instruction sent again at once with the reason", () => {
    const session = instructed().answer("a", "report", { status: "proposal" });
    expect([session.last.disposition, session.refused, session.status("a")]).toEqual([
      "refused",
      "validation_failed /status",
      "in_progress",
    ]);
    expect(session.draft("a").context["refused"]).toEqual([
      {
        payload_type: "report",
        code: "validation_failed",
        pointer: "/status",
        message: '"instruction" is answered by a report that says completed, blocked, error, not "proposal"',
      },
    ]);
    expect(session.last.envelopes).toMatchObject([
      { target: "hand", payload_type: "error", subject: "a", payload: { code: "validation_failed" } },
    ]);
  });

  it("leaves no refusal in later contexts", () => {
    const session = instructed().answer("a", "report", { status: "proposal" }).deliver("a");
    expect(session.draft("a").context).not.toHaveProperty("refused");
  });

  it("counts as a retry, like failed work", () => {
    const session = instructed().answer("a", "report", { status: "proposal" }).fail("a").fireTimer("retry:a");
    session.answer("a", "report", { status: "proposal" });
    expect(session.moved).toEqual(["a: in_progress -work_stopped-> blocked (validation_failed)"]);
    expect(session.open).toContain("manager error a");
    expect(session.ticket("a").attempt).toBe(3);
  });

  it("keeps its count when checks send the work back", () => {
    const session = schedule().plan(task("a", { acceptance_criteria: [{ text: "passes", command: ["true"] }] }));
    session.instruct("a").fail("a").fireTimer("retry:a").deliver("a");
    session.finishChecks("a", false).answer("a", "report", { status: "proposal" });
    expect(session.open).toEqual(["worker instruction a"]);
    expect(session.answer("a", "report", { status: "proposal" }).open).toEqual(["manager error a"]);
  });

  it("is told to the next try, even if the turn failed for it", () => {
    const refused = [
      { payload_type: "report", code: "validation_failed", pointer: "/payload/status", message: "no such status" },
    ];
    const session = instructed().fail("a", "malformed_output", { refused }).fireTimer("retry:a");
    expect(session.draft("a").context["refused"]).toEqual(refused);
  });
});

describe("a manager that fails", () => {
  it("is asked again while its ticket stays as it is", () => {
    const session = instructed().deliver("a").fail("a", "timeout");
    expect([session.moved, session.status("a")]).toEqual([[], "awaiting_review"]);
    expect(session.open).toEqual(["manager ticket b", "retry:a in 1000 ms"]);
    session.fireTimer("retry:a");
    expect([session.moved, session.open]).toEqual([[], ["manager review_request a", "manager ticket b"]]);
  });

  it("is asked again about a blocked ticket", () => {
    const session = spent(instructed()).fail("a", "timeout");
    expect([session.moved, session.open]).toEqual([[], ["manager ticket b", "retry:a in 1000 ms"]]);
    session.fireTimer("retry:a");
    expect([session.moved, session.status("a"), session.open]).toEqual([
      [],
      "blocked (agent_failed)",
      ["manager error a", "manager ticket b"],
    ]);
  });

  it("is asked again about the requirement", () => {
    const session = schedule().requirement().fail(undefined, "timeout");
    expect(session.open).toEqual(["retry: in 1000 ms"]);
    expect(session.fireTimer("retry:").open).toEqual(["manager requirement"]);
  });

  it("stops the session at once without retries, and names the message", () => {
    const session = schedule({ config: { max_retries: 0 } })
      .requirement()
      .fail(undefined, "timeout");
    expect(session.last.step.commands).toMatchObject([
      { message: "the manager failed once on requirement (the requirement), with timeout" },
    ]);
  });

  it("stops the session when its retries are spent, and has them again on resume", () => {
    const session = instructed().deliver("a");
    session.fail("a", "timeout").fireTimer("retry:a").fail("a", "timeout").fireTimer("retry:a").fail("a", "no_answer");
    expect(session.last.step.commands).toEqual([
      {
        do: "stop_session",
        reason: "manager_failed",
        message: "the manager failed 3 times on review_request (ticket a), the last time with no_answer",
      },
    ]);
    expect([session.moved, session.status("a"), session.ended]).toEqual([[], "awaiting_review", undefined]);
    session.stop("manager_failed");
    expect(session.phase).toBe("stopped");
    session.recover();
    expect([session.phase, session.open]).toEqual(["running", ["manager review_request a", "manager ticket b"]]);
    session.fail("a", "timeout").fireTimer("retry:a").fail("a", "timeout");
    expect(session.open).toContain("retry:a in 2000 ms");
  });

  it("stops the session over the requirement too", () => {
    const session = schedule({ config: { max_retries: 0 } })
      .requirement()
      .fail(undefined, "timeout");
    expect(session.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
    expect(session.stop("manager_failed").recover().open).toEqual(["manager requirement"]);
  });

  it.each(["malformed_output", "cancelled"])("is told on resume what its last try had refused (%s)", (code) => {
    const refused = [{ payload_type: "plan", code: "validation_failed", pointer: "/tasks", message: "is missing" }];
    const session = schedule({ config: { max_retries: 0 } })
      .requirement()
      .fail(undefined, code, { refused });
    expect(session.stop("manager_failed").recover().draft().context["refused"]).toEqual(refused);
  });

  it("ends the ticket by giving up, or the session if it is about the requirement", () => {
    const ticket = schedule().plan(task("a"), task("b")).giveUp("a");
    expect(ticket.moved).toEqual([
      "a: pending -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    const review = instructed().deliver("a").giveUp("a");
    expect(review.moved).toEqual([
      "a: awaiting_review -work_stopped-> blocked (agent_failed)",
      "a: blocked -retries_exceeded-> error (agent_failed)",
    ]);
    expect(schedule().requirement().giveUp().report.ended).toBe("failed agent_failed");
  });
});

describe("an agent's error with a code that only a plan or a person may give", () => {
  const WITHDRAWN = { code: "withdrawn", message: "Nothing to see here" };

  it("counts as agent_failed, and fails the session", () => {
    const worker = schedule({ config: { max_retries: 0 } })
      .plan(task("a"))
      .instruct("a")
      .answer("a", "error", WITHDRAWN);
    expect(worker.moved).toEqual(["a: in_progress -work_stopped-> blocked (agent_failed)"]);
    const manager = schedule().plan(task("a"));
    for (const session of [worker.answer("a", "error", WITHDRAWN), manager.answer("a", "error", WITHDRAWN)]) {
      expect(session.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error agent_failed" } });
    }
  });

  test.each([
    "cancelled",
    "needs_input",
    "no_progress",
    "plan_rejected",
    "replanned",
    "result_rejected",
    "waiting_for_dependency",
  ])("is not recorded as %s", (code) => {
    const session = instructed().answer("a", "error", { code, message: "Nothing to see here" });
    expect(session.status("a")).toBe("blocked (agent_failed)");
  });
});

describe("an answer that the sender has no right to give", () => {
  test.each([
    ["a worker", "plan", { tasks: [task("evil")] }, "a"],
    ["a worker", "review", { decision: "approved" }, "a"],
    ["a worker", "instruction", INSTRUCTION, "a"],
    ["a worker", "instruction_proposal", INSTRUCTION, "a"],
    ["a worker", "clarification", asking("q"), "a"],
    ["a worker", "opinion", { round: 1, position: "No" }, "a"],
    ["a manager", "verdict", { conclusion: "No" }, "b"],
    ["a manager", "report", COMPLETED, "b"],
    ["a manager", "review", { decision: "approved" }, "b"],
    ["a manager", "plan", { tasks: [task("a")] }, "b"],
  ] as const)("%s: %s is refused, moves nothing, and the message is sent again", (_, type, payload, id) => {
    const session = instructed().admit(id);
    const before = [session.status("a"), session.status("b"), session.open];
    session.answer(id, type, payload);
    expect([session.last.disposition, session.refused, session.moved]).toEqual(["refused", "not_permitted", []]);
    expect([session.status("a"), session.status("b"), session.open]).toEqual(before);
    expect(session.draft(id).context["refused"]).toMatchObject([{ payload_type: type, code: "not_permitted" }]);
  });
});
