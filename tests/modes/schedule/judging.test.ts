import { describe, expect, it, test } from "vitest";
import { Scene, type SceneOptions } from "./rig.ts";
import { APPROVED, asking, CHANGES, COMPLETED, INSTRUCTION, runs, task } from "./words.ts";

const CRITERIA = { acceptance_criteria: ["reads well", runs("npm", "test")] };

/** A ticket whose work has been delivered. */
function delivered(more: Parameters<typeof task>[1], options: SceneOptions = {}): Scene {
  return new Scene(options)
    .planned(task("a", more), task("b"))
    .says("a", "instruction", INSTRUCTION)
    .says("a", "report", COMPLETED);
}

function again(scene: Scene): Scene {
  return scene.says("a", "report", COMPLETED);
}

describe("checks", () => {
  it("run before anybody reviews, and only where a criterion has a command", () => {
    expect(delivered({ acceptance_criteria: ["reads well"] }).open).toContain("manager review_request a");
    const scene = delivered(CRITERIA);
    expect([scene.status("a"), scene.open]).toEqual(["awaiting_review", ["checks a", "manager ticket b"]]);
    expect(scene.checked("a", true).open).toEqual(["manager review_request a", "manager ticket b"]);
  });

  it("are the union of the configuration's, the task's and every instruction's, none of which can be dropped", () => {
    const scene = new Scene({ config: { checks: { ticket: ["be kind", runs("lint")] } } });
    scene.planned(
      task("a", {
        acceptance_criteria: ["reads well", runs("npm", "test")],
        instruction: { summary: "So", acceptance_criteria: [runs("true")] },
      }),
    );
    scene.says("a", "report", { status: "blocked" });
    const second = scene.says("a", "instruction", {
      summary: "Else",
      acceptance_criteria: ["neat", runs("make")],
    }).sequence;
    const third = scene
      .says("a", "report", { status: "blocked" })
      .says("a", "instruction", { summary: "Or so" }).sequence;
    expect(third).toBeGreaterThan(second);
    again(scene);
    expect(scene.last.step.commands).toEqual([
      {
        do: "run_checks",
        check_id: `k${scene.sequence}`,
        subject: "a",
        criteria: [
          { $from: [1, "/config/checks/ticket/1"] },
          { $from: [4, "/tasks/0/acceptance_criteria/1"] },
          { $from: [4, "/tasks/0/instruction/acceptance_criteria/0"] },
          { $from: [second, "/acceptance_criteria/1"] },
        ],
      },
    ]);
  });

  it("that fail go straight back to the worker check_rounds times, then to the manager as evidence", () => {
    const scene = delivered(CRITERIA);
    for (let round = 0; round < 2; round++) {
      scene.checked("a", true, false);
      expect(scene.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress (checks_failed)"]);
      expect(scene.open).toEqual(["manager ticket b", "worker instruction a"]);
      again(scene);
    }
    scene.checked("a", false);
    expect([scene.moved, scene.status("a"), scene.open]).toEqual([
      [],
      "awaiting_review",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(scene.draft("a").message.payload).toMatchObject({ checks: { $from: [scene.sequence, "/results"] } });
  });

  it("that never pass cost 36 attempts by the defaults, and then the ticket is given up", () => {
    const scene = delivered(CRITERIA);
    while (scene.ticket("a").status !== "error") {
      if (scene.open.includes("checks a")) scene.checked("a", false);
      else if (scene.open.includes("manager review_request a")) scene.says("a", "review", CHANGES);
      else if (scene.open.includes("manager error a")) scene.says("a", "instruction", INSTRUCTION);
      else again(scene);
    }
    const { attempt, reviews, reason } = scene.ticket("a");
    expect([attempt, reviews, reason]).toEqual([36, 12, "checks_failed"]);
  });

  it("that failed are in the history that the worker gets", () => {
    const scene = delivered(CRITERIA).checked("a", false);
    const report = scene.sequence - 1;
    expect(scene.draft("a").context["history"]).toEqual({ $history: [expect.any(Number), report, scene.sequence] });
  });

  it("have their rounds again after the manager sent the work back", () => {
    const scene = delivered(CRITERIA, { config: { check_rounds: 1 } }).checked("a", false);
    again(scene).checked("a", false).says("a", "review", CHANGES);
    expect(again(scene).checked("a", false).moved).toEqual([
      "a: awaiting_review -changes_requested-> in_progress (checks_failed)",
    ]);
  });

  it("that come back for work that was withdrawn are late", () => {
    const scene = delivered(CRITERIA);
    const check_id = `k${scene.sequence}`;
    scene.command("cancel", "a");
    expect(scene.last.step.commands).toContainEqual({ do: "drop_checks", check_id });
    scene.fact("scheduler", "check_result", { check_id, results: [] }, { subject: "a" });
    expect([scene.last.disposition, scene.status("a")]).toEqual(["late", "error (cancelled)"]);
  });
});

describe("approval against failed checks", () => {
  const failed = () => delivered(CRITERIA, { config: { check_rounds: 0 } }).checked("a", false);

  it("is refused once, and then counts as changes requested", () => {
    const scene = failed().says("a", "review", APPROVED);
    expect([scene.refused, scene.status("a"), scene.open]).toEqual([
      "checks_failed /decision",
      "awaiting_review",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(scene.draft("a").context["refused"]).toMatchObject([
      { payload_type: "review", code: "checks_failed", pointer: "/decision" },
    ]);
    scene.says("a", "review", APPROVED);
    expect([scene.last.disposition, scene.moved]).toEqual([
      "applied",
      ["a: awaiting_review -changes_requested-> in_progress"],
    ]);
  });

  it("is put again though no try is left, so that it never stops the session", () => {
    const scene = delivered(CRITERIA, { config: { check_rounds: 0, max_retries: 0 } }).checked("a", false);
    scene.says("a", "review", APPROVED);
    expect([scene.refused, scene.open]).toEqual([
      "checks_failed /decision",
      ["manager review_request a", "manager ticket b"],
    ]);
    expect(scene.says("a", "review", APPROVED).moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
    again(scene).checked("a", false).says("a", "review", APPROVED).fails("a");
    expect(scene.last.step.commands).toContainEqual(expect.objectContaining({ do: "stop_session" }));
  });

  it("is refused again for new evidence", () => {
    const scene = failed().says("a", "review", APPROVED).says("a", "review", APPROVED);
    again(scene).checked("a", false).says("a", "review", APPROVED);
    expect(scene.refused).toBe("checks_failed /decision");
  });

  it("is refused again after the ticket was cancelled and tried again", () => {
    const scene = failed().says("a", "review", APPROVED).command("cancel", "a").command("retry", "a");
    expect(again(scene).checked("a", false).says("a", "review", APPROVED).refused).toBe("checks_failed /decision");
  });

  it("stands when the next work passes", () => {
    const scene = failed().says("a", "review", CHANGES);
    expect(again(scene).checked("a", true).says("a", "review", APPROVED).moved).toEqual([
      "a: awaiting_review -approved-> done",
    ]);
  });

  it("is refused to a person too, who is still asked", () => {
    const scene = delivered({ ...CRITERIA, review: "user" }, { config: { check_rounds: 0 } }).checked("a", false);
    scene.person("review", { ...APPROVED, ticket_id: "a" });
    expect([scene.refused, scene.open]).toEqual([
      "checks_failed /decision",
      ["ask review review:a", "manager ticket b"],
    ]);
    scene.person("review", { ...APPROVED, ticket_id: "a" });
    expect(scene.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
  });
});

describe("a manager's review", () => {
  it("sends work back max_review_rounds times, then it is trouble", () => {
    const scene = delivered({});
    for (let round = 0; round < 3; round++) {
      scene.says("a", "review", { ...CHANGES, requested_changes: ["tests"] });
      expect(scene.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
      again(scene);
    }
    scene.says("a", "review", CHANGES);
    expect([scene.moved, scene.open]).toEqual([
      ["a: awaiting_review -work_stopped-> blocked (checks_failed)"],
      ["manager error a", "manager ticket b"],
    ]);
    expect(scene.ticket("a").reviews).toBe(4);
  });

  it("has its rounds again after a new instruction", () => {
    const scene = again(delivered({}, { config: { max_review_rounds: 1 } }).says("a", "review", CHANGES)).says(
      "a",
      "review",
      CHANGES,
    );
    expect(scene.status("a")).toBe("blocked (checks_failed)");
    again(scene.says("a", "instruction", INSTRUCTION)).says("a", "review", CHANGES);
    expect(scene.moved).toEqual(["a: awaiting_review -changes_requested-> in_progress"]);
  });

  it("may begin with a question to the person", () => {
    const scene = delivered({}).says("a", "clarification", asking("q"));
    expect([scene.status("a"), scene.open]).toEqual(["awaiting_review", ["ask questions c1", "manager ticket b"]]);
    expect(scene.answers({ "c1.q": "Good enough" }).open).toEqual(["manager review_request a", "manager ticket b"]);
  });
});

describe("a person's review", () => {
  it("is asked for instead of the manager's where the policy says so, with the report that is to be reviewed", () => {
    const checked = delivered({ ...CRITERIA, review: "user" });
    const report = checked.sequence;
    expect(checked.checked("a", true).engine.ledger.asks.get("review:a")).toMatchObject({
      record: report,
      subject: "a",
    });
    const scene = delivered({ review: "user" });
    expect(scene.open).toEqual(["ask review review:a", "manager ticket b"]);
    scene.person("review", { ...APPROVED, ticket_id: "a" });
    expect([scene.moved, scene.open]).toEqual([["a: awaiting_review -approved-> done"], ["manager ticket b"]]);
  });

  it("is remembered, so that the worker reads what to change", () => {
    const scene = delivered({ review: "user" }).person("review", { ...CHANGES, notes: "Shorter", ticket_id: "a" });
    expect([scene.moved, scene.ticket("a").history?.at(-1)]).toEqual([
      ["a: awaiting_review -changes_requested-> in_progress"],
      scene.sequence,
    ]);
  });

  it("may come before the manager's, whose turn is then withdrawn and whose answer is late", () => {
    const scene = delivered({}).admit("a");
    const turn = { turn_id: `t${scene.sequence - 1}`, subject: "a", attempt: 1, run: 1 };
    scene.person("review", { ...APPROVED, ticket_id: "a" });
    expect([scene.status("a"), scene.open]).toEqual(["done", ["manager ticket b"]]);
    scene.fact("boss", "review", CHANGES, { subject: "a", turn });
    expect([scene.last.disposition, scene.status("a")]).toEqual(["late", "done"]);
  });

  it("waits for checks that are still running", () => {
    const scene = delivered(CRITERIA).person("review", { ...APPROVED, ticket_id: "a" });
    expect([scene.refused, scene.status("a"), scene.open]).toEqual([
      "not_permitted",
      "awaiting_review",
      ["checks a", "manager ticket b"],
    ]);
  });

  test.each([
    ["a ticket that is not delivered", { ...APPROVED, ticket_id: "b" }],
    ["a ticket that does not exist", { ...APPROVED, ticket_id: "nobody" }],
    ["no ticket", APPROVED],
  ])("of %s is refused", (_, payload) => {
    const scene = delivered({}).person("review", payload);
    expect([scene.refused, scene.moved, scene.open]).toEqual([
      "not_permitted",
      [],
      ["manager review_request a", "manager ticket b"],
    ]);
  });
});

describe("review by checks", () => {
  const CHECKS = { config: { review: "checks", check_rounds: 0 } } as const;

  it("approves when every executable criterion passes, and says so in the record", () => {
    const scene = new Scene(CHECKS)
      .planned(task("a", CRITERIA), task("b", { review: "manager" }))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED);
    scene.checked("a", true);
    expect(scene.moved).toEqual(["a: awaiting_review -approved-> done"]);
    expect(scene.last.envelopes).toMatchObject([
      { target: "user", payload_type: "review", subject: "a", payload: { decision: "approved" } },
    ]);
  });

  it("makes failed checks the manager's trouble", () => {
    const scene = new Scene(CHECKS)
      .planned(task("a", CRITERIA))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED)
      .checked("a", false);
    expect([scene.moved, scene.open]).toEqual([
      ["a: awaiting_review -work_stopped-> blocked (checks_failed)"],
      ["manager error a"],
    ]);
  });

  it("is refused to a plan with nothing to check, unless the configuration has something", () => {
    const plan = { tasks: [task("a", { acceptance_criteria: ["reads well"], review: "checks" })] };
    expect(new Scene().requirement().says(undefined, "plan", plan).refused).toBe(
      "invalid_plan /tasks/0/acceptance_criteria",
    );
    const configured = new Scene({ config: { checks: { ticket: [runs("lint")] } } });
    expect(configured.requirement().says(undefined, "plan", plan).phase).toBe("running");
    const everywhere = new Scene({ config: { review: "checks" } }).requirement();
    expect(everywhere.says(undefined, "plan", { tasks: [task("a")] }).refused).toBe(
      "invalid_plan /tasks/0/acceptance_criteria",
    );
  });
});
