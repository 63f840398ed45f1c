import { describe, expect, it, test } from "vitest";
import { later } from "../../../src/protocol/timestamp.ts";
import { Scene, type SceneOptions } from "./rig.ts";
import { APPROVED, CHANGES, COMPLETED, INSTRUCTION, runs, type Task, task } from "./words.ts";

/** A session whose ticket `a` has this budget; it has been planned, and nobody has a turn about it yet. */
function planned(budget: Task["budget"], more: Partial<Task> = {}, options: SceneOptions = {}): Scene {
  return new Scene(options).planned(task("a", { ...(budget ? { budget } : {}), ...more }));
}

/** The plan again, with another budget of `a`. */
function replan(budget: Task["budget"]): { tasks: Task[] } {
  return { tasks: [task("a", budget ? { budget } : {})] };
}

function used(scene: Scene): number | undefined {
  return scene.ticket("a").allowance?.used;
}

function alarm(scene: Scene): string | undefined {
  const timer = scene.engine.ledger.timers.get("budget:a");
  return timer && `${timer.due_at}${timer.passive ? " passive" : ""}`;
}

function refusedWith(scene: Scene): unknown {
  return scene.draft("a").context["refused"];
}

describe("a ticket's budget of turns", () => {
  it("counts every turn that is offered about it, but the manager's error turns", () => {
    const scene = planned({ turns: 9 });
    expect(used(scene)).toBe(1);
    scene.says("a", "instruction", INSTRUCTION);
    expect(used(scene)).toBe(2);
    scene.says("a", "report", COMPLETED);
    expect([used(scene), scene.open]).toEqual([3, ["manager review_request a"]]);
    scene.says("a", "review", CHANGES).fails("a", "cancelled");
    expect([used(scene), scene.open]).toEqual([4, ["manager error a"]]);
    scene.fails("a", "timeout").fires("retry:a");
    expect([used(scene), scene.open]).toEqual([4, ["manager error a"]]);
  });

  it("does not count that a turn is given again after a hold or a crash", () => {
    const scene = planned({ turns: 9 }).fails("a", "rate_limited").admit("a").recovers(false).admit("a");
    expect(used(scene)).toBe(1);
  });

  it("that is spent stops the ticket before the next turn, and the manager is asked at once", () => {
    const scene = planned({ turns: 1 }).says("a", "instruction", INSTRUCTION);
    expect(scene.moved).toEqual([
      "a: pending -instruction_received-> in_progress",
      "a: in_progress -work_stopped-> blocked (budget_exhausted)",
    ]);
    expect([scene.open, scene.ticket("a").escalations, used(scene)]).toEqual([["manager error a"], 1, 1]);
    const { message, expects, remaining_turns } = scene.draft("a");
    expect(message).toMatchObject({
      payload_type: "error",
      payload: { code: "budget_exhausted", resolution_hint: expect.stringContaining("larger one") },
    });
    expect([expects.includes("instruction"), remaining_turns]).toEqual([true, 0]);
  });

  test.each<[string, (scene: Scene) => Scene]>([
    ["a retry", (scene) => scene.says("a", "instruction", INSTRUCTION).fails("a", "timeout")],
    [
      "an answer that was refused",
      (scene) => scene.says("a", "instruction", INSTRUCTION).says("a", "report", { status: "proposal" }),
    ],
    [
      "a worker's questions",
      (scene) =>
        scene.says("a", "instruction", INSTRUCTION).says("a", "report", {
          status: "blocked",
          questions: [{ question_id: "q", text: "What?" }],
        }),
    ],
    [
      "a person's answer",
      (scene) => {
        for (const id of ["c1.q", "c2.q"]) {
          scene.says("a", "clarification", { questions: [{ question_id: "q", text: "?" }], status: "open" });
          scene.answers({ [id]: "So" });
        }
        return scene;
      },
    ],
    ["the manager's own back-off", (scene) => scene.fails("a", "timeout").fires("retry:a").fails("a").fires("retry:a")],
  ])("holds for %s as well", (_, spend) => {
    const scene = spend(planned({ turns: 2 }));
    expect([scene.status("a"), scene.open]).toEqual(["blocked (budget_exhausted)", ["manager error a"]]);
  });

  it("is told in each request, what remains after that turn", () => {
    const scene = planned({ turns: 3 });
    expect(scene.draft("a").remaining_turns).toBe(2);
    scene.says("a", "instruction", INSTRUCTION);
    expect(scene.draft("a").remaining_turns).toBe(1);
    expect(new Scene().planned(task("b")).draft("b").remaining_turns).toBeUndefined();
  });

  it("is the configuration's, key by key, where the task says nothing", () => {
    const config = { budget: { ticket: { turns: 7, wall_s: 60 } } };
    const allowances = [undefined, { turns: 2 }, { wall_s: 5 }].map(
      (budget) => planned(budget, {}, { config }).ticket("a").allowance,
    );
    expect(allowances).toMatchObject([
      { turns: 7, wall_s: 60 },
      { turns: 2, wall_s: 60 },
      { turns: 7, wall_s: 5 },
    ]);
    expect(planned(undefined).ticket("a")).not.toHaveProperty("allowance");
  });
});

