import { describe, expect, it, test } from "vitest";
import { asking, COMPLETED, INSTRUCTION, schedule, task } from "./session.ts";

const NO_QUESTIONS = { questions: [], status: "complete" } as const;

describe("questions about the requirement", () => {
  it("wait for a person, whose answers go to the manager", () => {
    const session = schedule()
      .requirement()
      .answer(undefined, "clarification", { ...asking("lang", "style"), intent_summary: "A tool" });
    expect([session.phase, session.open]).toEqual(["clarifying", ["ask questions c1"]]);
    expect(session.last.step.commands).toEqual([
      { do: "ask", ask_id: "c1", kind: "questions", open: ["lang", "style"], record: session.sequence },
    ]);
    const asked = session.sequence;
    session.answerQuestions({ lang: "Rust", "c1.style": "Plain" });
    expect([session.phase, session.open]).toEqual(["planning", ["manager clarification_response"]]);
    expect(session.draft().message.payload).toEqual({
      answers: [
        { question_id: "c1.lang", text: { $from: [session.sequence, "/answers/0/text"] } },
        { question_id: "c1.style", text: { $from: [session.sequence, "/answers/1/text"] } },
      ],
      status: "answered",
    });
    expect(session.draft().context["clarifications"]).toEqual([
      { question: { $from: [asked, "/questions/0/text"] }, answer: { $from: [session.sequence, "/answers/0/text"] } },
      { question: { $from: [asked, "/questions/1/text"] }, answer: { $from: [session.sequence, "/answers/1/text"] } },
    ]);
  });

  it("may be answered one by one; the last answer goes on", () => {
    const session = schedule().requirement().ask(undefined, "lang", "style");
    const first = session.answerQuestions({ style: "Plain" }).sequence;
    expect([session.last.disposition, session.phase, session.open]).toEqual([
      "applied",
      "clarifying",
      ["ask questions c1"],
    ]);
    session.answerQuestions({ lang: "Rust" });
    expect(session.draft().message.payload).toMatchObject({
      answers: [{ question_id: "c1.lang" }, { question_id: "c1.style", text: { $from: [first, "/answers/0/text"] } }],
    });
  });

  it("end with complete: the manager decides the rest and may not ask again", () => {
    const session = schedule()
      .requirement()
      .ask(undefined, "lang", "style")
      .answerQuestions({ lang: "Rust" }, "complete");
    expect(session.draft().message.payload).toMatchObject({
      answers: [{ question_id: "c1.lang" }],
      status: "complete",
    });
    expect(session.draft().context["clarifications"]).toMatchObject([
      {},
      { answer: "(not answered: decide yourself)" },
    ]);
    session.ask(undefined, "more");
    expect([session.refused, session.open]).toEqual(["not_permitted /questions", ["manager clarification_response"]]);
  });

  it("keep the earlier answers when they end with complete", () => {
    const session = schedule().requirement().ask(undefined, "lang", "style");
    const first = session.answerQuestions({ lang: "Rust" }).sequence;
    session.answerQuestions({}, "complete");
    expect(session.draft().message.payload).toEqual({
      answers: [{ question_id: "c1.lang", text: { $from: [first, "/answers/0/text"] } }],
      status: "complete",
    });
  });

  it("are asked even if the manager says that they are its last", () => {
    const last = { ...asking("lang"), status: "complete" };
    expect(schedule().requirement().answer(undefined, "clarification", last).open).toEqual(["ask questions c1"]);
  });

  it("go with their answers into every later context", () => {
    const session = schedule().requirement();
    for (const round of [1, 2]) session.ask(undefined, "q").answerQuestions({ [`c${round}.q`]: "So" });
    expect(session.draft().context["clarifications"]).toHaveLength(2);
    expect(session.draft().message.payload).toMatchObject({ answers: [{ question_id: "c2.q" }] });
    session.replan(undefined, task("a"));
    for (const round of [3, 4]) session.ask("a", "q").answerQuestions({ [`c${round}.q`]: "So" });
    expect(session.draft("a").context["clarifications"]).toHaveLength(4);
  });

  it("are refused after max_clarification_rounds", () => {
    const session = schedule({ config: { max_clarification_rounds: 2 } }).requirement();
    for (const round of [1, 2]) session.ask(undefined, "q").answerQuestions({ [`c${round}.q`]: "So" });
    session.ask(undefined, "q");
    expect([session.refused, session.phase, session.open]).toEqual([
      "not_permitted /questions",
      "planning",
      ["manager clarification_response"],
    ]);
    session.replan(undefined, task("a"));
    expect(session.phase).toBe("running");
  });

  it.each([
    ["without any question", [], "validation_failed /questions"],
    ["with one id twice", asking("q", "q").questions, "validation_failed /questions/1/question_id"],
  ])("%s are refused, and the manager is asked again", (_, questions, refused) => {
    const session = schedule().requirement().answer(undefined, "clarification", { questions, status: "open" });
    expect([session.refused, session.phase, session.open]).toEqual([refused, "planning", ["manager requirement"]]);
  });

  it("lead to the plan if the manager says that it has none", () => {
    const session = schedule()
      .requirement()
      .answer(undefined, "clarification", { ...NO_QUESTIONS, intent_summary: "A tool" });
    expect([session.last.disposition, session.phase, session.open]).toEqual([
      "applied",
      "planning",
      ["manager clarification_response"],
    ]);
    expect(session.draft().message.payload).toEqual({ answers: [], status: "complete" });
    session.replan(undefined, task("a"));
    expect(session.phase).toBe("running");
  });

  it("lead to the plan, without more questions, if the manager has no more", () => {
    const session = schedule().requirement().ask(undefined, "lang").answerQuestions({ lang: "Rust" });
    session.answer(undefined, "clarification", NO_QUESTIONS);
    expect(session.draft().message.payload).toMatchObject({
      answers: [{ question_id: "c1.lang" }],
      status: "complete",
    });
    expect(session.ask(undefined, "more").refused).toBe("not_permitted /questions");
  });

  it.each([0, 5])("may be declined only once (%i rounds allowed)", (rounds) => {
    const session = schedule({ config: { max_clarification_rounds: rounds } })
      .requirement()
      .answer(undefined, "clarification", NO_QUESTIONS);
    expect(session.last.disposition).toBe("applied");
    expect(session.answer(undefined, "clarification", NO_QUESTIONS).refused).toBe("validation_failed /questions");
  });

  it("may not be declined about a ticket", () => {
    const session = schedule().plan(task("a")).answer("a", "clarification", NO_QUESTIONS);
    expect([session.refused, session.open]).toEqual(["validation_failed /questions", ["manager ticket a"]]);
  });

  test.each(["__proto__", "constructor", "toString", "c1.q", "ä ö"])("may have the id %s", (id) => {
    const session = schedule().requirement().ask(undefined, id, "q");
    session.answerQuestions({ "c1.q": "So" });
    const unclear = id === "c1.q";
    expect(session.open).toEqual(["ask questions c1"]);
    session.send("clarification_response", {
      answers: [{ question_id: unclear ? "c1.c1.q" : id, text: "Yes" }],
      status: "answered",
    });
    expect(session.draft().message.payload).toMatchObject({
      answers: [{ question_id: `c1.${id}` }, { question_id: "c1.q" }],
    });
  });
});

