import { describe, expect, it, test } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { attemptsLeft } from "../../../src/modes/schedule/attempts.ts";
import type { Settings } from "../../../src/modes/schedule/state.ts";
import { COMPLETED, INSTRUCTION, type Options, runs, schedule, type ScheduleSession, task } from "./session.ts";

const CHECKED = task("a", { acceptance_criteria: [runs("true")] });
const GIVEN_UP = "a: blocked -retries_exceeded-> error";

function instructed(options: Options = {}, planned = task("a")): ScheduleSession {
  return schedule(options).plan(planned, task("b")).instruct("a");
}

/** Failed checks, always with the same output. */
function failSame(session: ScheduleSession, output = "no such file"): ScheduleSession {
  const [checks] = session.engine.ledger.checks.values();
  const results = [{ criterion: runs("true"), exit_code: 1, passed: false, output, duration_ms: session.sequence }];
  const payload = { check_id: checks?.check_id, results } as JsonObject;
  return session.submit("scheduler", "check_result", payload, { subject: "a" });
}

describe("max_attempts", () => {
  test.each<[string, Options["config"], (session: ScheduleSession) => void, string]>([
    ["retries and escalations", {}, (session) => session.fail("a", "timeout"), "timeout"],
    ["errors of the worker", {}, (session) => session.giveUp("a"), "agent_failed"],
    ["refused reports", {}, (session) => session.answer("a", "report", { status: "proposal" }), "validation_failed"],
    ["checks", { check_rounds: 9 }, (session) => session.deliver("a").finishChecks("a", false), "checks_failed"],
    ["check and review rounds", {}, (session) => session.deliver("a").finishChecks("a", false), "checks_failed"],
    ["reviews", {}, (session) => session.deliver("a").finishChecks("a", true).sendBack("a"), "checks_failed"],
    ["questions", {}, (session) => session.block("a", "why"), "needs_input"],
    ["reports that are blocked", { max_escalations: 9 }, (session) => session.block("a"), "needs_input"],
  ])("ends %s together, and says so", (_, config, work, reason) => {
    const session = instructed({ config: { max_attempts: 4, max_escalations: 9, ...config } }, CHECKED);
    while (session.ticket("a").status !== "error") {
      if (session.open.includes("worker instruction a")) work(session);
      else if (session.open.some((line) => line.startsWith("retry:a"))) session.fireTimer("retry:a");
      else if (session.open.includes("manager review_request a")) session.sendBack("a");
      else session.instruct("a");
    }
    expect(session.moved.at(-1)).toBe(`${GIVEN_UP} (${reason})`);
    expect(session.ticket("a")).toMatchObject({ attempt: 4, reason, spent: "max_attempts" });
    expect(session.last.envelopes.at(-1)).toMatchObject({
      target: "user",
      payload_type: "error",
      subject: "a",
      payload: { code: reason, message: expect.stringContaining("all 4 attempts are spent (max_attempts)") },
    });
    expect(session.answer("b", "error", { code: "agent_failed", message: "No" }).report.whole["tickets"]).toMatchObject(
      [{ ticket_id: "a", status: "error", reason, attempts: 4, spent: "max_attempts" }, { ticket_id: "b" }],
    );
  });

  it("asks the manager no more when no attempt is left", () => {
    const session = instructed({ config: { max_attempts: 1 } }).fail("a");
    expect(session.moved).toEqual([
      "a: in_progress -work_stopped-> blocked (agent_failed)",
      `${GIVEN_UP} (agent_failed)`,
    ]);
    expect(session.open).toEqual(["manager ticket b"]);
  });

  test.each([
    [1, 6, 1],
    [6, 2, 2],
  ])("is the task's own %i, but not more than the configured %i", (own, max_attempts, attempts) => {
    const session = instructed({ config: { max_attempts } }, task("a", { max_attempts: own }));
    while (session.ticket("a").status !== "error") {
      session.fail("a");
      if (session.open.some((line) => line.startsWith("retry:a"))) session.fireTimer("retry:a");
    }
    expect(session.ticket("a").attempt).toBe(attempts);
  });

  it("tells the manager how many attempts are left", () => {
    const session = instructed({ config: { max_attempts: 4, max_retries: 0 } }).fail("a");
    expect(session.draft("a").message.payload).toMatchObject({
      message: "ticket a is blocked (agent_failed) after 1 attempts; 3 more are allowed",
    });
  });

  it("begins afresh with a person's retry of a ticket in error", () => {
    const session = instructed({ config: { max_attempts: 2 } });
    session.fail("a").fireTimer("retry:a").fail("a").command("retry", "a");
    expect(session.ticket("a")).not.toHaveProperty("spent");
    session.fail("a").fireTimer("retry:a");
    expect(session.open).toContain("worker instruction a");
    session.fail("a");
    expect([session.ticket("a").attempt, session.status("a")]).toEqual([4, "error (agent_failed)"]);
  });

  it("begins afresh with a person's retry of a ticket that waits for its back-off", () => {
    const session = instructed({ config: { max_attempts: 2 } })
      .fail("a")
      .command("retry", "a")
      .fail("a");
    expect(session.open).toContain("retry:a in 2000 ms");
  });

  it("begins afresh with a person's request for changes", () => {
    const session = instructed({ config: { max_attempts: 1 } }, task("a", { review: "user" })).deliver("a");
    session.send("review", { ticket_id: "a", decision: "changes_requested" });
    expect(session.open).toContain("worker instruction a");
  });

  it("counts on through a plan of the manager", () => {
    const session = instructed({ config: { max_attempts: 2, max_retries: 0 } }).fail("a");
    session.replan("a", task("a", { description: "Do it otherwise" }), task("b"));
    session.instruct("a").fail("a");
    expect(session.ticket("a")).toMatchObject({ attempt: 2, status: "error", spent: "max_attempts" });
  });

  it("ends a ticket again that a plan restarts without an attempt left", () => {
    const session = instructed({ config: { max_attempts: 2, max_retries: 0 } })
      .fail("a")
      .instruct("a")
      .fail("a");
    session
      .instruct("b")
      .fail("b")
      .replan("b", task("a", { description: "Do it otherwise" }), task("b"));
    expect(session.moved.filter((line) => line.startsWith("a:"))).toEqual([
      "a: error -manual_reset-> pending (replanned)",
      "a: pending -work_stopped-> blocked (agent_failed)",
      `${GIVEN_UP} (agent_failed)`,
    ]);
  });

  it("ends a ticket without an attempt left when another that writes the same file ends", () => {
    const shared = { description: "Do it otherwise", writes: ["src/a.ts"] };
    const session = instructed({ config: { max_attempts: 2, max_retries: 0 } });
    session.fail("a").instruct("a").fail("a").instruct("b").fail("b");
    session.replan("b", task("b", shared), task("a", shared)).instruct("b");
    expect([session.status("a"), session.open]).toEqual(["pending", ["worker instruction b"]]);
    session.fail("b");
    expect(session.moved.slice(-2)).toEqual([
      "a: pending -work_stopped-> blocked (agent_failed)",
      `${GIVEN_UP} (agent_failed)`,
    ]);
    expect(session.state.session?.phase).toBe("closed");
  });

  it("does not count a turn that was held", () => {
    const session = instructed({ config: { max_attempts: 1 } }).fail("a", "rate_limited");
    expect(session.open).toContain("worker instruction a");
    expect(session.deliver("a").open).toContain("manager review_request a");
  });

  it("is 6 for a session of earlier rules, whose settings have none", () => {
    const session = instructed();
    const { max_attempts: _, ...settings }: Partial<Settings> = session.state.session?.settings ?? {};
    expect(attemptsLeft(settings as Settings, { ...session.ticket("a"), attempt: 4 })).toBe(2);
  });
});

