import { describe, expect, it } from "vitest";
import { listOf, objectOf } from "../../../src/lib/json.ts";
import { OrchestrationSession, ROLES } from "./session.ts";

const PLAN = ["researcher: Weather?", "researcher: Costs?", "analyst: Compare.", "writer: Report."];

describe("an orchestration", () => {
  it("goes from the plan through its steps to the report, with one turn of the planner between two steps", () => {
    const session = new OrchestrationSession();
    expect([session.open, session.may]).toEqual([["planner shared_state"], ["PLAN"]]);
    session.plans(PLAN);
    expect(session.open).toEqual(["researcher message step-1"]);
    session.done("Mild.").goesOn({ satisfied: true }).done("Dear.").goesOn().done("Shenzhen.").goesOn().done("# All");
    expect(session.board).toMatchObject({ status: "reviewing", current_step: 4, max_steps: 10 });
    session.finishes("# Shenzhen first");
    expect(session.ended).toMatchObject({
      outcome: "done",
      report: {
        requirement: "Rank the cities.",
        result: {
          report: "# Shenzhen first",
          planner: "planner",
          plan: { begun: 4, max_steps: 10, replans: 0, max_replans: 3 },
          steps: [{ step: "step-1", role_id: "researcher", result: "Mild." }, {}, {}, { result: "# All" }],
        },
      },
    });
  });

  it("hands an agent its task as a message, and the results and analyses so far", () => {
    const session = new OrchestrationSession().plans(PLAN).done("Mild.").goesOn({ analysis: "The weather is there." });
    const { message, context } = session.resolved(session.draft("step-2"));
    expect(message).toEqual({
      payload_type: "message",
      payload: {
        sender: "planner",
        receiver: "researcher",
        content: "Costs?",
        msg_type: "TASK",
        metadata: { step: "step-2", number: 2, of: 10 },
      },
    });
    const said = listOf(context["transcript"]).map((entry) => objectOf(objectOf(entry)["payload"])["text"]);
    expect(said).toEqual(["So far.", "Mild.", "The weather is there."]);
  });

  it("shows the planner seed 2's shared state: messages with sender and receiver, results by agent, and the plan", () => {
    const session = new OrchestrationSession().plans(PLAN).done("Mild.");
    expect(session.board).toMatchObject({
      task: "Rank the cities.",
      plan: ["Weather?", "Costs?", "Compare.", "Report."],
      results: { researcher: "Mild." },
      messages: [
        { sender: "user", receiver: "all", content: "Rank the cities.", msg_type: "TASK" },
        { sender: "planner", receiver: "all", content: "So far.", msg_type: "FEEDBACK" },
        {
          sender: "planner",
          receiver: "researcher",
          content: "Weather?",
          msg_type: "TASK",
          metadata: { step: "step-1" },
        },
        { sender: "researcher", receiver: "planner", content: "Mild.", msg_type: "RESULT" },
      ],
      agents: [{ agent_name: "researcher", role: "Web researcher" }, {}, {}],
      steps: [{ step: "step-1", role_id: "researcher", task: "Weather?", status: "done" }, {}, {}, {}],
      replans_left: 3,
      stalls: 0,
    });
  });

  it("lets the planner choose another agent before a step", () => {
    const session = new OrchestrationSession().plans(PLAN).done("Mild.").goesOn({ agent: "Web Researcher" });
    expect(session.open).toEqual(["researcher message step-2"]);
    session.done("Dear.").goesOn({ agent: "writer" });
    expect(session.open).toEqual(["writer message step-3"]);
    expect(session.steps[2]).toBe("step-3 writer in_progress");
  });

  it("lets a schema take only its agents and what may follow", () => {
    const ids = ["researcher", "analyst", "writer"];
    expect(new OrchestrationSession().draft(undefined).choices).toEqual({
      "/next_action": ["PLAN"],
      "/steps/*/agent": ids,
      "/agent": ids,
    });
  });
});

