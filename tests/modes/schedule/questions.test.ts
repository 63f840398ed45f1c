import { describe, expect, it, test } from "vitest";
import { Scene } from "./rig.ts";
import { asking, COMPLETED, INSTRUCTION, task } from "./words.ts";

const NO_QUESTIONS = { questions: [], status: "complete" } as const;

describe("questions about the requirement", () => {
  it("wait for the person, and their answers are put to the manager", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "clarification", { ...asking("lang", "style"), intent_summary: "A tool" });
    expect([scene.phase, scene.open]).toEqual(["clarifying", ["ask questions c1"]]);
    expect(scene.last.step.commands).toEqual([{ do: "ask", ask_id: "c1", kind: "questions", record: scene.sequence }]);
    const asked = scene.sequence;
    scene.answers({ lang: "Rust", "c1.style": "Plain" });
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager clarification_response"]]);
    expect(scene.draft().message.payload).toEqual({
      answers: [
        { question_id: "c1.lang", text: { $from: [scene.sequence, "/answers/0/text"] } },
        { question_id: "c1.style", text: { $from: [scene.sequence, "/answers/1/text"] } },
      ],
      status: "answered",
    });
    expect(scene.draft().context["clarifications"]).toEqual([
      { question: { $from: [asked, "/questions/0/text"] }, answer: { $from: [scene.sequence, "/answers/0/text"] } },
      { question: { $from: [asked, "/questions/1/text"] }, answer: { $from: [scene.sequence, "/answers/1/text"] } },
    ]);
  });

  it("may be answered one by one; the last answer moves it", () => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking("lang", "style"));
    const first = scene.answers({ style: "Plain" }).sequence;
    expect([scene.last.disposition, scene.phase, scene.open]).toEqual(["applied", "clarifying", ["ask questions c1"]]);
    scene.answers({ lang: "Rust" });
    expect(scene.draft().message.payload).toMatchObject({
      answers: [{ question_id: "c1.lang" }, { question_id: "c1.style", text: { $from: [first, "/answers/0/text"] } }],
    });
  });

  it("may be ended with complete, leaving the rest to the manager, who may not ask about it again", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "clarification", asking("lang", "style"))
      .answers({ lang: "Rust" }, "complete");
    expect(scene.draft().message.payload).toMatchObject({ answers: [{ question_id: "c1.lang" }], status: "complete" });
    expect(scene.draft().context["clarifications"]).toMatchObject([{}, { answer: "(not answered: decide yourself)" }]);
    scene.says(undefined, "clarification", asking("more"));
    expect([scene.refused, scene.open]).toEqual(["not_permitted /questions", ["manager clarification_response"]]);
  });

  it("keep the answers they had when they are ended without a word", () => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking("lang", "style"));
    const first = scene.answers({ lang: "Rust" }).sequence;
    scene.answers({}, "complete");
    expect(scene.draft().message.payload).toEqual({
      answers: [{ question_id: "c1.lang", text: { $from: [first, "/answers/0/text"] } }],
      status: "complete",
    });
  });

  it("are asked also where the manager says with them that they are its last", () => {
    const last = { ...asking("lang"), status: "complete" };
    expect(new Scene().requirement().says(undefined, "clarification", last).open).toEqual(["ask questions c1"]);
  });

  it("of each round are told with their answers", () => {
    const scene = new Scene().requirement();
    for (const round of [1, 2]) scene.says(undefined, "clarification", asking("q")).answers({ [`c${round}.q`]: "So" });
    expect(scene.draft().context["clarifications"]).toHaveLength(2);
    expect(scene.draft().message.payload).toMatchObject({ answers: [{ question_id: "c2.q" }] });
    scene.says(undefined, "plan", { tasks: [task("a")] });
    for (const round of [3, 4]) scene.says("a", "clarification", asking("q")).answers({ [`c${round}.q`]: "So" });
    expect(scene.draft("a").context["clarifications"]).toHaveLength(4);
  });

  it("may be ended without a word", () => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking("lang")).answers({}, "complete");
    expect([scene.phase, scene.open]).toEqual(["planning", ["manager clarification_response"]]);
  });

  it("are asked at most max_clarification_rounds times, then refused as output", () => {
    const scene = new Scene({ config: { max_clarification_rounds: 2 } }).requirement();
    for (const round of [1, 2]) scene.says(undefined, "clarification", asking("q")).answers({ [`c${round}.q`]: "So" });
    scene.says(undefined, "clarification", asking("q"));
    expect([scene.refused, scene.phase, scene.open]).toEqual([
      "not_permitted /questions",
      "planning",
      ["manager clarification_response"],
    ]);
    scene.says(undefined, "plan", { tasks: [task("a")] });
    expect(scene.phase).toBe("running");
  });

  it.each([
    ["without a question", [], "validation_failed /questions"],
    [
      "with one id used twice, since nobody could answer it",
      asking("q", "q").questions,
      "validation_failed /questions/1/question_id",
    ],
  ])("%s are refused and put again", (_, questions, refused) => {
    const scene = new Scene().requirement().says(undefined, "clarification", { questions, status: "open" });
    expect([scene.refused, scene.phase, scene.open]).toEqual([refused, "planning", ["manager requirement"]]);
  });

  it("that the manager says it does not have lead to the plan", () => {
    const scene = new Scene()
      .requirement()
      .says(undefined, "clarification", { ...NO_QUESTIONS, intent_summary: "A tool" });
    expect([scene.last.disposition, scene.phase, scene.open]).toEqual([
      "applied",
      "planning",
      ["manager clarification_response"],
    ]);
    expect(scene.draft().message.payload).toEqual({ answers: [], status: "complete" });
    scene.says(undefined, "plan", { tasks: [task("a")] });
    expect(scene.phase).toBe("running");
  });

  it("that it says it does not have any more leave it with the answers, and with no more questions to ask", () => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking("lang")).answers({ lang: "Rust" });
    scene.says(undefined, "clarification", NO_QUESTIONS);
    expect(scene.draft().message.payload).toMatchObject({ answers: [{ question_id: "c1.lang" }], status: "complete" });
    expect(scene.says(undefined, "clarification", asking("more")).refused).toBe("not_permitted /questions");
  });

  it.each([0, 5])(
    "that it does not have are said once where %i rounds are allowed, or it would never plan",
    (rounds) => {
      const scene = new Scene({ config: { max_clarification_rounds: rounds } })
        .requirement()
        .says(undefined, "clarification", NO_QUESTIONS);
      expect(scene.last.disposition).toBe("applied");
      expect(scene.says(undefined, "clarification", NO_QUESTIONS).refused).toBe("validation_failed /questions");
    },
  );

  it("about a ticket that there are none of are no answer", () => {
    const scene = new Scene().planned(task("a")).says("a", "clarification", NO_QUESTIONS);
    expect([scene.refused, scene.open]).toEqual(["validation_failed /questions", ["manager ticket a"]]);
  });

  test.each(["__proto__", "constructor", "toString", "c1.q", "ä ö"])("may be called %s", (id) => {
    const scene = new Scene().requirement().says(undefined, "clarification", asking(id, "q"));
    scene.answers({ "c1.q": "So" });
    const unclear = id === "c1.q";
    expect(scene.open).toEqual(["ask questions c1"]);
    scene.person("clarification_response", {
      answers: [{ question_id: unclear ? "c1.c1.q" : id, text: "Yes" }],
      status: "answered",
    });
    expect(scene.draft().message.payload).toMatchObject({
      answers: [{ question_id: `c1.${id}` }, { question_id: "c1.q" }],
    });
  });
});

