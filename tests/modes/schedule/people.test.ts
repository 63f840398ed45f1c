import { describe, expect, it, test } from "vitest";
import { resolve } from "../../../src/kernel/references.ts";
import type { Json } from "../../../src/lib/json.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/protocol/limits.ts";
import { APPROVED, CHANGES, COMPLETED, INSTRUCTION, runs, schedule, type ScheduleSession, task } from "./session.ts";

/** Sessions with two tickets, of which `a` is as far as the name says. */
const AT: Record<string, () => ScheduleSession> = {
  "pending, offered": () => schedule().plan(task("a"), task("b")),
  "pending, in the manager's hands": () => AT["pending, offered"]!().admit("a"),
  "pending, with a question open": () => AT["pending, offered"]!().ask("a", "q"),
  discussing: () =>
    schedule()
      .plan(task("a", { risks: ["breaks"] }), task("b"))
      .answer("a", "instruction_proposal", INSTRUCTION)
      .admit("a"),
  "in progress": () => AT["pending, offered"]!().instruct("a").admit("a"),
  "blocked, waiting for a retry": () => AT["in progress"]!().fail("a"),
  "blocked, before the manager": () => AT["in progress"]!().block("a").admit("a"),
  "awaiting review, checks running": () =>
    schedule()
      .plan(task("a", { acceptance_criteria: [runs("true")] }), task("b"))
      .instruct("a")
      .deliver("a"),
  "awaiting review, before the manager": () => AT["in progress"]!().deliver("a").admit("a"),
  "awaiting review, before the person": () =>
    schedule()
      .plan(task("a", { review: "user" }), task("b"))
      .instruct("a")
      .deliver("a"),
};

describe("cancel of a ticket", () => {
  test.each(Object.keys(AT))("withdraws it and what it holds: %s", (name) => {
    const session = AT[name]!();
    const from = session.ticket("a").status;
    session.command("cancel", "a");
    expect(session.moved).toEqual([`a: ${from} -withdrawn-> error (cancelled)`]);
    expect([session.open, session.phase]).toEqual([["manager ticket b"], "running"]);
    expect(session.complete("b").report).toMatchObject({
      ended: "failed tickets_failed",
      tickets: { a: "error cancelled", b: "done" },
    });
  });

  it("is refused if it is over or unknown", () => {
    const session = schedule().plan(task("a"), task("b")).complete("a");
    for (const id of ["a", "nobody"]) {
      session.command("cancel", id);
      expect([session.refused, session.moved]).toEqual(["not_permitted", []]);
      expect(session.last.step.refused?.message).toContain(`"${id}"`);
    }
  });
});

describe("work that a person hands in", () => {
  const BEGUN = Object.keys(AT).filter((name) => !/^pending|^discussing/.test(name));

  test.each(BEGUN)("takes the place of the worker's: %s", (name) => {
    const session = AT[name]!().give("a");
    expect(session.moved.at(-1)).toBe("a: in_progress -report_completed-> awaiting_review");
    expect(session.ticket("a")).toMatchObject({ report: session.sequence, work: expect.any(String) });
    if (session.ticket("a").criteria) session.finishChecks("a", true);
    if (session.ticket("a").review === "user") session.send("review", { ...APPROVED, ticket_id: "a" });
    else session.approve("a");
    expect(session.status("a")).toBe("done");
  });

  it("brings a ticket in error back, and others that waited for it", () => {
    const session = schedule({ config: { max_attempts: 1 } })
      .plan(task("a"), task("b", { dependencies: ["a"] }), task("c"))
      .instruct("a")
      .fail("a")
      .give("a")
      .approve("a");
    expect([session.status("a"), session.open]).toEqual(["done", ["manager ticket b", "manager ticket c"]]);
  });

  it("goes to the worker if checks fail", () => {
    const session = AT["awaiting review, checks running"]!().give("a").finishChecks("a", false);
    expect(session.open).toContain("worker instruction a");
  });

  test.each([
    ["no ticket is named", () => AT["in progress"]!().give(undefined)],
    ["the ticket was never instructed", () => AT["pending, offered"]!().give("a")],
    ["the ticket is done", () => schedule().plan(task("a"), task("b")).complete("a").give("a")],
    ["nothing was committed", () => AT["in progress"]!().send("report", { ...COMPLETED, ticket_id: "a" })],
  ])("is refused if %s", (_, make) => {
    const session = make();
    expect([session.refused, session.moved]).toEqual(["not_permitted", []]);
  });
});