describe("an answer", () => {
  /** Two tickets, each with an open question of the same id. */
  const two = () => schedule().plan(task("a"), task("b")).ask("a", "q", "r").ask("b", "q");

  it("by a bare id counts if only one open question has it", () => {
    expect(two().answerQuestions({ r: "So" }).last.disposition).toBe("applied");
  });

  it("by an ambiguous bare id is refused, and names the open questions", () => {
    const session = two().answerQuestions({ q: "So" });
    expect(session.refused).toBe("validation_failed /answers/0/question_id");
    expect(session.last.step.refused).toMatchObject({
      message: '"q" is asked more than once',
      hint: "open questions: c1.q, c1.r, c2.q",
    });
  });

  it("by a bare id counts in the set that ask_id names", () => {
    const session = two().send("clarification_response", {
      answers: [{ question_id: "q", text: "So" }],
      status: "answered",
      ask_id: "c2",
    });
    expect(session.open).toEqual(["ask questions c1", "manager ticket b"]);
  });

  it("to one set leaves the other waiting", () => {
    const session = two().answerQuestions({ "c2.q": "So" });
    expect(session.open).toEqual(["ask questions c1", "manager ticket b"]);
    expect(session.answerQuestions({ q: "So", r: "So" }).open).toEqual(["manager ticket a", "manager ticket b"]);
  });

  it("to several sets settles each of them", () => {
    expect(two().answerQuestions({ "c1.q": "1", "c1.r": "2", "c2.q": "3" }).open).toEqual([
      "manager ticket a",
      "manager ticket b",
    ]);
  });

  it("with complete alone ends every open set, in the order of asking", () => {
    const ids = ["e", "b", "d", "a", "c"];
    const session = schedule().plan(...ids.map((id) => task(id)));
    for (const id of ids) session.ask(id, "q");
    const offers = session
      .answerQuestions({}, "complete")
      .last.step.commands.filter((command) => command.do === "offer_turn");
    expect(offers.map((offer) => offer.subject)).toEqual(ids);
  });

  it("with complete ends only the sets it answers", () => {
    expect(two().answerQuestions({ r: "So" }, "complete").open).toEqual(["ask questions c2", "manager ticket a"]);
  });

  it("that is partly wrong counts for no question", () => {
    const session = two().answerQuestions({ r: "So", nonsense: "So" });
    expect([session.refused, session.state.questions.get("c1")?.answers]).toEqual([
      "validation_failed /answers/1/question_id",
      [null, null],
    ]);
  });

  it("given twice is refused", () => {
    const session = two().answerQuestions({ "c2.q": "So" }).answerQuestions({ "c2.q": "Or so" });
    expect(session.refused).toBe("validation_failed /answers/0/question_id");
    expect(session.last.step.refused?.message).toBe('"c2.q" is not an open question');
    session.answerQuestions({ "c1.q": "So", "c1.r": "So" }).answerQuestions({ "c1.q": "Or so" });
    expect(session.last.step.refused?.hint).toBe("no question is open");
  });

  it("to a cancelled ticket is refused, and its question id is free", () => {
    const session = two().command("cancel", "b").answerQuestions({ "c2.q": "So" });
    expect(session.refused).toBe("validation_failed /answers/0/question_id");
    expect(session.answerQuestions({ q: "So", r: "So" }).open).toEqual(["manager ticket a"]);
  });
});

