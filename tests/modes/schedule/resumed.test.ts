import { describe, expect, it, test } from "vitest";
import { Scene } from "./rig.ts";
import { APPROVED, asking, CHANGES, COMPLETED, CREW, INSTRUCTION, runs, task, type Task } from "./words.ts";

/** Work that was delivered, and sent back once too often: the manager is asked what to do with it. */
function rejected(more: Partial<Task> = {}): Scene {
  const scene = new Scene({ config: { max_review_rounds: 0, check_rounds: 0 } })
    .planned(task("a", more), task("b", { dependencies: ["a"] }))
    .says("a", "instruction", INSTRUCTION)
    .says("a", "report", COMPLETED);
  if (more.acceptance_criteria) scene.checked("a", false);
  if (more.review === "user") return scene.person("review", { ...CHANGES, ticket_id: "a" });
  return more.review === "checks" ? scene : scene.says("a", "review", CHANGES);
}

const CRITERIA = { acceptance_criteria: [runs("true")] };
const REVIEW_RESUMED = "a: blocked -review_resumed-> awaiting_review";

describe("delivered work that is blocked", () => {
  it("may be approved by the manager after all", () => {
    const scene = rejected();
    expect([scene.status("a"), scene.open]).toEqual(["blocked (checks_failed)", ["manager error a"]]);
    expect(scene.draft("a").expects).toContain("review");
    expect(scene.draft("a").message.payload).toMatchObject({ resolution_hint: expect.stringContaining("a review of") });
    scene.says("a", "review", APPROVED);
    expect([scene.moved, scene.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -approved-> done"],
      ["manager ticket b"],
    ]);
  });

  it("may be sent back by the manager, with its rounds afresh", () => {
    const scene = new Scene({ config: { max_review_rounds: 1 } })
      .planned(task("a"))
      .says("a", "instruction", INSTRUCTION)
      .says("a", "report", COMPLETED)
      .says("a", "review", CHANGES)
      .says("a", "report", COMPLETED)
      .says("a", "review", CHANGES);
    expect(scene.open).toEqual(["manager error a"]);
    scene.says("a", "review", CHANGES);
    expect([scene.moved, scene.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -changes_requested-> in_progress"],
      ["worker instruction a"],
    ]);
  });

  it("is not approved against failed evidence: refused once, and then sent back", () => {
    const scene = rejected(CRITERIA).says("a", "review", APPROVED);
    expect([scene.refused, scene.moved, scene.status("a"), scene.open]).toEqual([
      "checks_failed /decision",
      [],
      "blocked (checks_failed)",
      ["manager error a"],
    ]);
    expect(scene.says("a", "review", APPROVED).ticket("a").status).not.toBe("done");
    const person = rejected(CRITERIA).person("review", { ...APPROVED, ticket_id: "a" });
    expect([person.refused, person.open]).toEqual(["checks_failed /decision", ["manager error a"]]);
  });

  test.each([{ review: "user" }, { review: "checks", ...CRITERIA }] as Partial<Task>[])(
    "that %o decides on is not the manager's to approve",
    (more) => {
      const scene = rejected(more);
      expect(scene.open).toEqual(["manager error a"]);
      expect(scene.draft("a").expects).not.toContain("review");
      scene.says("a", "review", APPROVED);
      expect([scene.refused, scene.status("a")]).toEqual(["not_permitted", "blocked (checks_failed)"]);
    },
  );

  test.each([{}, { review: "user" }] as Partial<Task>[])("of the policy %o may be approved by a person", (more) => {
    const scene = rejected(more).person("review", { ...APPROVED, ticket_id: "a" });
    expect([scene.moved, scene.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -approved-> done"],
      ["manager ticket b"],
    ]);
  });

  it("may be approved by a person while the manager's question about it waits", () => {
    const scene = rejected().says("a", "clarification", asking("q"));
    expect(scene.person("review", { ...APPROVED, ticket_id: "a" }).open).toEqual(["manager ticket b"]);
  });

  it.each([
    [{}, ["manager review_request a"]],
    [{ review: "user" }, ["ask review review:a"]],
    [CRITERIA, ["checks a"]],
    [{ review: "checks", ...CRITERIA }, ["checks a"]],
  ] as [Partial<Task>, string[]][])("of %o is checked and reviewed again when a person retries it", (more, open) => {
    const scene = rejected(more).command("retry", "a");
    expect([scene.moved, scene.open]).toEqual([[REVIEW_RESUMED], open]);
  });

  it("that a person retries goes back to the worker as often as before, and the manager reads of it", () => {
    const scene = new Scene({ config: { max_review_rounds: 0, check_rounds: 1 } })
      .planned(task("a", CRITERIA))
      .says("a", "instruction", INSTRUCTION);
    for (const _ of [1, 2]) scene.says("a", "report", COMPLETED).checked("a", false);
    scene.says("a", "review", CHANGES);
    const { sequence } = scene.command("retry", "a");
    expect(scene.ticket("a").history?.at(-1)).toBe(sequence);
    expect(scene.checked("a", false).open).toEqual(["worker instruction a"]);
  });

  it("that is tried again passes on its new evidence", () => {
    const scene = rejected({ review: "checks", ...CRITERIA })
      .command("retry", "a")
      .checked("a", true);
    expect(scene.moved).toEqual(["a: awaiting_review -approved-> done"]);
  });

  it("comes to an end: reviews that are resumed do not renew escalations", () => {
    const scene = rejected().says("a", "review", CHANGES);
    for (let round = 0; round < 9 && !scene.ended; round += 1) scene.says("a", "review", CHANGES);
    expect(scene.report.tickets["a"]).toBe("error checks_failed");
  });
});

