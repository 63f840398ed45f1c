import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { LedgerChild } from "../../../src/kernel/ledger.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { begun as begins, DEBATE, finished as ends } from "./children.ts";
import { Scene, type SceneOptions } from "./rig.ts";
import { INSTRUCTION, type Task, task } from "./words.ts";

const PROPOSAL = {
  summary: "In two steps",
  draft_steps: ["copy", { text: "drop" }],
  risks: ["data loss"],
  open_questions: ["when?"],
};
const VERDICT = { verdict: { conclusion: "Three steps", dissent: ["two would do"] } };

/** A session whose proposals are debated, and whose ticket `a` has one. */
function proposed(more: Partial<Task> = {}, options: SceneOptions = {}, ...others: readonly Task[]): Scene {
  return new Scene({ ...options, config: { discussion: DEBATE, ...options.config } })
    .planned(task("a", { risks: ["it is large"], ...more }), task("b", { dependencies: ["a"] }), ...others)
    .says("a", "instruction_proposal", PROPOSAL);
}

function childOf(scene: Scene): LedgerChild {
  const [child] = scene.engine.ledger.children.values();
  if (!child) throw new Error("there is no child");
  return child;
}

function begun(scene: Scene, budget?: JsonObject): Scene {
  return begins(scene, childOf(scene), budget);
}

function finished(scene: Scene, more: JsonObject = {}, child = childOf(scene)): Scene {
  return ends(scene, child, more);
}

function asked(scene: Scene): JsonObject {
  return resolve(scene.draft("a").message.payload, scene.lookup) as JsonObject;
}

