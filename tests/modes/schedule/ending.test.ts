import { describe, expect, it, test } from "vitest";
import type { PayloadByType } from "../../../src/protocol/payload.ts";
import { computing } from "../../computing.ts";
import { COMPLETED, runs, schedule, task } from "./session.ts";

describe("a session ends", () => {
  it("when every ticket is done", () => {
    expect(schedule().plan(task("a"), task("b")).complete("a").ended).toBeUndefined();
    expect(schedule().plan(task("a"), task("b")).complete("a", "b").report.ended).toBe("done");
  });

  it("as failed when all others wait for a ticket in error, and names it", () => {
    const session = schedule().plan(
      task("a"),
      task("b", { dependencies: ["a"] }),
      task("c", { dependencies: ["b"] }),
      task("d", { dependencies: ["c", "e"] }),
      task("e"),
    );
    session.giveUp("a");
    expect([session.ended, session.open]).toEqual([undefined, ["manager ticket e"]]);
    const { ended, tickets, whole } = session.complete("e").report;
    expect([ended, tickets]).toEqual([
      "failed tickets_failed",
      {
        a: "error agent_failed",
        b: "pending waiting_for_dependency by a",
        c: "pending waiting_for_dependency by a",
        d: "pending waiting_for_dependency by a",
        e: "done",
      },
    ]);
    expect(whole["next_steps"]).toEqual(["bosun log a", "bosun retry a"]);
    const alone = schedule().plan(task("a"), task("b")).giveUp("a");
    expect(alone.complete("b").report.whole["next_steps"]).toEqual(["bosun log a", "bosun retry a"]);
    const many = Array.from({ length: 12 }, (_, index) => task(`t${index}`));
    const lost = schedule().plan(...many);
    for (const { task_id } of many) lost.giveUp(task_id);
    expect(lost.report.whole["next_steps"]).toHaveLength(20);
    const unplanned = schedule().requirement().giveUp();
    expect(unplanned.report.whole["next_steps"]).toEqual(["bosun log"]);
    const cancelled = schedule().plan(task("a")).command("cancel");
    expect(cancelled.report.whole["next_steps"]).toEqual(["bosun log"]);
  });

  it("when the last open ticket fails", () => {
    const session = schedule()
      .plan(task("a"), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] }))
      .giveUp("a");
    expect(session.report.ended).toBe("failed tickets_failed");
  });

  it("only when all are over, also if a blocked ticket is cancelled", () => {
    const session = schedule().plan(task("a"), task("b", { dependencies: ["a"] }), task("c"), task("d"));
    session.giveUp("a").command("cancel", "b");
    expect(session.complete("c").ended).toBeUndefined();
    expect(session.complete("d").report.ended).toBe("failed tickets_failed");
  });

  it("when the last fails after its dependent was cancelled", () => {
    const session = schedule()
      .plan(task("a"), task("b", { dependencies: ["a"] }))
      .command("cancel", "b");
    expect(session.ended).toBeUndefined();
    const { ended, tickets, whole } = session.giveUp("a").report;
    expect([ended, tickets]).toEqual(["failed tickets_failed", { a: "error agent_failed", b: "error cancelled" }]);
    expect(whole["tickets"]).toMatchObject([{ reviews: 0 }, { reviews: 0 }]);
  });

  it("with the plan's summary as requirement, if there is no other", () => {
    const plan = { summary: "Mend the roof", tasks: [task("a")] };
    const session = schedule({ input: { plan_given: true } }).send("plan", plan);
    expect(session.complete("a").report.whole).toMatchObject({ requirement: "Mend the roof" });
    const unsaid = schedule({ input: { plan_given: true } }).send("plan", { tasks: [task("a")] });
    expect(unsaid.complete("a").report.whole).not.toHaveProperty("requirement");
  });

  it("as done if the other tickets were withdrawn by a plan", () => {
    const session = schedule().plan(task("a"), task("b")).instruct("a").block("a");
    session.replan("a", task("b")).complete("b");
    expect(session.report).toMatchObject({ ended: "done", tickets: { a: "error withdrawn", b: "done" } });
  });

  it("with a report of each ticket's work", () => {
    const session = schedule().requirement("Mend the roof").replan(undefined, task("b"), task("a"));
    session.instruct("b").admit("b");
    session
      .answer("b", "artifact_ref", { label: "roof", uri: "roof.txt" })
      .answer("b", "artifact_ref", { label: "plan", uri: "plan.txt" })
      .answer("b", "artifact_ref", { label: "roof", uri: "roof2.txt" });
    session
      .answer("b", "report", {
        ...COMPLETED,
        summary: "It is tight.",
        outputs: ["a roof"],
        issues: ["a leak"],
        next_actions: ["mend it"],
      })
      .approve("b");
    session.complete("a");
    expect(session.report.whole).toEqual({
      requirement: "Mend the roof",
      tickets: [
        {
          ticket_id: "b",
          task_id: "b",
          description: "Do b",
          status: "done",
          attempts: 1,
          reviews: 1,
          owner: "hand",
          summary: "It is tight.",
          outputs: ["a roof"],
          issues: ["a leak"],
          next_actions: ["mend it"],
          artifacts: [
            { label: "plan", uri: "plan.txt" },
            { label: "roof", uri: "roof2.txt" },
          ],
        },
        {
          ticket_id: "a",
          task_id: "a",
          description: "Do a",
          status: "done",
          attempts: 1,
          reviews: 1,
          owner: "hand",
          artifacts: [],
        },
      ],
      next_steps: ["bosun replay --verify"],
    });
  });

  it("with a report of a person's answers, ticket by ticket", () => {
    const session = schedule()
      .requirement()
      .ask(undefined, "lang", "style")
      .answerQuestions({ lang: "Rust" }, "complete")
      .replan(undefined, task("a"), task("b"))
      .ask("b", "size")
      .ask("a", "colour")
      .answerQuestions({ colour: "green" })
      .answerQuestions({ size: "large" });
    session.complete("a", "b");
    expect(session.report.whole["clarifications"]).toEqual([
      { question: "What of lang?", answer: "Rust" },
      { question: "What of colour?", answer: "green", ticket_id: "a" },
      { question: "What of size?", answer: "large", ticket_id: "b" },
    ]);
  });

  it("with a report of whether each ticket's last checks passed", () => {
    const checks = { acceptance_criteria: [runs("npm", "test")], review: "checks" } as const;
    const session = schedule({ config: { check_rounds: 1, max_escalations: 0 } })
      .plan(task("a", checks), task("b", checks), task("c"))
      .instruct("a")
      .deliver("a")
      .finishChecks("a", false)
      .deliver("a")
      .finishChecks("a", true)
      .instruct("b")
      .deliver("b")
      .finishChecks("b", true, false)
      .deliver("b")
      .finishChecks("b", false);
    const { tickets } = session.complete("c").report.whole as unknown as PayloadByType["final_report"];
    expect(tickets.map((ticket) => [ticket.status, ticket.checks_passed])).toEqual([
      ["done", true],
      ["error", false],
      ["done", undefined],
    ]);
  });

  it("as failed with no_progress if nothing is open", () => {
    expect(schedule().plan(task("a")).stop("no_progress").report).toMatchObject({
      ended: "failed no_progress",
      tickets: { a: "error no_progress" },
    });
  });

  it("quickly when the first of a chain of ten thousand tickets fails", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      task(`t${index}`, index === 0 ? {} : { dependencies: [`t${index - 1}`] }),
    );
    const session = schedule({ unchecked: true }).plan(...chain);
    expect(computing(() => session.giveUp("t0"))).toBeLessThan(3000);
    expect(session.ended?.outcome).toBe("failed");
  });

  it("quickly with 2^30 paths from the failed ticket to the last", () => {
    const layers = Array.from({ length: 30 }, (_, layer) =>
      ["l", "r"].map((side) =>
        task(`${side}${layer}`, { dependencies: layer === 0 ? ["a"] : [`l${layer - 1}`, `r${layer - 1}`] }),
      ),
    );
    const session = schedule({ unchecked: true }).plan(task("a"), ...layers.flat());
    expect(computing(() => session.giveUp("a"))).toBeLessThan(3000);
    expect(session.report.tickets).toMatchObject({ r29: "pending waiting_for_dependency by a" });
  });
});