describe("a failure that repeats the one before it", () => {
  const SAME = { message: "It exited with 3", details: { exit_code: 3, stderr_tail: "No key" } };

  it("goes to the manager at once, also after a new instruction", () => {
    const session = instructed().fail("a", "agent_failed", SAME);
    expect(session.open).toContain("retry:a in 1000 ms");
    session.fireTimer("retry:a").fail("a", "agent_failed", SAME);
    expect(session.open).toEqual(["manager error a", "manager ticket b"]);
    session.instruct("a").fail("a", "agent_failed", SAME);
    expect([session.ticket("a").attempt, session.open]).toEqual([3, ["manager error a", "manager ticket b"]]);
    session.instruct("a").fail("a", "agent_failed", SAME);
    expect(session.moved.at(-1)).toBe(`${GIVEN_UP} (agent_failed)`);
    expect(session.ticket("a")).not.toHaveProperty("spent");
  });

  test.each<[string, string, JsonObject]>([
    ["code", "timeout", SAME],
    ["message", "agent_failed", { ...SAME, message: "It exited with 4" }],
    ["last words", "agent_failed", { ...SAME, details: { ...SAME.details, stderr_tail: "No such key" } }],
    [
      "refused line",
      "agent_failed",
      { ...SAME, refused: [{ payload_type: "report", code: "validation_failed", pointer: "", message: "no" }] },
    ],
  ])("is one with another %s no longer", (_, code, more) => {
    const session = instructed().fail("a", "agent_failed", SAME).fireTimer("retry:a").fail("a", code, more);
    expect(session.open).toContain("retry:a in 2000 ms");
  });

  test.each<[string, (session: ScheduleSession) => ScheduleSession]>([
    ["a refused report", (session) => session.answer("a", "report", { status: "proposal" })],
    ["an answer without the right", (session) => session.answer("a", "review", { decision: "approved" })],
    ["an error", (session) => session.giveUp("a")],
    ["a report of an error", (session) => session.answer("a", "report", { status: "error", summary: "1 finding" })],
  ])("may be %s", (_, work) => {
    const session = work(instructed());
    if (session.open.some((line) => line.startsWith("retry:a"))) session.fireTimer("retry:a");
    expect(session.open).toContain("worker instruction a");
    expect(work(session).open).toContain("manager error a");
  });

  it("may be a refused proposal", () => {
    const session = schedule().plan(task("a"), task("b")).answer("a", "instruction_proposal", INSTRUCTION);
    session.fail("a", "no_answer", SAME).fireTimer("retry:a").fail("a", "no_answer", SAME);
    expect(session.open).toContain("manager error a");
  });

  it("may be checks, whatever time they took", () => {
    const session = failSame(instructed({}, CHECKED).deliver("a"));
    expect(session.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress (checks_failed)"]);
    failSame(session.deliver("a"));
    expect(session.moved).toEqual(["a: awaiting_review -work_stopped-> blocked (checks_failed)"]);
    expect(session.open).toContain("manager error a");
    expect(session.draft("a").expects).toContain("review");
  });

  it("is no repetition when checks print something else", () => {
    const session = failSame(instructed({}, CHECKED).deliver("a"));
    failSame(session.deliver("a"), "no such folder");
    expect(session.open).toContain("worker instruction a");
  });

  it("is no repetition when work passed in between", () => {
    const session = instructed().fail("a", "agent_failed", SAME).fireTimer("retry:a");
    session.answer("a", "report", COMPLETED).sendBack("a").fail("a", "agent_failed", SAME);
    expect(session.open).toContain("retry:a in 2000 ms");
  });

  it("is no repetition after a person's retry", () => {
    const session = instructed().fail("a", "agent_failed", SAME).command("retry", "a").fail("a", "agent_failed", SAME);
    expect(session.open).toContain("retry:a in 2000 ms");
  });
});
