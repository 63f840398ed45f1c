import { reasonReader } from "../../../src/kernel/state.ts";
import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import { describe, expect, it, test } from "vitest";
import { APPROVED, CHANGES, CREW, runs, schedule, type ScheduleSession, type Task, task } from "./session.ts";

/** Delivered work that was sent back too often, so that its ticket has escalated. */
function rejected(more: Partial<Task> = {}): ScheduleSession {
  const session = schedule({ config: { max_review_rounds: 0, check_rounds: 0 } })
    .plan(task("a", more), task("b", { dependencies: ["a"] }))
    .instruct("a")
    .deliver("a");
  if (more.acceptance_criteria) session.finishChecks("a", false);
  if (more.review === "user") return session.send("review", { ...CHANGES, ticket_id: "a" });
  return more.review === "checks" ? session : session.sendBack("a");
}

const CRITERIA = { acceptance_criteria: [runs("true")] };
const REVIEW_RESUMED = "a: blocked -review_resumed-> awaiting_review";

describe("delivered work that is blocked", () => {
  it("may still be approved by the manager", () => {
    const session = rejected();
    expect([session.status("a"), session.open]).toEqual(["blocked (checks_failed)", ["manager error a"]]);
    expect(session.draft("a").expects).toContain("review");
    expect(session.draft("a").message.payload).toMatchObject({
      resolution_hint: expect.stringContaining("a review of"),
    });
    session.approve("a");
    expect([session.moved, session.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -approved-> done"],
      ["manager ticket b"],
    ]);
  });

  it("may be sent back by the manager, with fresh rounds", () => {
    const session = schedule({ config: { max_review_rounds: 1 } })
      .plan(task("a"))
      .instruct("a")
      .deliver("a")
      .sendBack("a")
      .deliver("a")
      .sendBack("a");
    expect(session.open).toEqual(["manager error a"]);
    session.sendBack("a");
    expect([session.moved, session.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -changes_requested-> in_progress"],
      ["worker instruction a"],
    ]);
  });

  it("is not approved against failed checks", () => {
    const session = rejected(CRITERIA).approve("a");
    expect([session.refused, session.moved, session.status("a"), session.open]).toEqual([
      "checks_failed /decision",
      [],
      "blocked (checks_failed)",
      ["manager error a"],
    ]);
    expect(session.approve("a").ticket("a").status).not.toBe("done");
    const person = rejected(CRITERIA).send("review", { ...APPROVED, ticket_id: "a" });
    expect([person.refused, person.open]).toEqual(["checks_failed /decision", ["manager error a"]]);
  });

  test.each([{ review: "user" }, { review: "checks", ...CRITERIA }] as Partial<Task>[])(
    "cannot be approved by the manager with %o",
    (more) => {
      const session = rejected(more);
      expect(session.open).toEqual(["manager error a"]);
      expect(session.draft("a").expects).not.toContain("review");
      session.approve("a");
      expect([session.refused, session.status("a")]).toEqual(["not_permitted", "blocked (checks_failed)"]);
    },
  );

  test.each([{}, { review: "user" }] as Partial<Task>[])("may be approved by a person with %o", (more) => {
    const session = rejected(more).send("review", { ...APPROVED, ticket_id: "a" });
    expect([session.moved, session.open]).toEqual([
      [REVIEW_RESUMED, "a: awaiting_review -approved-> done"],
      ["manager ticket b"],
    ]);
  });

  it("may be approved by a person while the manager's question is open", () => {
    const session = rejected().ask("a", "q");
    expect(session.send("review", { ...APPROVED, ticket_id: "a" }).open).toEqual(["manager ticket b"]);
  });

  it.each([
    [{}, ["manager review_request a"]],
    [{ review: "user" }, ["ask review review:a"]],
    [CRITERIA, ["checks a"]],
    [{ review: "checks", ...CRITERIA }, ["checks a"]],
  ] as [Partial<Task>, string[]][])("with %o is checked and reviewed again by a retry", (more, open) => {
    const session = rejected(more).command("retry", "a");
    expect([session.moved, session.open]).toEqual([[REVIEW_RESUMED], open]);
  });

  it("has fresh rounds and a record in its history after a retry", () => {
    const session = schedule({ config: { max_review_rounds: 0, check_rounds: 1 } })
      .plan(task("a", CRITERIA))
      .instruct("a");
    for (const _ of [1, 2]) session.deliver("a").finishChecks("a", false);
    session.sendBack("a");
    const { sequence } = session.command("retry", "a");
    expect(session.ticket("a").history?.at(-1)).toBe(sequence);
    expect(session.finishChecks("a", false).open).toEqual(["worker instruction a"]);
  });

  it("is done after a retry if its checks pass", () => {
    const session = rejected({ review: "checks", ...CRITERIA })
      .command("retry", "a")
      .finishChecks("a", true);
    expect(session.moved).toEqual(["a: awaiting_review -approved-> done"]);
  });

  it("does not renew escalations by resumed reviews", () => {
    const session = rejected().sendBack("a");
    for (let round = 0; round < 9 && !session.ended; round += 1) session.sendBack("a");
    expect(session.report.tickets["a"]).toBe("error checks_failed");
  });
});

describe("work that was never delivered, or is being done again", () => {
  it("cannot be reviewed by the manager or a person", () => {
    const session = schedule({ config: { max_retries: 0 } })
      .plan(task("a"))
      .instruct("a")
      .fail("a", "timeout");
    expect(session.draft("a").expects).not.toContain("review");
    expect(session.send("review", { ...APPROVED, ticket_id: "a" }).refused).toBe("not_permitted");
    expect(session.approve("a").refused).toBe("not_permitted");
    expect(session.command("retry", "a").refused).toBe("not_permitted");
  });

  it("cannot be approved for an earlier delivery", () => {
    const session = rejected().instruct("a");
    for (let retry = 0; retry < 3; retry += 1) session.fail("a", "timeout").fireTimer("retry:a");
    expect(session.open).toContain("manager error a");
    expect(session.send("review", { ...APPROVED, ticket_id: "a" }).refused).toBe("not_permitted");
  });
});

describe("a ticket that waits for a blocked one", () => {
  const reasons = ({ standing }: ScheduleSession) => {
    const reasonOf = reasonReader(standing, schedulePresentation);
    return Object.fromEntries(Array.from(standing.subjects.values(), (subject) => [subject.id, reasonOf(subject)]));
  };

  it("shows that it waits, directly or not, while the other is blocked", () => {
    const session = schedule({ roles: CREW })
      .plan(task("a"), task("b", { dependencies: ["a"] }), task("c", { dependencies: ["b"] }), task("d"))
      .instruct("a");
    expect(reasons(session)).toEqual({ a: undefined, b: undefined, c: undefined, d: undefined });
    session.fail("a", "timeout");
    const waiting = { b: "waiting_for_dependency", c: "waiting_for_dependency", d: undefined };
    expect(reasons(session)).toEqual({ a: "timeout", ...waiting });
    expect(reasons(session.fireTimer("retry:a"))).toEqual({ a: undefined, b: undefined, c: undefined, d: undefined });
    session.command("cancel", "a");
    expect(reasons(session)).toEqual({ a: "cancelled", ...waiting });
  });
});