describe("a stop", () => {
  it("keeps open turns, which are repeated under a higher run", () => {
    const session = schedule().plan(task("a"), task("b")).instruct("a").admit("a");
    const turn = { turn_id: session.ticket("a").turn?.turn_id ?? "", subject: "a", attempt: 1, run: 1 };
    session.stop();
    expect([session.phase, session.ended, session.open]).toEqual([
      "stopped",
      undefined,
      ["manager ticket b", "worker instruction a"],
    ]);
    session.recover();
    expect([session.phase, session.moved, session.engine.ledger.turns.get(turn.turn_id)]).toMatchObject([
      "running",
      [],
      { status: "offered", run: 2 },
    ]);
    session.submit("hand", "report", COMPLETED, { subject: "a", turn });
    expect(session.last.disposition).toBe("late");
    session.deliver("a");
    expect([session.moved, session.ticket("a").attempt]).toEqual([
      ["a: in_progress -report_completed-> awaiting_review"],
      1,
    ]);
  });

  it("keeps the interrupted phase if it comes twice", () => {
    const session = schedule().requirement().stop().stop("waiting").recover();
    expect([session.phase, session.open]).toEqual(["planning", ["manager requirement"]]);
  });

  it("by a crash changes only the runs", () => {
    const session = schedule().plan(task("a")).admit("a").recover(false);
    expect([session.phase, session.open, session.engine.ledger.figures.recoveries]).toEqual([
      "running",
      ["manager ticket a"],
      1,
    ]);
  });

  it("keeps timers", () => {
    const session = schedule().plan(task("a")).instruct("a").fail("a").stop().recover().fireTimer("retry:a");
    expect(session.moved).toEqual(["a: blocked -retry-> in_progress"]);
  });

  it("ends on resume if all tickets are over", () => {
    const session = schedule().plan(task("a"), task("b")).giveUp("a").stop().command("cancel", "b");
    expect([session.phase, session.ended]).toEqual(["stopped", undefined]);
    expect(session.recover().report.ended).toBe("failed tickets_failed");
  });
});

