import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import { DEBATERS, DebateRig, endOf } from "./rig.ts";

function opened(input: JsonObject = {}, config: JsonObject = {}): DebateRig {
  const rig = new DebateRig();
  rig.open(input, config);
  return rig;
}

function judging(config: JsonObject = {}): DebateRig {
  const rig = opened({ rounds: 1 }, config);
  rig.round();
  return rig;
}

describe("a debater that fails", () => {
  it("is asked again after a back-off that doubles, while the others wait for it", () => {
    const rig = opened({}, { max_retries: 3, retry_backoff_ms: 100 });
    const delays: number[] = [];
    for (const _ of [1, 2, 3]) {
      const { step } = rig.fail("go", "timeout");
      expect(step.effects).toEqual([
        { subject: "go", from: "answering", event: "set_back", to: "waiting", reason: "timeout" },
      ]);
      delays.push(rig.delay("retry:go"));
      rig.fire("retry:go");
    }
    expect(delays).toEqual([100, 200, 400]);
    expect(rig.turnOf("go").attempt).toBe(4);
    rig.opinion("python", "p");
    rig.opinion("architect", "a");
    expect(rig.engine.state.debate?.round).toBe(1);
    rig.opinion("go", "g");
    expect(rig.engine.state.debate?.round).toBe(2);
    expect(rig.turnOf("go").attempt).toBe(1);
  });

  it("never waits longer than a minute", () => {
    const rig = opened({}, { max_retries: 20, retry_backoff_ms: 1000 });
    for (const _ of Array.from({ length: 12 })) {
      rig.fail("go");
      expect(rig.delay("retry:go")).toBeLessThanOrEqual(60_000);
      rig.fire("retry:go");
    }
    rig.fail("go");
    expect(rig.delay("retry:go")).toBe(60_000);
  });

  it("is told what was refused in the turn before", () => {
    const refused = [
      { payload_type: "opinion", code: "validation_failed", pointer: "/position", message: "It is missing." },
    ];
    const rig = opened();
    rig.fail("go", "no_answer", { refused });
    rig.fire("retry:go");
    expect(rig.request("go").context.refused).toEqual(refused);
  });

  it("is dropped with the reason when its retries are spent, and the others go on without it", () => {
    const rig = opened({ rounds: 2 }, { max_retries: 1 });
    rig.opinion("python", "p");
    rig.opinion("architect", "a");
    rig.fail("go", "timeout");
    rig.fire("retry:go");
    const { step } = rig.fail("go", "agent_failed");
    expect(step.effects[0]).toEqual({
      subject: "go",
      from: "answering",
      event: "dropped",
      to: "dropped",
      reason: "agent_failed",
    });
    expect(rig.engine.state.debate?.round).toBe(2);
    expect([...rig.engine.ledger.turns.values()].map((turn) => turn.subject)).toEqual(["python", "architect"]);
    rig.round();
    const done = rig.answer("judge", "verdict", { conclusion: "Python." });
    expect(endOf(rig, done).report.result).toMatchObject({
      debaters: [
        { role_id: "python" },
        { role_id: "go", status: "dropped", reason: "agent_failed" },
        { role_id: "architect" },
      ],
    });
    expect(rig.debater("go").opinions).toEqual([]);
  });

  it("keeps what it had said: the judge reads it, and that it dropped out", () => {
    const rig = opened({ rounds: 2 }, { max_retries: 0 });
    rig.round();
    rig.fail("python");
    rig.round();
    const { context, message } = rig.request("judge");
    expect(message.payload).toMatchObject({ summary: expect.stringContaining("python (dropped out), go, architect.") });
    expect((context.transcript as JsonObject[]).map(({ source }) => source)).toEqual([...DEBATERS, "go", "architect"]);
  });

  it("counts its error as a failure, and a refused answer as a retry", () => {
    const rig = opened({}, { max_retries: 2 });
    rig.answer("go", "error", { code: "internal", message: "I cannot." });
    expect(rig.debater("go")).toMatchObject({ status: "waiting", reason: "internal" });
    rig.fire("retry:go");
    expect(rig.answer("go", "verdict", { conclusion: "Me." })).toMatchObject({ disposition: "refused" });
    expect(rig.turnOf("go").attempt).toBe(3);
    rig.opinion("go", "Go.", { round: 7 });
    expect(rig.debater("go")).toMatchObject({ status: "dropped", reason: "validation_failed" });
  });

  it("starts with all its retries in each round", () => {
    const rig = opened({}, { max_retries: 1 });
    rig.fail("go");
    rig.fire("retry:go");
    rig.round();
    rig.fail("go");
    expect(rig.debater("go").status).toBe("waiting");
  });

  it("leaves the debate to the judge when only one is left to argue", () => {
    const rig = opened({ rounds: 5 }, { max_retries: 0 });
    rig.fail("python");
    rig.fail("architect");
    expect(rig.phase).toBe("debating");
    rig.opinion("go", "Go.");
    expect(rig.engine.state.debate).toMatchObject({ phase: "judging", round: 1, argued_by: "one_left" });
  });

  it("ends the debate as failed when it was the last one", () => {
    const rig = opened({}, { max_retries: 0 });
    for (const id of ["python", "go"]) rig.fail(id);
    const end = endOf(rig, rig.fail("architect"));
    expect(end).toMatchObject({ outcome: "failed", reason: "no_debaters_left", report: { tickets: [] } });
    expect(end.report.result).not.toHaveProperty("verdict");
  });

  it("is held, and no attempt is spent, when it is rate limited", () => {
    const rig = opened({}, { max_retries: 0 });
    rig.fail("go", "rate_limited");
    expect(rig.debater("go").status).toBe("answering");
    expect(rig.turnOf("go")).toMatchObject({ status: "offered", attempt: 1, run: 2 });
  });
});