describe("work that was delivered with the last of its budget", () => {
  const delivered = (more: Partial<Task> = {}) =>
    planned({ turns: 2 }, more).says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED);

  it("is reviewed all the same, also when that turn fails at first", () => {
    const scene = delivered();
    expect(scene.open).toEqual(["manager review_request a"]);
    scene.fails("a", "timeout").fires("retry:a").says("a", "review", APPROVED);
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("is not mended, but can still be approved by the manager who wanted it changed", () => {
    const scene = delivered().says("a", "review", CHANGES);
    expect(scene.moved).toEqual(["a: awaiting_review -work_stopped-> blocked (budget_exhausted)"]);
    expect(scene.draft("a").expects).toContain("review");
    scene.says("a", "review", APPROVED);
    expect(scene.report).toMatchObject({ ended: "done", tickets: { a: "done" } });
  });

  it("is put to its reviewer with the evidence when its checks fail, and never approved against it", () => {
    const scene = delivered({ acceptance_criteria: [runs("true")] }).checked("a", false);
    expect([scene.status("a"), scene.open]).toEqual(["awaiting_review", ["manager review_request a"]]);
    scene.says("a", "review", APPROVED);
    expect(scene.refused).toBe("checks_failed /decision");
    scene.says("a", "review", APPROVED);
    expect(scene.status("a")).toBe("blocked (budget_exhausted)");
  });

  it("that nobody takes on is given up in the end", () => {
    const scene = delivered().says("a", "review", CHANGES).says("a", "review", CHANGES).says("a", "review", CHANGES);
    expect(scene.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error budget_exhausted" } });
  });
});

describe("a manager who is asked about a spent budget", () => {
  const asked = () => planned({ turns: 1 }).says("a", "instruction", INSTRUCTION);

  it("cannot instruct, and is told what is possible, as often as it may try", () => {
    const scene = asked().says("a", "instruction", INSTRUCTION);
    expect([scene.last.disposition, scene.refused, scene.status("a")]).toEqual([
      "refused",
      "budget_exhausted ",
      "blocked (budget_exhausted)",
    ]);
    expect(scene.open).toEqual(["manager error a"]);
    expect(scene.draft("a").message.payload).toMatchObject({ resolution_hint: expect.stringContaining("larger one") });
    expect(refusedWith(scene)).toEqual([
      {
        payload_type: "instruction",
        code: "budget_exhausted",
        pointer: "",
        message:
          'nothing is left of the budget of ticket "a" (1 turns); send a "plan" that gives its task a larger budget, or "error" to give it up',
      },
    ]);
    scene.says("a", "instruction", INSTRUCTION).says("a", "instruction", INSTRUCTION);
    expect(scene.last.step.commands).toMatchObject([{ do: "stop_session", reason: "manager_failed" }]);
  });

  it("cannot instruct either where other trouble came to the manager and nothing is left", () => {
    const scene = planned({ turns: 2 }, {}, { config: { max_retries: 0 } }).says("a", "instruction", INSTRUCTION);
    scene.says("a", "report", { status: "blocked" });
    expect(scene.status("a")).toBe("blocked (needs_input)");
    expect(scene.draft("a").message.payload).toMatchObject({ resolution_hint: expect.stringContaining("larger one") });
    expect(scene.says("a", "instruction", INSTRUCTION).refused).toBe("budget_exhausted ");
  });

  it("may instruct where something is left, and is told so", () => {
    const scene = planned({ turns: 9 })
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", { status: "blocked" });
    expect(scene.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("a new instruction"),
    });
    expect(scene.says("a", "instruction", INSTRUCTION).open).toEqual(["worker instruction a"]);
  });

  it("goes on with a plan that gives the task a larger one, of which so much is used", () => {
    const scene = asked().says("a", "plan", replan({ turns: 3 }));
    expect([scene.status("a"), scene.open, used(scene)]).toEqual(["pending", ["manager ticket a"], 2]);
    scene.says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED).says("a", "review", APPROVED);
    expect(scene.report.ended).toBe("done");
  });

  it("goes on with a plan that takes the limit away", () => {
    const scene = asked().says("a", "plan", replan(undefined));
    expect([scene.open, scene.ticket("a")]).toEqual([
      ["manager ticket a"],
      expect.not.objectContaining({ allowance: expect.anything() }),
    ]);
  });

  it("is asked again by a plan that does not, until the escalations are spent", () => {
    const scene = asked().says("a", "plan", replan({ turns: 1 }));
    expect([scene.status("a"), scene.open]).toEqual(["blocked (budget_exhausted)", ["manager error a"]]);
    scene.says("a", "plan", replan({ turns: 1 }));
    expect(scene.report).toMatchObject({ ended: "failed tickets_failed", tickets: { a: "error budget_exhausted" } });
  });

  it("may have it given up by a plan that goes on with others, and only those are waited for", () => {
    const scene = planned({ turns: 1 }, {}, { config: { max_escalations: 1 } }).says("a", "instruction", INSTRUCTION);
    scene.says("a", "plan", { tasks: [task("a", { budget: { turns: 1 } }), task("b")] });
    expect([scene.status("a"), scene.ended, scene.open]).toEqual([
      "error (budget_exhausted)",
      undefined,
      ["manager ticket b"],
    ]);
  });

  it("may give the ticket up", () => {
    const scene = asked().says("a", "error", { code: "agent_failed", message: "No" });
    expect(scene.report.tickets).toEqual({ a: "error budget_exhausted" });
  });

  it("may ask the person, whose answer puts the question again", () => {
    const scene = asked().says("a", "clarification", {
      questions: [{ question_id: "q", text: "More?" }],
      status: "open",
    });
    expect(scene.answers({ "c1.q": "No" }).open).toEqual(["manager error a"]);
  });
});

