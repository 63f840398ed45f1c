import { describe, expect, it } from "vitest";
import { panel, panelRules, type D, note, PanelSession } from "./panel.ts";

const ASKING = {
  messages: { ...panel.messages, requirement: { to: ["participant"], answers: ["opinion", "clarification"] } },
} as const;

const QUESTIONS = {
  questions: [
    { question_id: "milk", text: "With milk?" },
    { question_id: "sugar", text: "With sugar?" },
  ],
  status: "open",
} as const;

/** The chair of the panel asks a person before it begins. */
const askFirst = {
  goOn(draft: D) {
    if (draft.self.noted.length === 0) draft.ask(undefined, { text: "How long?", options: ["short", "long"] });
    else panelRules.goOn(draft);
  },
  told: (draft: D, text: string | undefined) => note(draft, text ?? "(nothing)"),
};

describe("a question of the rules", () => {
  it("waits for a person, and its answer goes to the rules and into later requests", () => {
    const session = new PanelSession(askFirst);
    expect(session.open).toEqual(["ask questions c1"]);
    expect(session.records.at(-1)).toMatchObject({
      payload_type: "clarification",
      target: "user",
      payload: { questions: [{ question_id: "q1", text: "How long?", options: ["short", "long"] }] },
    });
    session.answerQuestions({ "c1.q1": "short" });
    expect(session.noted).toEqual(["short"]);
    expect(session.open).toEqual(["ann requirement ann", "bob requirement bob"]);
    expect(session.context("ann")).toMatchObject({ clarifications: [{ question: "How long?", answer: "short" }] });
    session.ends();
  });

  it("ends without a text if the person leaves it to the agents", () => {
    const session = new PanelSession(askFirst).answerQuestions({}, "complete");
    expect(session.noted).toEqual(["(nothing)"]);
    expect(session.context("ann")).toMatchObject({
      clarifications: [{ answer: "(not answered: decide yourself)" }],
    });
    session.ends();
  });

  it("is answered by the id of its ask, by its bare id, and by no other", () => {
    const session = new PanelSession(askFirst).answerQuestions({ "c2.q1": "short" });
    expect(session.refused).toBe("validation_failed /answers/0/question_id");
    session.send("clarification_response", { ask_id: "c9", answers: [], status: "complete" });
    expect(session.open).toEqual(["ask questions c1"]);
    expect(session.answerQuestions({ q1: "long" }).noted).toEqual(["long"]);
  });

  it("stays open while the session is stopped", () => {
    const session = new PanelSession(askFirst).stop("waiting");
    expect(session.phase).toBe("waiting");
    session.recover();
    expect(session.open).toEqual(["ask questions c1"]);
    session.answerQuestions({ q1: "short" }).ends();
  });

  it("about a subject is withdrawn with the subject", () => {
    const session = new PanelSession({
      goOn: (draft) => {
        if (draft.self.noted.length > 0) draft.offer();
        else for (const { id } of draft.all()) draft.ask(id, { text: `Hear ${id}?` });
      },
      told: (draft, text, member) => note(draft, `${member?.id}: ${text}`),
    });
    expect(session.open).toEqual(["ask questions c1", "ask questions c2"]);
    session.answerQuestions({ q1: "yes" });
    expect(session.refused).toBe("validation_failed /answers/0/question_id");
    session.command("cancel", "ann");
    expect(session.open).toEqual(["ask questions c2"]);
    expect(session.answerQuestions({ q1: "yes" }).noted).toEqual(["bob: yes"]);
    session.ends();
  });

  it("of one that is asked already is a mistake of the mode", () => {
    const rules = {
      answered: (draft: D) => {
        draft.ask("bob", { text: "Now?" });
        return undefined;
      },
    };
    expect(() => new PanelSession(rules).opinion("ann")).toThrow("bob holds a turn or waits already");
  });
});

describe("an agent's questions", () => {
  it("go to a person, and its message comes again with the answers", () => {
    const session = new PanelSession({}, ASKING).answer("ann", "clarification", QUESTIONS);
    expect(session.open).toEqual(["ask questions c1", "bob requirement bob"]);
    session.answerQuestions({ milk: "yes" });
    expect(session.last.step.commands).toMatchObject([{ do: "ask", ask_id: "c1", open: ["sugar"], subject: "ann" }]);
    expect(session.open).toContain("ask questions c1");
    session.answerQuestions({ "c1.sugar": "no" });
    expect(session.open).toEqual(["ann requirement ann", "bob requirement bob"]);
    expect(session.context("ann")).toMatchObject({
      clarifications: [
        { question: "With milk?", answer: "yes" },
        { question: "With sugar?", answer: "no" },
      ],
    });
    expect(session.context("bob")).not.toHaveProperty("clarifications");
    session.ends();
  });

  it("are refused without a question, with an id twice, and in more rounds than the configuration allows", () => {
    const config = { max_clarification_rounds: 1, max_retries: 9 };
    const session = new PanelSession({}, ASKING, ["ann"], config);
    expect(session.answer("ann", "clarification", { questions: [], status: "open" }).refused).toContain("/questions");
    const [milk] = QUESTIONS.questions;
    session.answer("ann", "clarification", { questions: [milk, milk], status: "open" });
    expect(session.refused).toBe("validation_failed /questions/1/question_id");
    expect(session.context("ann")).toHaveProperty("refused");
    session.answer("ann", "clarification", QUESTIONS).answerQuestions({ milk: "yes", sugar: "no" });
    expect(session.context("ann")).not.toHaveProperty("refused");
    expect(session.answer("ann", "clarification", QUESTIONS).refused).toBe("not_permitted /questions");
    session.ends();
  });

  it("end when the person wants no more", () => {
    const session = new PanelSession({}, ASKING).answer("ann", "clarification", QUESTIONS);
    session.answerQuestions({}, "complete");
    expect(session.answer("ann", "clarification", QUESTIONS).refused).toBe("not_permitted /questions");
    session.ends();
  });

  it("are refused from one that may not ask", () => {
    expect(new PanelSession().answer("ann", "clarification", QUESTIONS).refused).toBe("not_permitted");
  });
});

describe("an answer that nothing waits for", () => {
  it("is refused", () => {
    expect(new PanelSession().answerQuestions({ q1: "yes" }).refused).toBe("not_permitted");
  });
});