describe("cancel of the session", () => {
  test.each(Object.keys(AT))("withdraws everything, with a ticket %s", (name) => {
    const session = AT[name]!().command("cancel");
    expect([session.phase, session.open]).toEqual(["closed", []]);
    expect(session.report).toMatchObject({
      ended: "cancelled cancelled",
      tickets: { a: "error cancelled", b: "error cancelled" },
    });
  });

  test.each([
    ["planning", () => schedule().requirement().admit()],
    ["waiting for the manager's retry", () => schedule().requirement().fail(undefined)],
    ["clarifying", () => schedule().requirement().ask(undefined, "q")],
    ["approving", () => schedule({ config: { plan_approval: "ask" } }).plan(task("a"))],
    [
      "approving the result",
      () =>
        schedule({ input: { confirm: true } })
          .plan(task("a"))
          .complete("a"),
    ],
    ["stopped", () => schedule().plan(task("a")).admit("a").stop()],
    ["waiting", () => schedule().plan(task("a")).ask("a", "q").stop("waiting")],
  ])("%s", (_, make) => {
    const session = make().command("cancel");
    expect([session.phase, session.open, session.report.ended]).toEqual(["closed", [], "cancelled cancelled"]);
  });

  it("keeps done tickets and those behind an earlier error", () => {
    const plan = [task("a"), task("b"), task("c", { dependencies: ["b"] }), task("d")];
    const after = [task("e", { dependencies: ["a"] }), task("f", { dependencies: ["d"] })];
    const session = schedule()
      .plan(...plan, ...after)
      .complete("a")
      .command("cancel", "b")
      .command("cancel");
    expect(session.report.tickets).toEqual({
      a: "done",
      b: "error cancelled",
      c: "pending waiting_for_dependency by b",
      d: "error cancelled",
      e: "error cancelled",
      f: "error cancelled",
    });
  });

  it("is late in a closed session, like all but reopening", () => {
    const session = schedule().plan(task("a")).complete("a");
    for (const late of [
      () => session.command("cancel"),
      () => session.command("retry", "a"),
      () => session.requirement(),
      () => session.answerQuestions({}),
      () => session.fireTimer("notice"),
    ]) {
      expect([late().last.disposition, session.last.step.effects]).toEqual(["late", []]);
    }
  });
});

describe("a note", () => {
  it("reaches the next turn about its ticket, or about any", () => {
    const session = schedule().plan(task("a"), task("b")).command("tell", "a", { text: "Use Rust" });
    const told = session.sequence;
    const general = session.command("tell", undefined, { text: "Hurry" }).sequence;
    const note = (sequence: number) => ({ $first: [{ $from: [sequence, "/text"] }, { $from: [sequence, "/notes"] }] });
    expect(session.draft("a").context["notes"]).toEqual([note(general), note(told)]);
    expect(session.draft("b").context["notes"]).toEqual([note(general)]);
    expect([session.moved, session.last.step.commands]).toEqual([[], []]);
  });

  it("does not replace earlier notes", () => {
    const session = schedule().plan(task("a"));
    for (const text of ["one", "two"]) session.command("tell", "a", { text }).command("tell", undefined, { text });
    const notes = resolve(session.draft("a").context["notes"] as Json, session.lookup);
    expect(notes).toEqual(["one", "two", "one", "two"]);
  });

  it("is refused for an unknown ticket, or without text", () => {
    expect(schedule().plan(task("a")).command("tell", "nobody", { text: "Hi" }).refused).toBe("not_permitted");
    for (const ticket of ["a", undefined]) {
      const silent = schedule().plan(task("a")).command("tell", ticket);
      expect([silent.refused, silent.ticket("a").notes, silent.state.session?.notes]).toEqual([
        "not_permitted",
        undefined,
        [],
      ]);
    }
  });

  it("is kept when its ticket restarts", () => {
    const session = schedule().plan(task("a")).command("tell", "a", { text: "Use Rust" }).instruct("a");
    session.block("a").replan("a", task("a", { description: "Else" }));
    expect(session.draft("a").context["notes"]).toHaveLength(1);
  });
});

describe("the approval of the result", () => {
  const finished = () =>
    schedule({ input: { confirm: true } })
      .plan(task("a"), task("b"))
      .command("cancel", "b")
      .complete("a");

  it("is asked for with all tickets, and closes the session", () => {
    const session = finished();
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a1"]]);
    expect(session.last.envelopes).toMatchObject([
      {
        target: "user",
        payload_type: "approval_request",
        payload: {
          subject: "result",
          ask_id: "a1",
          about: { tickets: { $fit: [[{ ticket_id: "a" }, { ticket_id: "b" }], MAX_PAYLOAD_BYTES] } },
        },
      },
    ]);
    expect(session.send("approval", APPROVED).report.ended).toBe("failed tickets_failed");
  });

  it("ends the session as failed if it is rejected", () => {
    expect(finished().send("approval", { decision: "rejected" }).report.ended).toBe("failed result_rejected");
  });

  it("lets the manager plan more if it is sent back, then asks again", () => {
    const session = finished().send("approval", { ...CHANGES, notes: "And c" });
    expect([session.phase, session.open]).toEqual(["planning", ["manager requirement"]]);
    session.replan(undefined, task("a"), task("c"));
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket c"]]);
    expect(session.complete("c").open).toEqual(["ask approval a2"]);
  });

  it("waits for that plan even if a ticket is retried meanwhile", () => {
    const session = finished().send("approval", CHANGES).command("retry", "b");
    expect([session.phase, session.open]).toEqual(["planning", ["manager requirement", "manager ticket b"]]);
    session.complete("b").replan(undefined, task("a"), task("b"));
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a2"]]);
  });

  it("is asked for again if the manager adds nothing", () => {
    const session = finished().send("approval", CHANGES).replan(undefined, task("a"));
    expect([session.phase, session.open]).toEqual(["approving", ["ask approval a2"]]);
  });

  it("is asked for once, through a stop", () => {
    const session = finished().stop("waiting").recover();
    expect([session.last.disposition, session.phase, session.open]).toEqual([
      "applied",
      "approving",
      ["ask approval a1"],
    ]);
  });

  it("is withdrawn when a ticket is retried", () => {
    const session = finished().command("retry", "b");
    expect([session.phase, session.open]).toEqual(["running", ["manager ticket b"]]);
    expect(session.complete("b").open).toEqual(["ask approval a2"]);
  });
});