describe("a person's retry", () => {
  it("of a ticket whose budget is spent gives it the budget once more, and the work goes on", () => {
    const scene = planned({ turns: 2 })
      .says("a", "instruction", INSTRUCTION)
      .fails("a", "timeout")
      .command("retry", "a");
    expect([scene.moved, scene.open, used(scene)]).toEqual([
      ["a: blocked -retry-> in_progress"],
      ["worker instruction a"],
      1,
    ]);
  });

  it("of one that was never instructed begins it anew", () => {
    const scene = planned({ turns: 1 }).fails("a", "timeout").fires("retry:a").command("retry", "a");
    expect([scene.moved, scene.open, used(scene)]).toEqual([
      ["a: blocked -replanned-> pending"],
      ["manager ticket a"],
      1,
    ]);
  });

  it("of one that was given up does, too", () => {
    const scene = planned({ turns: 1 }).says("a", "instruction", INSTRUCTION);
    scene.says("a", "error", { code: "agent_failed", message: "No" }).reopens().command("retry", "a");
    expect([scene.open, used(scene)]).toEqual([["worker instruction a"], 1]);
  });

  it("of delivered work has it mended once more", () => {
    const scene = planned({ turns: 2 }).says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED);
    scene.says("a", "review", CHANGES).command("retry", "a").says("a", "review", CHANGES);
    expect(scene.open).toEqual(["worker instruction a"]);
  });
});