describe("a dependency that takes long", () => {
  const waiting = () =>
    schedule({ config: { dependency_notice_s: 60 } }).plan(task("a"), task("b", { dependencies: ["a"] }), task("c"));

  it("is reported as blocked, again and again, with the waiting tickets", () => {
    const session = waiting();
    expect(session.engine.ledger.timers.get("notice")).toEqual({ due_at: "2026-01-01T00:01:03Z", passive: true });
    session.instruct("a").fireTimer("notice");
    expect(session.last.envelopes).toEqual([]);
    session.fireTimer("notice");
    const issues = [expect.stringMatching(/^a is in_progress since 2026-01-01T00:00:05Z and holds up b$/)];
    expect(session.last.envelopes).toEqual([
      {
        target: "boss",
        payload_type: "report",
        subject: "a",
        payload: {
          status: "blocked",
          summary: { $from: [4, "/tasks/0/description"] },
          issues,
          metadata: { reason: "waiting_for_dependency", ticket_ids: ["b"] },
        },
      },
    ]);
    expect([session.moved, session.fireTimer("notice").last.envelopes.length]).toEqual([[], 1]);
  });

  it("is in the ticket's history for the manager", () => {
    const session = waiting().instruct("a").fireTimer("notice");
    const notice = session.fireTimer("notice").sequence + 1;
    expect(session.lookup.record(notice).payload).toMatchObject({ status: "blocked" });
    session.deliver("a");
    expect(session.draft("a").context["history"]).toEqual({ $history: [expect.any(Number), notice, session.sequence] });
  });

  it("does not crowd out the history, however often it is reported", () => {
    const session = waiting().instruct("a");
    const instructed = session.sequence;
    session.fail("a").fireTimer("retry:a");
    const failed = [instructed, expect.any(Number)];
    for (let hour = 0; hour < 30; hour += 1) session.fireTimer("notice");
    const notice = session.sequence + 1;
    session.deliver("a");
    expect(session.draft("a").context["history"]).toEqual({ $history: [...failed, notice, session.sequence] });
  });

  it("is not reported if no ticket waits for it", () => {
    const session = waiting().instruct("c").fireTimer("notice").fireTimer("notice");
    expect(session.last.envelopes).toEqual([]);
  });

  it("is not reported for cancelled dependents", () => {
    const session = waiting().command("cancel", "b").instruct("a").fireTimer("notice").fireTimer("notice");
    expect(session.last.envelopes).toEqual([]);
  });

  it("is reported with ten waiting tickets, and the number of the others", () => {
    const many = Array.from({ length: 12 }, (_, index) => task(`w${index}`, { dependencies: ["a"] }));
    const session = schedule({ config: { dependency_notice_s: 1 } })
      .plan(task("a"), ...many)
      .instruct("a")
      .fireTimer("notice")
      .fireTimer("notice");
    const named = many.slice(0, 10).map(({ task_id }) => task_id);
    expect(session.last.envelopes[0]?.payload).toMatchObject({
      issues: [expect.stringContaining(`holds up ${named.join(", ")} and 2 more`)],
      metadata: { ticket_ids: named },
    });
  });

  it("is not watched in a closed session", () => {
    const session = waiting().complete("a", "b", "c");
    expect(session.fireTimer("notice").last.disposition).toBe("late");
  });
});

describe("an unexpected fact", () => {
  test.each([
    ["ticket", { ticket_id: "a", task_id: "a", status: "done" }],
    ["review_request", { ticket_id: "a", report: COMPLETED }],
    ["session_closed", { outcome: "done", exit_code: 0 }],
    ["approval_request", { subject: "plan", ask_id: "a9" }],
    ["requirement", { text: "Another" }],
    ["error", { code: "agent_failed", message: "In nobody's turn" }],
    ["clarification", { questions: [], status: "complete" }],
  ] as const)("is refused and moves nothing: %s", (type, payload) => {
    const session = schedule().plan(task("a"));
    session.submit("scheduler", type, payload);
    expect([session.last.disposition, session.refused, session.moved, session.open]).toEqual([
      "refused",
      "not_permitted",
      [],
      ["manager ticket a"],
    ]);
  });

  it("is refused: a second opening", () => {
    const session = schedule().plan(task("a"));
    session.submit("scheduler", "session_opened", session.records[0]?.payload ?? {});
    expect([session.refused, session.status("a")]).toEqual(["not_permitted", "pending"]);
  });
});
