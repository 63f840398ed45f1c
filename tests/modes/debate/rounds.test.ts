import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../../src/lib/json.ts";
import { DEBATERS, DebateRig, endOf } from "./rig.ts";

/** The positions in a request's transcript, in order. */
function told(rig: DebateRig, role_id: string): Json[] {
  const transcript = rig.request(role_id).context.transcript as JsonObject[];
  return transcript.map((entry) => (entry.payload as JsonObject).position ?? null);
}

describe("the first round", () => {
  it("asks every debater at once, each in its own seat and about itself", () => {
    const { step } = new DebateRig().open();
    expect(step.commands).toEqual(
      DEBATERS.map((id, index) => ({
        do: "offer_turn",
        turn_id: index === 0 ? "t1" : `t1.${index + 1}`,
        seat: { type: "participant", role_id: id },
        subject: id,
        priority: 1,
        attempt: 1,
      })),
    );
    expect(step.effects).toEqual([
      ...DEBATERS.map((subject) => ({ subject, from: null, event: "seated", to: "waiting" })),
      ...DEBATERS.map((subject) => ({ subject, from: "waiting", event: "asked", to: "answering" })),
    ]);
  });

  it("tells nobody what another has answered, however late it is admitted", () => {
    const rig = new DebateRig();
    rig.open();
    rig.opinion("go", "Go.");
    rig.opinion("architect", "It depends.");
    expect(rig.request("python")).toEqual({
      expects: ["error", "opinion"],
      message: { payload_type: "requirement", payload: { text: "Python or Go?" } },
      context: { requirement: "Python or Go?", transcript: [], metadata: { round: 1, rounds: 2 } },
    });
  });
});

describe("the rounds after it", () => {
  it("begin when the last debater has answered, in whatever order they did", () => {
    const rig = new DebateRig();
    rig.open();
    expect(rig.opinion("architect", "a").step.commands).toEqual([]);
    expect(rig.opinion("python", "p").step.commands).toEqual([]);
    const { step } = rig.opinion("go", "g");
    expect(step.commands.map((command) => "subject" in command && command.subject)).toEqual([...DEBATERS]);
    expect(step.effects.map(({ subject, event }) => `${subject} ${event}`)).toEqual([
      "go opinion_given",
      ...DEBATERS.map((id) => `${id} asked`),
    ]);
    expect(rig.engine.state.debate?.round).toBe(2);
  });

  it("tell everyone's opinions of the round before, one's own once, and no other", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 3 });
    rig.round({}, ["architect", "python", "go"]);
    rig.opinion("go", "go in round 2");
    const first = DEBATERS.map((id) => `${id} in round 1`);
    for (const id of ["python", "architect"]) expect(told(rig, id)).toEqual(first);
    expect(rig.request("python").context).toEqual({
      requirement: "Python or Go?",
      metadata: { round: 2, rounds: 3 },
      transcript: [
        {
          sequence: 5,
          source: "python",
          payload_type: "opinion",
          payload: { round: 1, position: "python in round 1" },
        },
        { sequence: 7, source: "go", payload_type: "opinion", payload: { round: 1, position: "go in round 1" } },
        {
          sequence: 3,
          source: "architect",
          payload_type: "opinion",
          payload: { round: 1, position: "architect in round 1" },
        },
      ],
    });
    rig.round();
    expect(told(rig, "go")).toEqual(DEBATERS.map((id) => `${id} in round 2`));
  });

  it("hold texts as references, so that a request does not grow with the opinions", () => {
    const rig = new DebateRig();
    rig.open();
    for (const id of DEBATERS) rig.opinion(id, "x".repeat(100_000));
    const draft = rig.engine.mode.request(rig.engine.state, {
      turn_id: rig.turnOf("go").turn_id,
      subject: "go",
      attempt: 1,
      run: 1,
    });
    expect(JSON.stringify(draft).length).toBeLessThan(1_000);
  });

  it("refuse the opinion of another round and put the message again with the reason", () => {
    const rig = new DebateRig();
    rig.open();
    const done = rig.opinion("go", "Go.", { round: 2 });
    expect(done).toMatchObject({ disposition: "refused", step: { refused: { code: "validation_failed" } } });
    expect(rig.turnOf("go")).toMatchObject({ status: "offered", attempt: 2, subject: "go" });
    expect(rig.request("go").context.refused).toEqual([
      {
        payload_type: "opinion",
        code: "validation_failed",
        pointer: "/round",
        message: "this is round 1, not 2; the round is in context.metadata.round",
      },
    ]);
    rig.opinion("go", "Go.");
    expect(rig.debater("go").opinions).toHaveLength(1);
  });
});

