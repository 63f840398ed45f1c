import { describe, expect, it, test } from "vitest";
import { validatePayload } from "../../../src/protocol/envelope.ts";
import { schedule, type ScheduleSession, task } from "./session.ts";

/** A session that recovers from a crash during a turn about `a`, of a role with `recovery: ask`. */
function crashed(session = schedule()): { session: ScheduleSession; turn_id: string } {
  session.plan(task("a"), task("b")).instruct("a").admit("a");
  const turn_id = session.ticket("a").turn?.turn_id ?? "";
  session.recover(false, [turn_id]);
  return { session, turn_id };
}

describe("a turn that a crash cut short, of a role with recovery ask", () => {
  it("is not repeated but asked about, and moves nothing", () => {
    const { session, turn_id } = crashed();
    expect([session.moved, session.status("a"), session.ticket("a").attempt]).toEqual([[], "in_progress", 1]);
    expect(session.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "asked", run: 1 });
    const [envelope] = session.last.envelopes;
    expect(envelope).toMatchObject({ target: "user", payload_type: "clarification", subject: "a" });
    expect(validatePayload("clarification", envelope?.payload).ok).toBe(true);
    expect(envelope?.payload).toMatchObject({
      questions: [
        {
          question_id: "again",
          text: `The scheduler died while hand worked on a (turn ${turn_id}), so that work may be half done. Shall the turn be run again?`,
          options: ["repeat", "give up"],
        },
      ],
    });
    expect([...session.engine.ledger.asks.values()]).toEqual([
      { ask_id: turn_id, kind: "questions", open: ["again"], record: session.sequence + 1, subject: "a" },
    ]);
    expect(session.records[session.sequence]?.payload_type).toBe("clarification");
  });

  test.each([
    { by: "its whole id" },
    { by: "a bare id", bare: true },
    { by: "a bare id and the ask's", bare: true, ask: true },
  ])("is offered under a higher run when the answer says so by $by", ({ bare = false, ask = false }) => {
    const { session, turn_id } = crashed();
    session.send("clarification_response", {
      answers: [{ question_id: bare ? "again" : `${turn_id}.again`, text: " Repeat " }],
      status: "answered",
      ...(ask ? { ask_id: turn_id } : {}),
    });
    expect([session.last.disposition, session.engine.ledger.asks.size]).toEqual(["applied", 0]);
    expect(session.last.step.commands).toContainEqual({ do: "repeat_turn", turn_id });
    expect(session.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "offered", run: 2, interrupted: true });
    session.deliver("a");
    expect([session.status("a"), session.ticket("a").attempt]).toEqual(["awaiting_review", 1]);
  });

  it("fails when the answer gives it up, and is not retried", () => {
    const { session, turn_id } = crashed();
    session.answerQuestions({ [`${turn_id}.again`]: "give up" });
    expect([session.moved, session.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (cancelled)"],
      ["manager error a", "manager ticket b"],
    ]);
  });

  it.each([
    ["neither repeats nor gives up", { again: "perhaps" }, "validation_failed /answers/0/text"],
    [
      "answers something else with it, of which one part might not stand",
      { again: "repeat", "c1.q": "So" },
      "validation_failed /answers/1/question_id",
    ],
  ])("stays in doubt after an answer that %s", (_, answers, refused) => {
    const { session, turn_id } = crashed(schedule());
    session.ask("b", "q").answerQuestions(answers);
    expect([session.refused, session.engine.ledger.turns.get(turn_id)?.status]).toEqual([refused, "asked"]);
    expect([...session.engine.ledger.asks.keys()].sort()).toEqual(["c1", turn_id].sort());
  });

  it("quotes a long wrong answer as valid text", () => {
    const { session } = crashed();
    session.answerQuestions({ again: `${"a".repeat(79)}😀` });
    expect(session.last.step.refused?.message).toMatch(/^"a{79}\ufffd" does not say/u);
  });

  it("is apart from other questions, also when they end with complete", () => {
    const { session, turn_id } = crashed();
    session.ask("b", "q").answerQuestions({ q: "So" });
    expect(session.open).toEqual(["ask questions " + turn_id, "manager ticket b", "worker instruction a"]);
    expect(session.answerQuestions({}, "complete").engine.ledger.asks.has(turn_id)).toBe(true);
  });

  it("is not asked about once its ticket is cancelled", () => {
    const { session } = crashed();
    session.command("cancel", "a");
    expect([session.engine.ledger.asks.size, session.open]).toEqual([0, ["manager ticket b"]]);
  });

  it("is asked about still when the session is stopped, killed and resumed meanwhile", () => {
    const { session, turn_id } = crashed();
    session.stop("waiting").recover().recover(false);
    expect([...session.engine.ledger.asks.keys()]).toEqual([turn_id]);
    session.answerQuestions({ again: "repeat" });
    expect(session.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "offered", run: 2 });
  });

  it("may be the manager's, about no ticket", () => {
    const session = schedule().requirement().admit();
    const turn_id = session.state.session?.turn?.turn_id ?? "";
    session.recover(false, [turn_id]);
    expect(session.last.envelopes[0]?.payload).toMatchObject({
      questions: [{ text: expect.stringContaining(`while boss worked (turn ${turn_id})`) }],
    });
    expect(session.answerQuestions({ again: "repeat" }).open).toEqual(["manager requirement"]);
  });
});