describe("an answer", () => {
  /** Two tickets, each with an open question of the same id. */
  const two = () =>
    new Scene()
      .planned(task("a"), task("b"))
      .says("a", "clarification", asking("q", "r"))
      .says("b", "clarification", asking("q"));

  it("by a bare id counts where only one open question has it", () => {
    expect(two().answers({ r: "So" }).last.disposition).toBe("applied");
  });

  it("by a bare id that several have is refused, naming what may be answered", () => {
    const scene = two().answers({ q: "So" });
    expect(scene.refused).toBe("validation_failed /answers/0/question_id");
    expect(scene.last.step.refused).toMatchObject({
      message: '"q" is asked more than once',
      hint: "open questions: c1.q, c1.r, c2.q",
    });
  });

  it("by a bare id counts in the set that ask_id names", () => {
    const scene = two().person("clarification_response", {
      answers: [{ question_id: "q", text: "So" }],
      status: "answered",
      ask_id: "c2",
    });
    expect(scene.open).toEqual(["ask questions c1", "manager ticket b"]);
  });

  it("to one question set leaves the other waiting", () => {
    const scene = two().answers({ "c2.q": "So" });
    expect(scene.open).toEqual(["ask questions c1", "manager ticket b"]);
    expect(scene.answers({ q: "So", r: "So" }).open).toEqual(["manager ticket a", "manager ticket b"]);
  });

  it("to several sets moves each", () => {
    expect(two().answers({ "c1.q": "1", "c1.r": "2", "c2.q": "3" }).open).toEqual([
      "manager ticket a",
      "manager ticket b",
    ]);
  });

  it("with complete and nothing else ends every open set, in the order they were asked", () => {
    const ids = ["e", "b", "d", "a", "c"];
    const scene = new Scene().planned(...ids.map((id) => task(id)));
    for (const id of ids) scene.says(id, "clarification", asking("q"));
    const offers = scene.answers({}, "complete").last.step.commands.filter((command) => command.do === "offer_turn");
    expect(offers.map((offer) => offer.subject)).toEqual(ids);
  });

  it("with complete ends only the sets it answers", () => {
    expect(two().answers({ r: "So" }, "complete").open).toEqual(["ask questions c2", "manager ticket a"]);
  });

  it("that is wrong in one part counts in none", () => {
    const scene = two().answers({ r: "So", nonsense: "So" });
    expect([scene.refused, scene.state.questions.get("c1")?.answers]).toEqual([
      "validation_failed /answers/1/question_id",
      [null, null],
    ]);
  });

  it("given again is refused, since the question is no longer open", () => {
    const scene = two().answers({ "c2.q": "So" }).answers({ "c2.q": "Or so" });
    expect(scene.refused).toBe("validation_failed /answers/0/question_id");
    expect(scene.last.step.refused?.message).toBe('"c2.q" is not an open question');
    scene.answers({ "c1.q": "So", "c1.r": "So" }).answers({ "c1.q": "Or so" });
    expect(scene.last.step.refused?.hint).toBe("no question is open");
  });

  it("to what nobody waits for any longer is refused, and its id is free for others", () => {
    const scene = two().command("cancel", "b").answers({ "c2.q": "So" });
    expect(scene.refused).toBe("validation_failed /answers/0/question_id");
    expect(scene.answers({ q: "So", r: "So" }).open).toEqual(["manager ticket a"]);
  });
});