describe("the end of the arguing", () => {
  it("comes after the last round by default, even if nobody moves", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 3 });
    rig.round({ changed: false });
    rig.round({ changed: false });
    expect(rig.phase).toBe("debating");
    rig.round({ changed: false });
    expect(rig.engine.state.debate).toMatchObject({ phase: "judging", round: 3, argued_by: "rounds" });
  });

  it("comes early when all debaters say that they have not changed, if it is until stable", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 9, until: "stable" });
    rig.round();
    rig.opinion("python", "p", { changed: false });
    rig.opinion("go", "g", { changed: false });
    rig.opinion("architect", "a", { changed: true });
    expect(rig.engine.state.debate).toMatchObject({ phase: "debating", round: 3 });
    rig.round({ changed: false });
    expect(rig.engine.state.debate).toMatchObject({ phase: "judging", round: 3, argued_by: "stable" });
  });

  it("takes silence about a change for one, and cannot come in the first round", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 3, until: "stable" });
    rig.round({ changed: false });
    expect(rig.engine.state.debate?.round).toBe(2);
    rig.round();
    expect(rig.engine.state.debate?.round).toBe(3);
  });

  it("counts only what was said of the latest round", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 4, until: "stable" });
    rig.round();
    rig.opinion("python", "p", { changed: false });
    rig.opinion("go", "g");
    rig.opinion("architect", "a", { changed: false });
    rig.opinion("python", "p");
    rig.opinion("go", "g", { changed: false });
    rig.opinion("architect", "a", { changed: false });
    expect(rig.engine.state.debate).toMatchObject({ phase: "debating", round: 4 });
  });

  it("works with a single round", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 1 });
    rig.round();
    expect(rig.phase).toBe("judging");
  });
});

describe("the judge", () => {
  it("is put the whole debate, round by round in the order of the debaters", () => {
    const rig = new DebateRig();
    rig.open();
    rig.round({}, ["go", "architect", "python"]);
    rig.round();
    expect(told(rig, "judge")).toEqual([1, 2].flatMap((round) => DEBATERS.map((id) => `${id} in round ${round}`)));
    expect(rig.turnOf("judge")).toEqual({
      turn_id: `t${rig.sequence}`,
      seat: { type: "participant", role_id: "judge" },
      priority: 1,
      attempt: 1,
      run: 1,
      status: "offered",
    });
    expect(rig.request("judge")).toMatchObject({
      expects: ["error", "verdict"],
      message: {
        payload_type: "report",
        payload: { status: "completed", summary: "The debate is over after round 2. Debaters: python, go, architect." },
      },
      context: { requirement: "Python or Go?", metadata: { round: 2, rounds: 2 } },
    });
  });

  it("may be a manager", () => {
    const rig = new DebateRig();
    rig.open({ judge: "boss", rounds: 1 });
    rig.round();
    expect(rig.turnOf("boss").seat).toEqual({ type: "manager", role_id: "boss" });
    expect(rig.request("boss").expects).toEqual(["error", "verdict"]);
    expect(endOf(rig, rig.answer("boss", "verdict", { conclusion: "Go." })).outcome).toBe("done");
  });

  it("closes the debate with its verdict, and the report holds it with where everyone stood", () => {
    const rig = new DebateRig();
    rig.open();
    rig.round();
    rig.round({ changed: true, confidence: 0.5 });
    const done = rig.answer("judge", "verdict", { conclusion: "Go.", winner: "go", dissent: ["Python is easier."] });
    expect(rig.phase).toBe("closed");
    expect(endOf(rig, done)).toEqual({
      outcome: "done",
      report: {
        requirement: "Python or Go?",
        tickets: [],
        result: {
          verdict: { conclusion: "Go.", winner: "go", dissent: ["Python is easier."] },
          judge: "judge",
          rounds: { held: 2, of: 2 },
          argued_by: "rounds",
          debaters: DEBATERS.map((role_id) => ({
            role_id,
            status: "answered",
            opinion: { round: 2, position: `${role_id} in round 2`, changed: true, confidence: 0.5 },
          })),
        },
        next_steps: ["bosun replay --verify"],
      },
    });
  });

  it("cannot let somebody win who was not there", () => {
    const rig = new DebateRig();
    rig.open({ rounds: 1 });
    rig.round();
    const done = rig.answer("judge", "verdict", { conclusion: "Rust.", winner: "rust" });
    expect(done.step.refused).toMatchObject({ code: "validation_failed", details: { pointer: "/winner" } });
    expect(rig.request("judge").context.refused).toMatchObject([
      { pointer: "/winner", message: expect.stringContaining("python, go, architect") },
    ]);
    rig.answer("judge", "verdict", { conclusion: "Go.", winner: "go" });
    expect(rig.phase).toBe("closed");
  });
});
