import { describe, expect, it, test } from "vitest";
import { APPROVED, asking, COMPLETED, INSTRUCTION, schedule, task } from "./session.ts";

const PROPOSAL = { summary: "This way?" };
const PROPOSED = { status: "proposal", summary: "Or that way" } as const;

describe("a ticket from plan to done", () => {
  it("is instructed, delivered, reviewed and done", () => {
    const session = schedule().requirement();
    session.nextTurn("boss").answer("plan", { tasks: [task("a")] });
    expect(session.moved).toEqual(["a: nothing -created-> pending"]);
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket a"]]);

    const planned = session.nextTurn("boss");
    expect(planned.request).toMatchObject({ role_id: "boss", message: { payload_type: "ticket" } });
    planned.answer("instruction", INSTRUCTION);
    expect(session.moved).toEqual(["a: pending -instruction_received-> in_progress"]);

    const work = session.nextTurn("hand");
    expect(work.request).toMatchObject({ message: { payload_type: "instruction", payload: INSTRUCTION } });
    work.answer("report", COMPLETED);
    expect(session.moved).toEqual(["a: in_progress -report_completed-> awaiting_review"]);

    const review = session.nextTurn("boss");
    expect(review.request).toMatchObject({ message: { payload_type: "review_request" } });
    review.answer("review", APPROVED);
    expect(session.moved).toEqual(["a: awaiting_review -approved-> done"]);
    expect([session.phase, session.open]).toEqual(["closed", []]);
    expect(session.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("begins when the last of its dependencies is done", () => {
    const session = schedule().plan(task("a"), task("b"), task("c", { dependencies: ["a", "b"] }));
    expect(session.open).toEqual(["manager ticket a", "manager ticket b"]);
    for (const id of ["a", "b"]) session.instruct(id).deliver(id);
    session.approve("a");
    expect(session.open).toEqual(["manager review_request b"]);
    session.approve("b");
    expect(session.open).toEqual(["manager ticket c"]);
  });

  it("begins with others in the order of the plan", () => {
    const session = schedule().plan(task("z"), task("c", { dependencies: ["z"] }), task("a", { dependencies: ["z"] }));
    session.instruct("z").deliver("z").approve("z");
    expect(session.last.step.commands).toMatchObject([
      { do: "offer_turn", subject: "c" },
      { do: "offer_turn", subject: "a" },
    ]);
  });

  it("goes straight to a worker if the plan gives its instruction", () => {
    const session = schedule().plan(task("a", { instruction: INSTRUCTION }));
    expect([session.status("a"), session.open]).toEqual(["pending", ["worker instruction a"]]);
    session.admit("a");
    expect(session.moved).toEqual(["a: pending -instruction_received-> in_progress"]);
  });

  it("reserves the seat that it is assigned to while the manager instructs it", () => {
    const session = schedule().plan(
      task("a", { assigned_to: { role_id: "eye" } }),
      task("b", { assigned_to: { capability: "coding" } }),
    );
    expect(session.last.step.commands).toMatchObject([
      { do: "set_timer", timer_id: "notice" },
      { do: "offer_turn", subject: "a", seat: { type: "manager" }, reserve: { type: "worker", role_id: "eye" } },
      { do: "offer_turn", subject: "b", seat: { type: "manager" }, reserve: { type: "worker", capability: "coding" } },
    ]);
    session.instruct("a");
    expect(session.open).toEqual(["eye instruction a", "manager ticket b"]);
    session.admit("a");
    expect(session.ticket("a").owner).toBe("eye");
  });

  it("counts an attempt each time a worker takes its instruction", () => {
    const session = schedule().plan(task("a")).instruct("a");
    expect(session.ticket("a").attempt).toBe(0);
    session.admit("a");
    expect(session.ticket("a").attempt).toBe(1);
    const attempt = () => [...session.engine.ledger.turns.values()][0]?.attempt;
    session.deliver("a");
    expect(attempt()).toBe(1);
    session.sendBack("a");
    expect([attempt(), session.ticket("a").attempt]).toEqual([2, 1]);
    session.deliver("a");
    expect([attempt(), session.ticket("a").attempt]).toEqual([2, 2]);
  });

  it("is asked about in the order error, review, report, instruction, ticket", () => {
    const session = schedule().plan(...["a", "b", "c", "d", "e"].map((id) => task(id)));
    for (const id of ["b", "c", "d", "e"]) session.instruct(id);
    session.block("c", "q");
    session.deliver("d").block("e");
    const byPriority = [...session.engine.ledger.turns.values()].toSorted((a, b) => a.priority - b.priority);
    expect(byPriority.map((turn) => turn.subject)).toEqual(["e", "d", "c", "b", "a"]);
  });
});

describe("a ticket is discussed because of", () => {
  test.each([
    ["a task without risks", {}, "risk", false],
    ["a risk", { risks: ["loses data"] }, "risk", true],
    ["a risk given as an object", { risks: [{ text: "loses data" }] }, "risk", true],
    ["an expected output that sounds risky", { expected_outputs: ["a database migration"] }, "risk", true],
    [
      "such an output in capitals, as an object",
      { expected_outputs: [{ text: "DEPLOYMENT of the site" }] },
      "risk",
      true,
    ],
    ["an output that only contains a risky word", { expected_outputs: ["a droplet counter"] }, "risk", false],
    ["a risky output in Chinese", { expected_outputs: ["部署到生产环境"] }, "risk", true],
    ["a harmless output in Chinese", { expected_outputs: ["一份测试报告"] }, "risk", false],
    ["a risky word between Chinese words", { expected_outputs: ["把它deploy到服务器"] }, "risk", true],
    ["an own pattern", { expected_outputs: ["the live  Site"] }, { patterns: ["live site", "上架"] }, true],
    ["an own pattern in Chinese", { expected_outputs: ["商品上架完成"] }, { patterns: ["live site", "上架"] }, true],
    ["a usual word, where there are own patterns", { expected_outputs: ["deployment"] }, { patterns: ["C++"] }, false],
    ["a pattern with signs", { expected_outputs: ["a C++ build"] }, { patterns: ["C++"] }, true],
    ["a pattern with a hyphen", { expected_outputs: ["Go-live of the shop"] }, { patterns: ["go-live"] }, true],
    ["a part of a word", { expected_outputs: ["alive sites"] }, { patterns: ["live site"] }, false],
    ["a risk, where there are no patterns", { risks: ["loses data"] }, { patterns: [] }, true],
    ["an output, where there are no patterns", { expected_outputs: ["deployment"] }, { patterns: [] }, false],
    ["proposal_needed", { proposal_needed: true }, "risk", true],
    ["a risk that the plan says needs none", { risks: ["small"], proposal_needed: false }, "risk", false],
    ["nothing, where the configuration always discusses", {}, "always", true],
    ["a risk, where the configuration never discusses", { risks: ["loses data"] }, "never", false],
    ["proposal_needed, where the configuration never discusses unasked", { proposal_needed: true }, "never", true],
  ] as const)("%s", (_, more, proposal, discuss) => {
    const session = schedule({ config: { proposal } }).plan(task("a", more));
    expect(session.draft("a").discuss).toBe(discuss);
    session.admit("a");
    expect(session.moved).toEqual(discuss ? ["a: pending -proposal_needed-> discussing"] : []);
  });
});

describe("a discussion", () => {
  const discussed = () =>
    schedule()
      .plan(task("a", { risks: ["breaks"] }))
      .admit("a");

  it("goes from proposal to report to the final instruction", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL);
    expect([session.moved, session.open]).toEqual([[], ["worker instruction_proposal a"]]);
    session.answer("a", "report", PROPOSED);
    expect([session.status("a"), session.open]).toEqual(["discussing", ["manager report a"]]);
    session.instruct("a");
    expect(session.moved).toEqual(["a: discussing -instruction_finalized-> in_progress"]);
    expect(session.open).toEqual(["worker instruction a"]);
  });

  it("keeps the proposal and its answer in the ticket's history", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL);
    const proposal = session.sequence;
    session.answer("a", "report", PROPOSED);
    expect(session.ticket("a").history).toEqual([proposal, session.sequence]);
  });

  it("is skipped if the manager instructs at once", () => {
    expect(discussed().instruct("a").moved).toEqual(["a: discussing -instruction_finalized-> in_progress"]);
  });

  it("begins when the manager proposes without being asked to", () => {
    const session = schedule().plan(task("a")).answer("a", "instruction_proposal", PROPOSAL);
    expect(session.moved).toEqual(["a: pending -proposal_needed-> discussing"]);
  });

  it("lets the worker ask questions instead of answering", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL);
    session.block("a", "q");
    expect([session.status("a"), session.open]).toEqual(["discussing", ["manager report a"]]);
  });

  test.each([
    ["error", { status: "error" }],
    ["error, with questions", { status: "error", questions: asking("q").questions }],
    ["blocked", { status: "blocked" }],
  ])("escalates when the worker reports %s", (_, report) => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL).answer("a", "report", report);
    expect(session.moved).toEqual(["a: discussing -work_stopped-> blocked (agent_failed)"]);
    expect([session.status("a"), session.open]).toEqual(["blocked (agent_failed)", ["manager error a"]]);
  });

  it("asks a worker again when one gives up", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL).giveUp("a");
    expect([session.status("a"), session.open]).toEqual(["discussing", ["retry:a in 1000 ms"]]);
    expect(session.fireTimer("retry:a").open).toEqual(["worker instruction_proposal a"]);
  });

  it("asks a worker again when one fails, and then escalates", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL).fail("a", "timeout");
    expect([session.status("a"), session.open]).toEqual(["discussing", ["retry:a in 1000 ms"]]);
    session.fireTimer("retry:a").fail("a", "timeout").fireTimer("retry:a").fail("a", "timeout");
    expect(session.moved).toEqual(["a: discussing -work_stopped-> blocked (timeout)"]);
    session.instruct("a");
    expect(session.moved).toEqual(["a: blocked -unblocked-> in_progress"]);
  });

  it("refuses finished work as an answer to a proposal", () => {
    const session = discussed().answer("a", "instruction_proposal", PROPOSAL).deliver("a");
    expect([session.refused, session.status("a"), session.open]).toEqual([
      "validation_failed /status",
      "discussing",
      ["worker instruction_proposal a"],
    ]);
  });
});