describe("questions about a ticket", () => {
  it("hold up only that ticket, whose message is sent again with the answers", () => {
    const session = schedule().plan(task("a"), task("b")).ask("a", "q");
    expect(session.engine.ledger.asks.get("c1")).toMatchObject({ subject: "a" });
    expect([session.phase, session.status("a"), session.open]).toEqual([
      "running",
      "pending",
      ["ask questions c1", "manager ticket b"],
    ]);
    session.instruct("b").answerQuestions({ q: "So" });
    expect(session.open).toEqual(["manager ticket a", "worker instruction b"]);
    expect(session.draft("a").context["clarifications"]).toMatchObject([
      { answer: { $from: [session.sequence, "/answers/0/text"] } },
    ]);
    expect(session.draft("b").context["clarifications"]).toEqual([]);
  });

  it("may come from a worker through the manager", () => {
    const session = schedule().plan(task("a")).instruct("a");
    session.block("a", "where").ask("a", "where");
    expect([session.status("a"), session.open]).toEqual(["blocked (needs_input)", ["ask questions c1"]]);
    expect(session.answerQuestions({ where: "There" }).open).toEqual(["manager report a"]);
    expect(session.draft("a").context["clarifications"]).toHaveLength(1);
  });

  it("from its workers are limited; then the ticket escalates", () => {
    const stuck = { status: "blocked", questions: asking("where").questions };
    const session = schedule({ config: { max_clarification_rounds: 2 } })
      .plan(task("a"))
      .instruct("a");
    for (const round of [1, 2]) {
      session.answer("a", "report", stuck);
      expect([round, session.open]).toEqual([round, ["manager report a"]]);
      session.instruct("a");
    }
    session.answer("a", "report", stuck);
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (needs_input)"],
      ["manager error a"],
    ]);
    session.instruct("a").answer("a", "report", stuck);
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -report_blocked-> blocked (needs_input)"],
      ["manager report a"],
    ]);
  });

  it("do not count with finished work, nor does a blocked report without any", () => {
    const config = { max_clarification_rounds: 0 };
    const session = () => schedule({ config }).plan(task("a")).instruct("a");
    const finished = session().answer("a", "report", { ...COMPLETED, questions: asking("where").questions });
    expect(finished.open).toEqual(["manager review_request a"]);
    expect(session().block("a").moved).toEqual(["a: in_progress -report_blocked-> blocked (needs_input)"]);
  });

  it("from its workers count in a discussion too", () => {
    const stuck = { status: "blocked", questions: asking("where").questions };
    const session = schedule({ config: { max_clarification_rounds: 0 } })
      .plan(task("a"))
      .answer("a", "instruction_proposal", INSTRUCTION)
      .answer("a", "report", stuck);
    expect([session.moved, session.status("a"), session.open]).toEqual([
      ["a: discussing -work_stopped-> blocked (needs_input)"],
      "blocked (needs_input)",
      ["manager error a"],
    ]);
  });

  it("are limited for each message", () => {
    const session = schedule({ config: { max_clarification_rounds: 1 } })
      .plan(task("a"))
      .ask("a", "q")
      .answerQuestions({ q: "1" });
    expect(session.ask("a", "q").refused).toBe("not_permitted /questions");
    session.instruct("a").deliver("a").ask("a", "q");
    expect([session.last.disposition, session.open]).toEqual(["applied", ["ask questions c2"]]);
  });

  it("keep their count through failed turns and stops", () => {
    const answered = (max_retries: number) =>
      schedule({ config: { max_clarification_rounds: 1, max_retries } })
        .plan(task("a"))
        .ask("a", "q")
        .answerQuestions({ q: "1" })
        .fail("a");
    const retried = answered(1).fireTimer("retry:a");
    const resumed = answered(0).stop("manager_failed").recover();
    for (const session of [retried, resumed]) expect(session.ask("a", "q").refused).toBe("not_permitted /questions");
  });

  it("leave the message all its retries once they are answered", () => {
    const session = schedule({ config: { max_retries: 1 } })
      .plan(task("a"))
      .ask("a", "q");
    expect(session.answerQuestions({ q: "So" }).fail("a").open).toEqual(["retry:a in 1000 ms"]);
  });

  it("stay open through a stop", () => {
    const session = schedule().plan(task("a")).ask("a", "q").stop("waiting");
    expect([session.phase, session.open]).toEqual(["waiting", ["ask questions c1"]]);
    expect(session.recover().answerQuestions({ q: "So" }).open).toEqual(["manager ticket a"]);
    const planning = schedule().requirement().ask(undefined, "q").stop("waiting").recover();
    expect([planning.phase, planning.answerQuestions({ q: "So" }).open]).toEqual([
      "clarifying",
      ["manager clarification_response"],
    ]);
  });

  it("are in the report even if their answer closes the session", () => {
    const session = schedule({ config: { max_escalations: 0 } })
      .plan(task("a", { budget: { turns: 1 } }))
      .ask("a", "q")
      .answerQuestions({ q: "So" });
    expect([session.report.tickets, session.report.whole["clarifications"]]).toEqual([
      { a: "error budget_exhausted" },
      [{ question: "What of q?", answer: "So", ticket_id: "a" }],
    ]);
  });
});