describe("a ticket's budget of time", () => {
  const FROM = "2026-01-01T00:00:03Z";

  it("runs from the first turn that is offered, on a timer for which no session waits", () => {
    const scene = planned({ wall_s: 60 });
    expect([scene.ticket("a").allowance, alarm(scene)]).toEqual([
      { wall_s: 60, used: 1, from: FROM },
      "2026-01-01T00:01:03Z passive",
    ]);
    scene.says("a", "instruction", INSTRUCTION);
    expect(alarm(scene)).toBe("2026-01-01T00:01:03Z passive");
  });

  it("takes a turn back that is under way when it is over, and asks the manager", () => {
    const scene = planned({ wall_s: 60 }).says("a", "instruction", INSTRUCTION).admit("a");
    const { turn_id } = scene.ticket("a").turn ?? {};
    scene.fires("budget:a");
    expect(scene.last.step.commands[0]).toEqual({
      do: "withdraw_turn",
      turn_id,
      reason: "the ticket's budget is spent",
    });
    expect([scene.moved, scene.open]).toEqual([
      ["a: in_progress -work_stopped-> blocked (budget_exhausted)"],
      ["manager error a"],
    ]);
    expect(scene.draft("a").message.payload).toMatchObject({ resolution_hint: expect.stringContaining("larger one") });
    expect(scene.says("a", "instruction", INSTRUCTION).refused).toBe("budget_exhausted ");
    expect(scene.last.step.refused?.message).toBe('nothing is left of the budget of ticket "a" (60 s)');
  });

  test.each<[string, (scene: Scene) => Scene]>([
    ["a review", (scene) => scene.says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED).admit("a")],
    [
      "the manager's error turn",
      (scene) => scene.says("a", "instruction", INSTRUCTION).fails("a", "cancelled").admit("a"),
    ],
    ["a back-off", (scene) => scene.says("a", "instruction", INSTRUCTION).fails("a", "timeout")],
    [
      "a question to a person",
      (scene) => scene.says("a", "clarification", { questions: [{ question_id: "q", text: "?" }], status: "open" }),
    ],
  ])("leaves %s alone", (_, before) => {
    const scene = before(planned({ wall_s: 60 }, {}, { config: { retry_backoff_ms: 60_000 } }));
    const [open, status] = [scene.open.map((line) => line.replace(/ in \d+ ms/, "")), scene.status("a")];
    scene.fires("budget:a");
    expect([scene.open.map((line) => line.replace(/ in \d+ ms/, "")), scene.status("a")]).toEqual([open, status]);
  });

  it.each([
    [1, []],
    [0, ["a: blocked -retries_exceeded-> error (budget_exhausted)"]],
  ])("stops at its next turn what nobody was at work on (%s escalations left)", (max_escalations, given_up) => {
    const scene = new Scene({ config: { retry_backoff_ms: 60_000, max_escalations } });
    scene.planned(task("a", { budget: { wall_s: 30 } }), task("b")).says("a", "instruction", INSTRUCTION);
    scene.fails("a", "timeout").fires("budget:a").fires("retry:a");
    expect(scene.moved).toEqual([
      "a: blocked -retry-> in_progress",
      "a: in_progress -work_stopped-> blocked (budget_exhausted)",
      ...given_up,
    ]);
    for (const held of ["waits_for", "put_again"]) expect(scene.ticket("a")).not.toHaveProperty(held);
  });

  it("is set anew by a plan that gives more of it, from the same moment", () => {
    const scene = planned({ wall_s: 60 }).says("a", "instruction", INSTRUCTION).fires("budget:a");
    scene.says("a", "plan", replan({ wall_s: 600 }));
    expect([scene.open, alarm(scene)]).toEqual([["manager ticket a"], `${later(FROM, 600_000)} passive`]);
  });

  it("has no alarm any more when the ticket is over, or no longer has one", () => {
    const scene = planned({ wall_s: 60 }).says("a", "instruction", INSTRUCTION).command("cancel", "a");
    expect(alarm(scene)).toBeUndefined();
    const other = planned({ wall_s: 60 }).person("plan", replan({ turns: 9 }));
    expect(alarm(other)).toBeUndefined();
    const third = new Scene().planned(task("a", { budget: { wall_s: 60 } }), task("b"));
    third.says("a", "instruction", INSTRUCTION).says("a", "report", COMPLETED).says("a", "review", APPROVED);
    expect(alarm(third)).toBeUndefined();
  });

  it("begins anew with a person's retry", () => {
    const scene = planned({ wall_s: 60 }).says("a", "instruction", INSTRUCTION).fires("budget:a").command("retry", "a");
    expect([scene.open, alarm(scene)]).toEqual([
      ["worker instruction a"],
      `${later(scene.ticket("a").allowance?.from ?? "", 60_000)} passive`,
    ]);
  });
});

test.each([
  ["tokens", { tokens: 5 }],
  ["usd", { usd: 1 }],
  ["turns", { turns: 0 }],
] as const)("a plan with a task's budget that nothing would keep (%s) is refused", (key, budget) => {
  const scene = new Scene().requirement().says(undefined, "plan", { tasks: [task("a", { budget })] });
  expect(scene.refused).toBe(`invalid_plan /tasks/0/budget/${key}`);
});
