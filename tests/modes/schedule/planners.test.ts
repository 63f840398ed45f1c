import { describe, expect, it } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import { listOf, objectOf } from "../../../src/lib/json.ts";
import { APPROVED, CREW, type Options, schedule, type ScheduleSession, task } from "./session.ts";

const ROLES = [
  ...CREW,
  { role_id: "ann", type: "participant", backend: "scripted" },
  { role_id: "ben", type: "participant", backend: "scripted" },
] as const;
const PLANNING = { planning: { planners: ["ann", "ben"] } };
const COMPLETE = { questions: [], status: "complete" } as const;
const planBy = (author: string) => ({ summary: `By ${author}`, tasks: [task(author)] });
const RESULT = {
  plans: [
    { role_id: "ann", plan: planBy("ann") },
    { role_id: "ben", plan: planBy("ben") },
  ],
};

/** A session with planners, which has its requirement. */
function begun({ config, ...more }: Options = {}): ScheduleSession {
  return schedule({ roles: ROLES, config: { ...PLANNING, ...config }, ...more }).requirement();
}

/** The same, and its manager has no question. */
function asked(options: Options = {}): ScheduleSession {
  return begun(options).answer(undefined, "clarification", COMPLETE);
}

/** The summaries of the plans that the manager is shown, and who they say is the author. */
function shown(session: ScheduleSession): unknown[] {
  const { context } = session.resolved(session.draft());
  return listOf(context["transcript"]).map((one) => {
    const { source, payload_type, payload } = objectOf(one);
    return [source, payload_type, objectOf(payload)["summary"]];
  });
}

const topic = (session: ScheduleSession) => resolve(session.child.input, session.lookup);

describe("planners", () => {
  it("plan in a child session once the manager has no question, which it alone may ask until then", () => {
    const session = begun();
    expect([session.open, session.draft().expects]).toEqual([["manager requirement"], ["clarification", "error"]]);
    session.answer(undefined, "clarification", COMPLETE);
    expect([session.open, session.phase]).toEqual([["planning about  offered"], "planning"]);
    expect([topic(session), session.child.budget]).toEqual([
      { planners: ["ann", "ben"], topic: "Mend it" },
      { turns: 6 },
    ]);
  });

  it("are told what was clarified and noted", () => {
    const session = begun().ask(undefined, "lang").command("tell", undefined, { text: "Be kind" });
    session.answerQuestions({ lang: "Rust" });
    expect(session.draft().expects).toEqual(["clarification", "error"]);
    session.answer(undefined, "clarification", COMPLETE);
    expect(topic(session)).toMatchObject({
      topic: "Mend it\nAsked:\nWhat of lang?\nAnswered:\nRust\nA note:\nBe kind",
    });
  });

  it.each<[string, (session: ScheduleSession) => ScheduleSession, number]>([
    ["a person wants no more questions", (session) => session.answerQuestions({ lang: "Rust" }, "complete"), 3],
    ["the last round of questions is answered", (session) => session.answerQuestions({ lang: "Rust" }), 1],
  ])("plan at once when %s", (_, answered, max_clarification_rounds) => {
    const session = answered(begun({ config: { max_clarification_rounds } }).ask(undefined, "lang"));
    expect(session.open).toEqual(["planning about  offered"]);
  });

  it("plan at once if the manager may ask nothing", () => {
    expect(begun({ config: { max_clarification_rounds: 0 } }).open).toEqual(["planning about  offered"]);
  });

  it("are not passed over by a plan of the manager", () => {
    const session = begun().replan(undefined, task("a"));
    expect([session.refused, session.open]).toEqual(["not_permitted", ["manager requirement"]]);
  });

  it.each([
    ["a person gives the plan", { plan_given: true, plan_digest: "sha256:0" }, []],
    ["the manager plays a plan file", { plan_digest: "sha256:0" }, ["manager requirement"]],
  ])("are not asked if %s", (_, input, open) => {
    const session = begun({ input });
    expect(session.open).toEqual(open);
    expect(session.state.session?.settings.planners).toBeUndefined();
  });

  it("are withdrawn by a plan of a person, and their end changes nothing", () => {
    const session = asked()
      .beginChild()
      .send("plan", { tasks: [task("c")] });
    expect(session.open).toEqual(["manager ticket c", "planning about  withdrawn"]);
    expect(session.engine.ledger.timers.has("discussion:")).toBe(false);
    expect(session.finishChild({ result: RESULT }).open).toEqual(["manager ticket c"]);
  });
});

describe("the plans of planners", () => {
  it("are judged by the manager, without names", () => {
    const session = asked().beginChild().finishChild({ result: RESULT });
    expect([session.open, session.draft().expects]).toEqual([
      ["manager requirement"],
      ["clarification", "error", "plan"],
    ]);
    expect(shown(session).map((one) => (one as string[]).slice(0, 2))).toEqual([
      ["plan_1", "plan"],
      ["plan_2", "plan"],
    ]);
    expect(JSON.stringify(session.resolved(session.draft()))).not.toContain("role_id");
    session.replan(undefined, task("merged"));
    expect(session.open).toEqual(["manager ticket merged"]);
  });

  it("come in an order that follows from the session's id", () => {
    const orderIn = (id: string, stopped = false) => {
      const session = asked().beginChild();
      if (stopped) session.stop().recover();
      session.finishChild({ result: RESULT, session_id: `${id}.${session.child.child}` });
      return shown(session).map((one) => (one as string[])[2]);
    };
    const orders = ["s-a", "s-b", "s-c", "s-d", "s-e", "s-f"].map((id) => orderIn(id));
    expect(new Set(orders.map((order) => order.join()))).toEqual(new Set(["By ann,By ben", "By ben,By ann"]));
    expect(orderIn("s-a", true)).toEqual(orders[0]);
  });

  it("may be one, or none: then the manager plans alone", () => {
    const [, ben] = RESULT.plans;
    const one = asked()
      .beginChild()
      .finishChild({ result: { plans: [{ role_id: "ann", reason: "timeout" }, ben ?? {}] } });
    expect(shown(one)).toEqual([["plan_1", "plan", "By ben"]]);
    const none = asked().beginChild().finishChild({ outcome: "failed", reason: "nobody_left" });
    expect([none.open, none.draft().context["transcript"]]).toEqual([["manager requirement"], undefined]);
    expect(none.replan(undefined, task("a")).open).toEqual(["manager ticket a"]);
  });

  it("that are there when time is up are judged", () => {
    const session = asked().beginChild().fireTimer("discussion:");
    expect(session.open).toEqual(["planning about  withdrawn"]);
    const [ann] = RESULT.plans;
    session.finishChild({ outcome: "cancelled", reason: "timeout", result: { plans: [ann ?? {}] } });
    expect(shown(session)).toEqual([["plan_1", "plan", "By ann"]]);
  });

  it("still stand there when the plan was sent back at the gate", () => {
    const session = asked({ config: { plan_approval: "ask" } })
      .beginChild()
      .finishChild({ result: RESULT });
    session.replan(undefined, task("a")).send("approval", { decision: "changes_requested", notes: "Smaller" });
    expect([session.open, shown(session)]).toEqual([
      ["manager requirement"],
      expect.arrayContaining([expect.anything()]),
    ]);
    session.replan(undefined, task("b")).send("approval", APPROVED);
    expect(session.open).toEqual(["manager ticket b"]);
  });

  it("are withdrawn when the session is cancelled", () => {
    const session = asked().beginChild().command("cancel");
    expect([session.report.ended, session.engine.ledger.children.size]).toEqual(["cancelled cancelled", 0]);
  });
});