describe("work that was never delivered, or is being done again", () => {
  it("cannot be reviewed, by the manager or a person", () => {
    const scene = new Scene({ config: { max_retries: 0 } })
      .planned(task("a"))
      .says("a", "instruction", INSTRUCTION)
      .fails("a", "timeout");
    expect(scene.draft("a").expects).not.toContain("review");
    expect(scene.person("review", { ...APPROVED, ticket_id: "a" }).refused).toBe("not_permitted");
    expect(scene.says("a", "review", APPROVED).refused).toBe("not_permitted");
    expect(scene.command("retry", "a").refused).toBe("not_permitted");
  });

  it("is not approved for what was delivered before", () => {
    const scene = rejected().says("a", "instruction", INSTRUCTION);
    for (let retry = 0; retry < 3; retry += 1) scene.fails("a", "timeout").fires("retry:a");
    expect(scene.open).toContain("manager error a");
    expect(scene.person("review", { ...APPROVED, ticket_id: "a" }).refused).toBe("not_permitted");
  });
});

describe("a ticket that waits for one in trouble", () => {
  const reasons = (scene: Scene) =>
    Object.fromEntries(scene.engine.mode.view(scene.state).subjects.map(({ id, reason }) => [id, reason]));

  it("shows that it waits, directly or not, and no longer when the trouble is over", () => {
    const scene = new Scene({ roles: CREW })
      .planned(task("a"), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] }), task("d"))
      .says("a", "instruction", INSTRUCTION);
    expect(reasons(scene)).toEqual({ a: undefined, b: undefined, c: undefined, d: undefined });
    scene.fails("a", "timeout");
    const waiting = { b: "waiting_for_dependency", c: "waiting_for_dependency", d: undefined };
    expect(reasons(scene)).toEqual({ a: "timeout", ...waiting });
    expect(reasons(scene.fires("retry:a"))).toEqual({ a: undefined, b: undefined, c: undefined, d: undefined });
    scene.command("cancel", "a");
    expect(reasons(scene)).toEqual({ a: "cancelled", ...waiting });
  });
});
