import { describe, expect, it } from "vitest";
import { DEBATERS, DebateSession, JUDGE, judging } from "./session.ts";

describe("a debater that fails", () => {
  it("is asked again after a back-off that doubles, while the others wait for it", () => {
    const session = new DebateSession({}, { max_retries: 3, retry_backoff_ms: 100 });
    const delays: number[] = [];
    for (const _ of [1, 2, 3]) {
      expect(session.fail("go", "timeout").moved).toEqual(["go: answering -set_back-> waiting (timeout)"]);
      delays.push(session.delay("retry:go"));
      session.fireTimer("retry:go");
    }
    expect([delays, session.turn("go").attempt]).toEqual([[100, 200, 400], 4]);
    expect(session.opinion("python").opinion("architect").round).toBe(1);
    expect(session.opinion("go").round).toBe(2);
    expect(session.turn("go").attempt).toBe(1);
  });

  it("never waits longer than a minute", () => {
    const session = new DebateSession({}, { max_retries: 20, retry_backoff_ms: 1000 });
    for (const _ of Array.from({ length: 12 })) {
      expect(session.fail("go").delay("retry:go")).toBeLessThanOrEqual(60_000);
      session.fireTimer("retry:go");
    }
    expect(session.fail("go").delay("retry:go")).toBe(60_000);
  });

  it("is told what its turn before had refused", () => {
    const refused = [
      { payload_type: "opinion", code: "validation_failed", pointer: "/position", message: "It is missing." },
    ];
    const session = new DebateSession().fail("go", "no_answer", { refused }).fireTimer("retry:go");
    expect(session.asked("go").context.refused).toEqual(refused);
  });

  it("is dropped with the reason when its retries are spent, and the others go on", () => {
    const session = new DebateSession({}, { max_retries: 1 }).opinion("python").opinion("architect");
    session.fail("go", "timeout").fireTimer("retry:go").fail("go");
    expect(session.moved[0]).toBe("go: answering -dropped-> dropped (agent_failed)");
    expect([session.round, session.open]).toEqual([
      2,
      ["architect requirement architect", "python requirement python"],
    ]);
    session.everyOpinion().verdict();
    expect(session.ended?.report["result"]).toMatchObject({
      debaters: [
        { role_id: "python" },
        { role_id: "go", status: "dropped", reason: "agent_failed" },
        { role_id: "architect" },
      ],
    });
  });

  it("keeps its opinions when it is dropped, for the judge to read", () => {
    const session = new DebateSession({}, { max_retries: 0 }).everyOpinion().fail("python").everyOpinion();
    const { context, message } = session.asked(JUDGE);
    expect(message.payload).toMatchObject({ summary: expect.stringContaining("python (dropped out), go, architect.") });
    expect(context.transcript?.map(({ source }) => source)).toEqual([...DEBATERS, "go", "architect"]);
  });

  it("spends a retry on an error and on each refused answer", () => {
    const session = new DebateSession();
    session.answer("go", "error", { code: "internal", message: "I cannot." });
    expect(session.debater("go")).toMatchObject({ status: "waiting", reason: "internal" });
    session.fireTimer("retry:go").answer("go", "verdict", { conclusion: "Me." });
    expect([session.last.disposition, session.turn("go").attempt]).toEqual(["refused", 3]);
    session.opinion("go", "Go.", { round: 7 });
    expect(session.debater("go")).toMatchObject({ status: "dropped", reason: "validation_failed" });
  });

  it("has all its retries again in each round", () => {
    const session = new DebateSession({}, { max_retries: 1 }).fail("go").fireTimer("retry:go");
    expect(session.everyOpinion().fail("go").debater("go").status).toBe("waiting");
  });

  it("ends the arguing when only one is left", () => {
    const session = new DebateSession({ rounds: 5 }, { max_retries: 0 }).fail("python").fail("architect");
    expect(session.phase).toBe("debating");
    expect(session.opinion("go").debate).toMatchObject({ phase: "judging", round: 1, argued_by: "one_left" });
  });

  it("ends the debate as failed when it was the last one", () => {
    const session = new DebateSession({}, { max_retries: 0 }).fail("python").fail("go").fail("architect");
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "no_debaters_left", report: { tickets: [] } });
    expect(session.ended?.report["result"]).not.toHaveProperty("verdict");
  });

  it.each(["rate_limited", "unavailable", "environment"])("is held, and spends no attempt, when it is %s", (code) => {
    const session = new DebateSession({}, { max_retries: 0 }).fail("go", code);
    expect(session.debater("go").status).toBe("answering");
    expect(session.turn("go")).toMatchObject({ status: "offered", attempt: 1, run: 2 });
  });

  it.each(["cancelled", "budget_exhausted"])("is dropped at once after a turn that was %s", (code) => {
    expect(new DebateSession().fail("go", code).debater("go")).toMatchObject({ status: "dropped", reason: code });
  });
});

it("repeats a debater's turn that a crash cut short when a user says so", () => {
  const session = new DebateSession().admit("go");
  const { turn_id } = session.turn("go");
  session.recover(false, [turn_id]);
  expect(session.turn("go")).toMatchObject({ status: "asked", attempt: 1 });
  session.answerQuestions({ [`${turn_id}.again`]: "repeat" });
  expect(session.turn("go")).toMatchObject({ status: "offered", run: 2, attempt: 1 });
});

describe("a judge that fails", () => {
  it("is asked again after a back-off that doubles", () => {
    const session = judging({ retry_backoff_ms: 100 });
    expect(session.fail(JUDGE).delay("retry:")).toBe(100);
    expect(session.fireTimer("retry:").fail(JUDGE).delay("retry:")).toBe(200);
    expect(session.fireTimer("retry:").turn(JUDGE).attempt).toBe(3);
  });

  it.each([
    [0, "failed once, with agent_failed"],
    [1, "failed 2 times, the last time with agent_failed"],
  ])("stops the session when its %i retries are spent, and is asked again on resume", (max_retries, failed) => {
    const session = judging({ max_retries });
    for (const _ of Array.from({ length: max_retries })) session.fail(JUDGE, "timeout").fireTimer("retry:");
    expect(session.fail(JUDGE).last.step.commands).toEqual([
      { do: "stop_session", reason: "manager_failed", message: `the judge judge ${failed}` },
    ]);
    expect(session.stop("manager_failed").phase).toBe("stopped");
    expect(session.recover().phase).toBe("judging");
    expect(session.turn(JUDGE).attempt).toBe(1);
    expect(session.verdict().phase).toBe("closed");
  });

  it("is told on resume what its last turn had refused", () => {
    const refused = [
      { payload_type: "verdict", code: "validation_failed", pointer: "/conclusion", message: "is missing" },
    ];
    const session = judging({ max_retries: 0 }).fail(JUDGE, "malformed_output", { refused });
    expect(session.stop("manager_failed").recover().asked(JUDGE).context.refused).toEqual(refused);
  });

  it("is asked again after a crash in which the stop was not recorded", () => {
    expect(judging({ max_retries: 0 }).fail(JUDGE).recover(false).turn(JUDGE).status).toBe("offered");
  });

  it("ends the debate as failed by giving up, with every opinion in the report", () => {
    const session = judging().answer(JUDGE, "error", { code: "validation_failed", message: "No topic." });
    expect(session.ended).toMatchObject({
      outcome: "failed",
      reason: "validation_failed",
      report: { result: { debaters: [{}, {}, {}] }, next_steps: ["bosun log"] },
    });
  });
});