describe("a plan", () => {
  it.each([
    [["planner: All."], "validation_failed /steps/0/agent"],
    [["researcher: Weather?", "ghost: Haunt."], "validation_failed /steps/1/agent"],
    [Array.from({ length: 11 }, (_, at) => `writer: Page ${at}.`), "validation_failed /steps"],
  ])("of strangers, of the planner, or longer than the steps that are left is refused (%#)", (steps, refused) => {
    const session = new OrchestrationSession().plans(steps);
    expect([session.refused, session.open]).toEqual([refused, ["planner shared_state"]]);
  });

  it("says which agents there are when it is refused, with their names", () => {
    const session = new OrchestrationSession().plans(["ghost: Haunt."]);
    expect(session.last.step.refused?.hint).toBe("the agents are researcher (Web researcher), analyst, writer");
  });

  it("takes a task only in the form of its agent's input_schema", () => {
    const schema = { type: "object", required: ["city"] };
    const [first, ...others] = ROLES;
    const roles = [{ ...first, input_schema: schema } as (typeof ROLES)[number], ...others];
    const session = new OrchestrationSession({}, {}, roles).plans(["researcher: Weather?"]);
    expect(session.refused).toBe("validation_failed /steps/0/task");
    expect(session.decides("PLAN", { steps: [{ agent: "researcher", task: '{"city":"Beijing"}' }] }).open).toEqual([
      "researcher message step-1",
    ]);
  });

  it("that changes takes the place of the open steps, and never of those that are done", () => {
    const session = new OrchestrationSession().plans(PLAN).done("Nothing.");
    session.plans(["analyst: Estimate.", "writer: Report."], { satisfied: false });
    expect(session.steps).toEqual([
      "step-1 researcher done",
      "step-2 researcher skipped (replaced)",
      "step-3 analyst skipped (replaced)",
      "step-4 writer skipped (replaced)",
      "step-5 analyst in_progress",
      "step-6 writer pending",
    ]);
    session.done("About so.");
    expect(session.board).toMatchObject({ replans_left: 2, stalls: 1 });
  });

  it("that changes nothing goes on and does not count", () => {
    const session = new OrchestrationSession({ max_replans: 0 }).plans(PLAN.slice(0, 2)).done("Mild.");
    expect(session.may).toEqual(["GO_ON", "FINISH"]);
    session.plans(["writer: Costs?"]);
    expect(session.refused).toBe("validation_failed /next_action");
    session.plans(["researcher: Costs? "]);
    expect([session.open, session.steps]).toEqual([
      ["researcher message step-2"],
      ["step-1 researcher done", "step-2 researcher in_progress"],
    ]);
  });

  it("is the only thing that a first turn may answer, and its lack ends the session", () => {
    const session = new OrchestrationSession({}, { max_retries: 1 }).goesOn();
    expect(session.refused).toBe("validation_failed /next_action");
    expect(session.finishes().ended).toMatchObject({ outcome: "failed", reason: "no_plan" });
  });
});

describe("the limits", () => {
  it("of steps leave the planner one turn, which may only finish", () => {
    const session = new OrchestrationSession({ max_steps: 2 })
      .plans(PLAN.slice(0, 2))
      .done("Mild.")
      .goesOn()
      .done("Dear.");
    expect([session.may, session.phase]).toEqual([["FINISH"], "concluding"]);
    expect(session.board).toMatchObject({ must_finish: true });
    session.plans(["writer: Report."]);
    expect(session.refused).toBe("validation_failed /next_action");
    expect(session.finishes().ended).toMatchObject({ outcome: "done" });
  });

  it("of steps count those that failed, and a planner that plans for ever ends", () => {
    const session = new OrchestrationSession({ max_steps: 3, max_replans: 100 }).plans(["writer: 0"]);
    for (let turn = 1; turn < 3; turn += 1) session.fails().plans([`writer: ${turn}`]);
    session.fails();
    expect(session.may).toEqual(["FINISH"]);
    session.goesOn().goesOn().goesOn();
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "no_report" });
  });

  it("of changes leave what is planned, and then the end", () => {
    const session = new OrchestrationSession({ max_replans: 1 })
      .plans(["researcher: A"])
      .done("a")
      .plans(["writer: B"]);
    session.done("b");
    expect([session.may, session.board]).toMatchObject([["FINISH"], { must_finish: true, replans_left: 0 }]);
  });
});

