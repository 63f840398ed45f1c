import { describe, expect, it } from "vitest";
import { DEBATERS, DebateSession, JUDGE, judging } from "./session.ts";

describe("the first round", () => {
  it("asks every debater at once, each in its own seat and about itself", () => {
    const { step } = new DebateSession().last;
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

  it("tells no debater what another has answered, however late it is admitted", () => {
    const session = new DebateSession().opinion("go").opinion("architect");
    expect(session.nextTurn("python").request).toMatchObject({
      expects: ["error", "opinion"],
      message: { payload_type: "requirement", payload: { text: "Python or Go?" } },
      context: { requirement: "Python or Go?", transcript: [], metadata: { round: 1, rounds: 2 } },
    });
  });
});

describe("the later rounds", () => {
  it("begin when the last debater has answered, in any order", () => {
    const session = new DebateSession().opinion("architect").opinion("python");
    expect([session.round, session.last.step.commands]).toEqual([1, []]);
    session.opinion("go");
    expect(session.open).toEqual(["architect requirement architect", "go requirement go", "python requirement python"]);
    expect(session.last.step.effects.map(({ subject, event }) => `${subject} ${event}`)).toEqual([
      "go opinion_given",
      ...DEBATERS.map((id) => `${id} asked`),
    ]);
    expect(session.round).toBe(2);
  });

  it("show the opinions of the round before, in the order of the input", () => {
    const session = new DebateSession({ rounds: 3 }).everyOpinion({}, ["architect", "python", "go"]).opinion("go");
    for (const id of ["python", "architect"]) {
      expect(session.told(id)).toEqual(DEBATERS.map((one) => `${one} in round 1`));
    }
    expect(session.asked("python").context).toMatchObject({
      metadata: { round: 2, rounds: 3 },
      transcript: DEBATERS.map((source) => ({
        source,
        payload_type: "opinion",
        payload: { round: 1, position: `${source} in round 1` },
      })),
    });
    const sequences = session.asked("python").context.transcript?.map(({ sequence }) => sequence);
    expect(sequences?.map((sequence) => session.records[sequence - 1]?.payload["position"])).toEqual(
      session.told("python"),
    );
    session.everyOpinion();
    expect(session.told("python")).toEqual(["python in round 2", "Mine.", "architect in round 2"]);
  });

  it("hold texts as references: a request does not grow with the opinions", () => {
    const session = new DebateSession();
    for (const id of DEBATERS) session.opinion(id, "x".repeat(100_000));
    expect(JSON.stringify(session.draft("go")).length).toBeLessThan(1_000);
  });

  it("refuse an opinion about another round, and ask again with the reason", () => {
    const session = new DebateSession().opinion("go", "Go.", { round: 2 });
    expect(session.refused).toBe("validation_failed /round");
    expect(session.turn("go")).toMatchObject({ status: "offered", attempt: 2 });
    expect(session.asked("go").context.refused).toMatchObject([
      { payload_type: "opinion", code: "validation_failed", pointer: "/round" },
    ]);
    expect(session.opinion("go").debater("go").opinions).toHaveLength(1);
  });
});

describe("the arguing ends", () => {
  const SAME = { changed: false };

  it("after the last round by default, even if no position changes", () => {
    const session = new DebateSession({ rounds: 3 }).everyOpinion(SAME).everyOpinion(SAME);
    expect(session.phase).toBe("debating");
    expect(session.everyOpinion(SAME).debate).toMatchObject({ phase: "judging", round: 3, argued_by: "rounds" });
  });

  it("until stable: after a round in which all say that nothing changed", () => {
    const session = new DebateSession({ rounds: 9, until: "stable" }).everyOpinion();
    session.opinion("python", "p", SAME).opinion("go", "g", SAME).opinion("architect", "a", { changed: true });
    expect(session.debate).toMatchObject({ phase: "debating", round: 3 });
    expect(session.everyOpinion(SAME).debate).toMatchObject({ phase: "judging", round: 3, argued_by: "stable" });
  });

  it("until stable: not after the first round, nor if an opinion does not say so", () => {
    const session = new DebateSession({ rounds: 3, until: "stable" }).everyOpinion(SAME);
    expect(session.round).toBe(2);
    expect(session.everyOpinion().round).toBe(3);
  });

  it("until stable: only the latest round counts", () => {
    const session = new DebateSession({ rounds: 4, until: "stable" }).everyOpinion();
    session.opinion("python", "p", SAME).opinion("go", "g").opinion("architect", "a", SAME);
    session.opinion("python", "p").opinion("go", "g", SAME).opinion("architect", "a", SAME);
    expect(session.debate).toMatchObject({ phase: "debating", round: 4 });
  });
});

describe("the judge", () => {
  it("gets the whole debate, round by round, in the order of the input", () => {
    const session = new DebateSession().everyOpinion({}, ["go", "architect", "python"]).everyOpinion();
    expect(session.told(JUDGE)).toEqual([1, 2].flatMap((round) => DEBATERS.map((id) => `${id} in round ${round}`)));
    expect(session.turn(JUDGE)).toEqual({
      turn_id: `t${session.sequence}`,
      seat: { type: "participant", role_id: "judge" },
      priority: 1,
      attempt: 1,
      run: 1,
      status: "offered",
    });
    expect(session.nextTurn("judge").request).toMatchObject({
      expects: ["error", "verdict"],
      message: { payload_type: "report", payload: { status: "completed", summary: expect.stringMatching(/round 2/) } },
      context: { requirement: "Python or Go?", metadata: { round: 2, rounds: 2 } },
    });
  });

  it("may be a manager", () => {
    const session = new DebateSession({ judge: "boss", rounds: 1 }).everyOpinion();
    const verdict = session.nextTurn("boss");
    expect(verdict.request.expects).toEqual(["error", "verdict"]);
    verdict.answer("verdict", { conclusion: "Go." });
    expect(session.ended?.outcome).toBe("done");
  });

  it("closes the debate with a verdict, which the report holds with every opinion", () => {
    const session = new DebateSession().everyOpinion().everyOpinion({ changed: true, confidence: 0.5 });
    const verdict = { conclusion: "Go.", winner: "go", dissent: ["Python is easier."] };
    expect(session.verdict(verdict).phase).toBe("closed");
    expect(session.ended).toEqual({
      outcome: "done",
      report: {
        requirement: "Python or Go?",
        tickets: [],
        result: {
          verdict,
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

  it("is asked again if the winner it names did not take part", () => {
    const session = judging().verdict({ winner: "rust" });
    expect(session.refused).toBe("validation_failed /winner");
    expect(session.asked(JUDGE).context.refused).toMatchObject([
      { pointer: "/winner", message: expect.stringContaining("python, go, architect") },
    ]);
    expect(session.verdict({ winner: "go" }).phase).toBe("closed");
  });
});

it("a debate is shown as seed 2's shared state", () => {
  const session = new DebateSession().opinion("go", "Go.").opinion("python", "Python.");
  const shared = { task: "Python or Go?", plan: [], current_step: 1, max_steps: 2 };
  expect(session.resolved(session.engine.mode.projection?.(session.state))).toMatchObject({
    ...shared,
    results: { go: "Go.", python: "Python." },
    messages: [
      { sender: "user", receiver: "all", content: "Python or Go?", msg_type: "TASK" },
      { sender: "go", receiver: "all", content: "Go.", msg_type: "RESULT" },
      { sender: "python", receiver: "all", content: "Python.", msg_type: "RESULT" },
    ],
    status: "executing",
  });
  const ended = session.command("cancel").engine;
  expect(ended.mode.projection?.(ended.state)).toMatchObject({ status: "failed" });
});