describe("a proposal that is discussed in a session of its own", () => {
  it("opens it with the proposal as its topic, and asks nobody else meanwhile", () => {
    const scene = proposed();
    expect([scene.open, scene.status("a")]).toEqual([["debate about a offered"], "discussing"]);
    const { child, mode, input, budget } = childOf(scene);
    expect([child, mode, budget]).toEqual([String(scene.sequence), "debate", { turns: 40 }]);
    expect(resolve(input, scene.lookup)).toEqual({
      ...DEBATE.input,
      topic:
        "How should this task be done?\nDo a\nProposed:\nIn two steps\nSteps:\n- copy\n- drop\nRisks:\n- data loss\nOpen questions:\n- when?",
    });
  });

  it("comes back to the manager with what it came to, who then instructs", () => {
    const scene = finished(begun(proposed()), { result: VERDICT });
    expect([scene.open, scene.status("a")]).toEqual([["manager report a"], "discussing"]);
    expect(asked(scene)).toEqual({
      status: "proposal",
      summary:
        "The proposal was discussed in a session of its own.\nHow that ended:\ndone\nWhat it came to:\nThree steps",
      issues: ["two would do"],
      metadata: { session_id: `s.${scene.sequence - 2}` },
    });
    expect(scene.ticket("a").history?.at(-1)).toBe(scene.sequence);
    expect(scene.engine.ledger.timers.has("discussion:a")).toBe(false);
    scene.says("a", "instruction", INSTRUCTION);
    expect([scene.moved, scene.open]).toEqual([
      ["a: discussing -instruction_finalized-> in_progress"],
      ["worker instruction a"],
    ]);
  });

  it("is not what the manager is told of when the worker asks afterwards", () => {
    const scene = finished(begun(proposed()), { result: VERDICT }).says("a", "instruction", INSTRUCTION);
    const questions = [{ question_id: "q", text: "Which column?" }];
    scene.says("a", "report", { status: "blocked", questions });
    expect([scene.open, asked(scene)]).toEqual([["manager report a"], { status: "blocked", questions }]);
  });

  test.each([
    ["failed", "no_debaters_left"],
    ["cancelled", "timeout"],
  ])("that ended %s comes back, too, and the manager goes on without it", (outcome, reason) => {
    const scene = finished(begun(proposed()), { outcome, reason });
    expect(asked(scene)["summary"]).toBe(
      `The proposal was discussed in a session of its own.\nHow that ended:\n${outcome}\nWhy:\n${reason}`,
    );
    expect(scene.says("a", "instruction", INSTRUCTION).status("a")).toBe("in_progress");
  });

  it("is put to the worker where no discussion is configured", () => {
    const scene = new Scene().planned(task("a")).says("a", "instruction_proposal", PROPOSAL);
    expect(scene.open).toEqual(["worker instruction_proposal a"]);
  });

  it("counts for the session's figures and for the ticket's budget, and may use no more than is left of that", () => {
    const scene = proposed({ budget: { turns: 6 } });
    expect([scene.ticket("a").allowance?.used, childOf(scene).budget]).toEqual([1, { turns: 5 }]);
    const before = scene.engine.ledger.figures;
    finished(begun(scene));
    const { turns, input_tokens, unpriced_turns } = scene.engine.ledger.figures;
    expect([turns - before.turns, input_tokens - before.input_tokens, unpriced_turns - before.unpriced_turns]).toEqual([
      3, 10, 1,
    ]);
    expect(scene.ticket("a").allowance?.used).toBe(5);
  });

  it.each([
    [{ usd: 2 }, { usd: 2, turns: 5 }],
    [
      { usd: 2, turns: 3 },
      { usd: 2, turns: 3 },
    ],
  ])("may use of %j what the ticket has left, and no more", (budget, allowed) => {
    const scene = proposed({ budget: { turns: 6 } }, { config: { discussion: { ...DEBATE, budget } } });
    expect(childOf(scene).budget).toEqual(allowed);
  });

  it("is not begun when nothing is left of the ticket's budget", () => {
    const scene = proposed({ budget: { turns: 1 } });
    expect([scene.open, scene.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });

  it("that used up the ticket's budget leaves it to the manager what to do", () => {
    const scene = finished(begun(proposed({ budget: { turns: 4 } })));
    expect([scene.open, scene.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });
});

describe("a discussion that takes too long", () => {
  it("is broken off when its time is up, counted from when it was begun, and still comes to its end", () => {
    const scene = begun(proposed({}, { config: { discussion: { ...DEBATE, timeout_s: 60 } } }));
    expect(scene.engine.ledger.timers.get("discussion:a")).toEqual({ due_at: "2026-01-01T00:01:06Z", passive: true });
    const { child } = childOf(scene);
    scene.fires("discussion:a");
    expect(scene.last.step.commands).toEqual([{ do: "withdraw_session", child, reason: "timeout" }]);
    expect(scene.open).toEqual(["debate about a withdrawn"]);
    finished(scene, { outcome: "cancelled", reason: "timeout" });
    expect([scene.open, scene.engine.ledger.timers.has("discussion:a")]).toEqual([["manager report a"], false]);
  });

  it("is broken off when the ticket's own time is up", () => {
    const scene = begun(proposed({ budget: { wall_s: 30 } })).fires("budget:a");
    expect(scene.open).toEqual(["debate about a withdrawn"]);
    finished(scene, { outcome: "cancelled" });
    expect([scene.open, scene.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
  });
});

describe("a ticket whose time is up before its discussion was begun", () => {
  it("is stopped at once, since no end of it would come back", () => {
    const scene = proposed({ budget: { wall_s: 30 } }).fires("budget:a");
    expect([scene.open, scene.status("a")]).toEqual([["manager error a"], "blocked (budget_exhausted)"]);
    expect(scene.engine.ledger.children.size).toBe(0);
  });
});

describe("a ticket that is taken out of its discussion", () => {
  test.each<[string, (scene: Scene) => Scene, string]>([
    ["cancelled", (scene) => scene.command("cancel", "a"), "error (cancelled)"],
    ["planned otherwise", (scene) => scene.person("plan", { tasks: [task("c")] }), "error (withdrawn)"],
  ])("because it is %s has it broken off, and does not heed its end", (_, taken, status) => {
    const scene = taken(begun(proposed({}, {}, task("c"))));
    expect([scene.status("a"), scene.open]).toEqual([status, ["debate about a withdrawn", "manager ticket c"]]);
    finished(scene);
    expect([scene.last.disposition, scene.moved, scene.status("a")]).toEqual(["applied", [], status]);
    expect(scene.open).toEqual(["manager ticket c"]);
  });

  it("before that was begun leaves nothing of it", () => {
    const scene = proposed().command("cancel", "a");
    expect([...scene.engine.ledger.children]).toEqual([]);
  });

  it("with the whole session leaves nothing of it", () => {
    const scene = begun(proposed());
    const child = childOf(scene);
    scene.command("cancel");
    expect([scene.report.ended, scene.engine.ledger.children.size]).toEqual(["cancelled cancelled", 0]);
    expect(finished(scene, {}, child).last.disposition).toBe("late");
  });
});

describe("what is said of a discussion that there is not", () => {
  it("is late: that it was begun twice, or ended before, or again", () => {
    const scene = proposed();
    const child = childOf(scene);
    expect(finished(scene).last.disposition).toBe("late");
    begun(scene);
    expect(begun(scene).last.disposition).toBe("late");
    finished(scene);
    expect(finished(scene, {}, child).last.disposition).toBe("late");
  });
});

describe("a session that is stopped while a proposal is discussed", () => {
  it("goes on waiting for it when it is taken up", () => {
    const scene = begun(proposed()).stops().recovers();
    expect([scene.open, scene.phase]).toEqual([["debate about a open"], "running"]);
    expect(finished(scene, { result: VERDICT }).open).toEqual(["manager report a"]);
  });
});