describe("a step", () => {
  it("that fails for good is judged by the planner like any other", () => {
    const session = new OrchestrationSession().plans(PLAN).fails();
    expect([session.steps[0], session.open]).toEqual(["step-1 researcher error (cancelled)", ["planner shared_state"]]);
    expect(session.board).toMatchObject({ stalls: 1, steps: [{ status: "error", reason: "cancelled" }, {}, {}, {}] });
    expect(session.goesOn().open).toEqual(["researcher message step-2"]);
  });

  it("is tried again before, and a blank result is none", () => {
    const session = new OrchestrationSession({}, { max_retries: 1 }).plans(PLAN);
    session.answer("step-1", "report", { status: "completed", summary: " " });
    expect([session.refused, session.open]).toEqual(["validation_failed /summary", ["researcher message step-1"]]);
    session.answer("step-1", "report", { status: "blocked" });
    expect(session.steps[0]).toBe("step-1 researcher error (needs_input)");
  });

  it("may find nothing, which is a result", () => {
    const session = new OrchestrationSession()
      .plans(PLAN)
      .done("There is nothing to find.")
      .goesOn({ satisfied: true });
    expect([session.open, session.state.self?.stalls]).toEqual([["researcher message step-2"], 0]);
  });

  it("is one of several in a row that bring nothing: the person is told of the third", () => {
    const session = new OrchestrationSession().plans(PLAN).fails().goesOn({ satisfied: false }).done("?");
    session.goesOn({ satisfied: false });
    expect(session.last.envelopes).toEqual([]);
    session.fails();
    expect(session.last.envelopes).toMatchObject([
      { payload_type: "message", payload: { sender: "scheduler", receiver: "all", msg_type: "SYSTEM" } },
    ]);
    expect(session.board).toMatchObject({ stalls: 3 });
    session.goesOn({ satisfied: true });
    expect(session.state.self?.stalls).toBe(0);
  });

  it("is left out when a person cancels it, and the planner hears of it", () => {
    const session = new OrchestrationSession().plans(PLAN).command("cancel", "step-2").command("cancel", "step-1");
    expect(session.steps.slice(0, 2)).toEqual([
      "step-1 researcher skipped (cancelled)",
      "step-2 researcher skipped (cancelled)",
    ]);
    expect(session.goesOn().open).toEqual(["analyst message step-3"]);
  });
});

describe("a person who reviews the plan", () => {
  const reviewed = () => new OrchestrationSession({ review_plan: true }).plans(PLAN.slice(0, 2));

  it("is asked with the plan, and lets it be carried out", () => {
    const session = reviewed();
    expect(session.open).toEqual(["ask questions c1"]);
    expect(session.last.envelopes).toMatchObject([
      {
        payload_type: "clarification",
        payload: { questions: [{ text: expect.stringContaining("step-1 by researcher: Weather?") }] },
      },
    ]);
    expect(session.answerQuestions({ q1: "carry it out" }).open).toEqual(["researcher message step-1"]);
  });

  it("says what to change: the planner plans anew, which counts as no change of the plan", () => {
    const session = reviewed().answerQuestions({ q1: "Leave the costs out." });
    expect([session.may, session.phase]).toEqual([["PLAN"], "planning"]);
    expect(session.resolved(session.draft(undefined)).context).toMatchObject({
      clarifications: [{ answer: "Leave the costs out." }],
    });
    session.plans(["researcher: Weather?"]);
    expect(session.open).toEqual(["ask questions c2"]);
    session.answerQuestions({ q1: "Carry it out" }).done("Mild.");
    expect(session.board).toMatchObject({ replans_left: 3, current_step: 1 });
  });

  it("is asked about a changed plan, too", () => {
    const session = reviewed().answerQuestions({ q1: "carry it out" }).done("Mild.").plans(["writer: Report."]);
    expect(session.open).toEqual(["ask questions c2"]);
    expect(session.answerQuestions({ q1: "carry it out" }).open).toEqual(["writer message step-3"]);
  });

  it("lets it be carried out by leaving the answer to the agents", () => {
    expect(reviewed().answerQuestions({}, "complete").open).toEqual(["researcher message step-1"]);
  });
});

it("an orchestration goes on where a stop interrupted it", () => {
  const session = new OrchestrationSession().plans(PLAN).admit("step-1").stop().recover();
  expect(session.open).toEqual(["researcher message step-1"]);
  expect(session.done("Mild.").finishes().ended).toMatchObject({ outcome: "done" });
});

it("a planner that gives up ends the session", () => {
  const session = new OrchestrationSession().answer(undefined, "error", { code: "agent_failed", message: "I cannot." });
  expect(session.ended).toMatchObject({ outcome: "failed", reason: "agent_failed" });
});