describe("questions about a ticket", () => {
  it("hold up that ticket only, and then the same message is put again with the answers", () => {
    const scene = new Scene().planned(task("a"), task("b")).says("a", "clarification", asking("q"));
    expect(scene.engine.ledger.asks.get("c1")).toMatchObject({ subject: "a" });
    expect([scene.phase, scene.status("a"), scene.open]).toEqual([
      "running",
      "pending",
      ["ask questions c1", "manager ticket b"],
    ]);
    scene.says("b", "instruction", INSTRUCTION).answers({ q: "So" });
    expect(scene.open).toEqual(["manager ticket a", "worker instruction b"]);
    expect(scene.draft("a").context["clarifications"]).toMatchObject([
      { answer: { $from: [scene.sequence, "/answers/0/text"] } },
    ]);
    expect(scene.draft("b").context["clarifications"]).toEqual([]);
  });

  it("may be the worker's, passed on by the manager", () => {
    const scene = new Scene().planned(task("a")).says("a", "instruction", INSTRUCTION);
    scene
      .says("a", "report", { status: "blocked", questions: asking("where").questions })
      .says("a", "clarification", asking("where"));
    expect([scene.status("a"), scene.open]).toEqual(["blocked (needs_input)", ["ask questions c1"]]);
    expect(scene.answers({ where: "There" }).open).toEqual(["manager report a"]);
    expect(scene.draft("a").context["clarifications"]).toHaveLength(1);
  });

  it("of its workers are limited for the ticket; then the manager must find another way", () => {
    const stuck = { status: "blocked", questions: asking("where").questions };
    const scene = new Scene({ config: { max_clarification_rounds: 2 } })
      .planned(task("a"))
      .says("a", "instruction", INSTRUCTION);
    for (const round of [1, 2]) {
      scene.says("a", "report", stuck);
      expect([round, scene.open]).toEqual([round, ["manager report a"]]);
      scene.says("a", "instruction", INSTRUCTION);
    }
    scene.says("a", "report", stuck);
    expect([scene.moved, scene.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (needs_input)"],
      ["manager error a"],
    ]);
    scene.says("a", "instruction", INSTRUCTION).says("a", "report", stuck);
    expect([scene.moved, scene.open]).toEqual([
      ["a: in_progress -report_blocked-> blocked (needs_input)"],
      ["manager report a"],
    ]);
  });

  it("are no such round where they come with finished work, nor is being stuck without any", () => {
    const config = { max_clarification_rounds: 0 };
    const scene = () => new Scene({ config }).planned(task("a")).says("a", "instruction", INSTRUCTION);
    const finished = scene().says("a", "report", { ...COMPLETED, questions: asking("where").questions });
    expect(finished.open).toEqual(["manager review_request a"]);
    expect(scene().says("a", "report", { status: "blocked" }).moved).toEqual([
      "a: in_progress -report_blocked-> blocked (needs_input)",
    ]);
  });

  it("of its workers count in a discussion too", () => {
    const stuck = { status: "blocked", questions: asking("where").questions };
    const scene = new Scene({ config: { max_clarification_rounds: 0 } })
      .planned(task("a"))
      .says("a", "instruction_proposal", INSTRUCTION)
      .says("a", "report", stuck);
    expect([scene.moved, scene.status("a"), scene.open]).toEqual([
      ["a: discussing -work_stopped-> blocked (needs_input)"],
      "blocked (needs_input)",
      ["manager error a"],
    ]);
  });

  it("are limited for each message of its own", () => {
    const scene = new Scene({ config: { max_clarification_rounds: 1 } })
      .planned(task("a"))
      .says("a", "clarification", asking("q"))
      .answers({ q: "1" });
    expect(scene.says("a", "clarification", asking("q")).refused).toBe("not_permitted /questions");
    scene.says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED).says("a", "clarification", asking("q"));
    expect([scene.last.disposition, scene.open]).toEqual(["applied", ["ask questions c2"]]);
  });

  it("outlive a failed turn, and a stop over it: the limit counts on", () => {
    const answered = (max_retries: number) =>
      new Scene({ config: { max_clarification_rounds: 1, max_retries } })
        .planned(task("a"))
        .says("a", "clarification", asking("q"))
        .answers({ q: "1" })
        .fails("a");
    const retried = answered(1).fires("retry:a");
    const resumed = answered(0).stops("manager_failed").recovers();
    for (const scene of [retried, resumed])
      expect(scene.says("a", "clarification", asking("q")).refused).toBe("not_permitted /questions");
  });

  it("that are answered leave the message all its tries", () => {
    const scene = new Scene({ config: { max_retries: 1 } }).planned(task("a")).says("a", "clarification", asking("q"));
    expect(scene.answers({ q: "So" }).fails("a").open).toEqual(["retry:a in 1000 ms"]);
  });

  it("stand through a stop: the person is still asked when the session goes on", () => {
    const scene = new Scene().planned(task("a")).says("a", "clarification", asking("q")).stops("waiting");
    expect([scene.phase, scene.open]).toEqual(["waiting", ["ask questions c1"]]);
    expect(scene.recovers().answers({ q: "So" }).open).toEqual(["manager ticket a"]);
    const planning = new Scene()
      .requirement()
      .says(undefined, "clarification", asking("q"))
      .stops("waiting")
      .recovers();
    expect([planning.phase, planning.answers({ q: "So" }).open]).toEqual([
      "clarifying",
      ["manager clarification_response"],
    ]);
  });

  it("are in the report of a session that the answer itself closes", () => {
    const scene = new Scene({ config: { max_escalations: 0 } })
      .planned(task("a", { budget: { turns: 1 } }))
      .says("a", "clarification", asking("q"))
      .answers({ q: "So" });
    expect([scene.report.tickets, scene.report.whole["clarifications"]]).toEqual([
      { a: "error budget_exhausted" },
      [{ question: "What of q?", answer: "So", ticket_id: "a" }],
    ]);
  });
});