describe("a judge that fails", () => {
  it("stops the session at once where it has one try", () => {
    const { step } = judging({ max_retries: 0 }).fail("judge", "agent_failed");
    expect(step.commands).toMatchObject([{ message: "the judge judge failed once, with agent_failed" }]);
  });

  it("is asked again after a back-off that doubles", () => {
    const rig = judging({ retry_backoff_ms: 100 });
    rig.fail("judge");
    expect(rig.delay("retry:")).toBe(100);
    rig.fire("retry:");
    rig.fail("judge");
    expect(rig.delay("retry:")).toBe(200);
    rig.fire("retry:");
    expect(rig.turnOf("judge").attempt).toBe(3);
  });

  it("stops the session, which is asked again with all retries when it is resumed", () => {
    const rig = judging({ max_retries: 1 });
    rig.fail("judge", "timeout");
    rig.fire("retry:");
    const { step } = rig.fail("judge", "agent_failed");
    expect(step.commands).toEqual([
      {
        do: "stop_session",
        reason: "manager_failed",
        message: "the judge judge failed 2 times, the last time with agent_failed",
      },
    ]);
    rig.stop("manager_failed");
    expect(rig.phase).toBe("stopped");
    rig.recover(true);
    expect(rig.phase).toBe("judging");
    expect(rig.turnOf("judge").attempt).toBe(1);
    rig.fail("judge");
    expect(rig.isStopping).toBe(false);
    rig.fire("retry:");
    rig.answer("judge", "verdict", { conclusion: "Go." });
    expect(rig.phase).toBe("closed");
  });

  it("is told when it is asked again what its last try had refused", () => {
    const refused = [
      { payload_type: "verdict", code: "validation_failed", pointer: "/conclusion", message: "is missing" },
    ];
    const rig = judging({ max_retries: 0 });
    rig.fail("judge", "malformed_output", { refused });
    rig.stop("manager_failed");
    rig.recover(true);
    expect(rig.request("judge").context["refused"]).toEqual(refused);
  });

  it("that stopped the session is asked again even if nobody recorded the stop", () => {
    const rig = judging({ max_retries: 0 });
    rig.fail("judge");
    rig.recover(false);
    expect(rig.turnOf("judge").status).toBe("offered");
  });

  it("that says it cannot conclude ends the debate as failed, with everyone's opinion in the report", () => {
    const rig = judging();
    const end = endOf(rig, rig.answer("judge", "error", { code: "validation_failed", message: "No topic." }));
    expect(end).toMatchObject({ outcome: "failed", reason: "validation_failed" });
    expect((end.report.result as JsonObject).debaters).toHaveLength(3);
    expect(end.report.next_steps).toEqual(["bosun log"]);
  });

  it("does not debate", () => {
    const rig = judging();
    const done = rig.answer("judge", "opinion", { round: 1, position: "Me too." });
    expect(done.step.refused).toMatchObject({ code: "not_permitted" });
    expect(rig.turnOf("judge").attempt).toBe(2);
  });
});

describe("a debater whose turn a crash cut short, and whose recovery is ask", () => {
  function crashed(): { rig: DebateRig; turn_id: string } {
    const rig = opened();
    rig.begin("go");
    const { turn_id } = rig.turnOf("go");
    rig.submit("scheduler", "session_recovered", { graceful: false, epoch: 2, turns: [], asked: [turn_id] });
    return { rig, turn_id };
  }

  it("is asked again when a person says so, who may", () => {
    expect(debateMode.rights.user.clarification_response).toContain("clarification");
    const { rig, turn_id } = crashed();
    expect(rig.turnOf("go")).toMatchObject({ status: "asked", attempt: 1 });
    const answers = [{ question_id: `${turn_id}.again`, text: "repeat" }];
    rig.submit("user", "clarification_response", { answers, status: "answered" });
    expect(rig.turnOf("go")).toMatchObject({ status: "offered", run: 2, attempt: 1 });
  });

  it.each(["cancelled", "budget_exhausted"])("is not asked again by itself after a turn that was %s", (code) => {
    const rig = opened();
    rig.fail("go", code);
    expect(rig.debater("go")).toMatchObject({ status: "dropped", reason: code });
  });
});
