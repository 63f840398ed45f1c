import { describe, expect, it, test } from "vitest";
import { validatePayload } from "../../../src/protocol/envelope.ts";
import { Scene } from "./rig.ts";
import { asking, COMPLETED, INSTRUCTION, task } from "./words.ts";

/** A crash while a worker had `a`, and a role that wants a person asked. */
function crashed(scene = new Scene()): { scene: Scene; turn_id: string } {
  scene.planned(task("a"), task("b")).says("a", "instruction", INSTRUCTION).admit("a");
  const turn_id = scene.ticket("a").turn?.turn_id ?? "";
  scene.recovers(false, [turn_id]);
  return { scene, turn_id };
}

describe("a turn that a crash cut short, of a role whose recovery is ask", () => {
  it("is not repeated: a person is asked, and nothing of the ticket has moved", () => {
    const { scene, turn_id } = crashed();
    expect([scene.moved, scene.status("a"), scene.ticket("a").attempt]).toEqual([[], "in_progress", 1]);
    expect(scene.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "asked", run: 1 });
    const [envelope] = scene.last.envelopes;
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
    expect([...scene.engine.ledger.asks.values()]).toEqual([
      { ask_id: turn_id, kind: "questions", record: scene.sequence + 1, subject: "a" },
    ]);
    expect(scene.records[scene.sequence]?.payload_type).toBe("clarification");
  });

  test.each([
    { by: "its whole id" },
    { by: "a bare id", bare: true },
    { by: "a bare id and the ask's", bare: true, ask: true },
  ])("is offered again under a higher run when the person says so by $by", ({ bare = false, ask = false }) => {
    const { scene, turn_id } = crashed();
    scene.person("clarification_response", {
      answers: [{ question_id: bare ? "again" : `${turn_id}.again`, text: " Repeat " }],
      status: "answered",
      ...(ask ? { ask_id: turn_id } : {}),
    });
    expect([scene.last.disposition, scene.engine.ledger.asks.size]).toEqual(["applied", 0]);
    expect(scene.last.step.commands).toContainEqual({ do: "repeat_turn", turn_id });
    expect(scene.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "offered", run: 2, interrupted: true });
    scene.says("a", "report", COMPLETED);
    expect([scene.status("a"), scene.ticket("a").attempt]).toEqual(["awaiting_review", 1]);
  });

  it("is a failed turn when the person gives it up, and not tried again by itself", () => {
    const { scene, turn_id } = crashed();
    scene.answers({ [`${turn_id}.again`]: "give up" });
    expect([scene.moved, scene.open]).toEqual([
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
  ])("stays in doubt after a word that %s", (_, answers, refused) => {
    const { scene, turn_id } = crashed(new Scene());
    scene.says("b", "clarification", asking("q")).answers(answers);
    expect([scene.refused, scene.engine.ledger.turns.get(turn_id)?.status]).toEqual([refused, "asked"]);
    expect([...scene.engine.ledger.asks.keys()].sort()).toEqual(["c1", turn_id].sort());
  });

  it("stays in doubt after a word that cannot be quoted whole, and what is quoted can be recorded", () => {
    const { scene } = crashed();
    scene.answers({ again: `${"a".repeat(79)}😀` });
    expect(scene.last.step.refused?.message).toMatch(/^"a{79}\ufffd" does not say/u);
  });

  it("leaves other questions to the mode, and is not answered by a word that ends them all", () => {
    const { scene, turn_id } = crashed();
    scene.says("b", "clarification", asking("q")).answers({ q: "So" });
    expect(scene.open).toEqual(["ask questions " + turn_id, "manager ticket b", "worker instruction a"]);
    expect(scene.answers({}, "complete").engine.ledger.asks.has(turn_id)).toBe(true);
  });

  it("takes no late word of the agent that is gone", () => {
    const { scene, turn_id } = crashed();
    scene.fact("hand", "report", COMPLETED, { subject: "a", turn: { turn_id, subject: "a", attempt: 1, run: 1 } });
    expect([scene.last.disposition, scene.status("a")]).toEqual(["late", "in_progress"]);
  });

  it("is asked about no longer when its ticket is cancelled", () => {
    const { scene } = crashed();
    scene.command("cancel", "a");
    expect([scene.engine.ledger.asks.size, scene.open]).toEqual([0, ["manager ticket b"]]);
  });

  it("is asked about still when the session is stopped, killed and resumed meanwhile", () => {
    const { scene, turn_id } = crashed();
    scene.stops("waiting").recovers().recovers(false);
    expect([...scene.engine.ledger.asks.keys()]).toEqual([turn_id]);
    scene.answers({ again: "repeat" });
    expect(scene.engine.ledger.turns.get(turn_id)).toMatchObject({ status: "offered", run: 2 });
  });

  it("may be the manager's, about no ticket", () => {
    const scene = new Scene().requirement().admit();
    const turn_id = scene.state.session?.turn?.turn_id ?? "";
    scene.recovers(false, [turn_id]);
    expect(scene.last.envelopes[0]?.payload).toMatchObject({
      questions: [{ text: expect.stringContaining(`while boss worked (turn ${turn_id})`) }],
    });
    expect(scene.answers({ again: "repeat" }).open).toEqual(["manager requirement"]);
  });
});
