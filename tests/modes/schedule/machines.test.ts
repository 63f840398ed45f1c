import { describe, expect, it } from "vitest";
import { scheduleMachine, sessionLifecycle } from "../../../src/modes/schedule/session.machine.ts";
import { type TicketEvent, ticketLifecycle, ticketMachine } from "../../../src/modes/schedule/ticket.machine.ts";
import { arrowsOf, statesOf } from "../arrows.ts";

describe("the life of a ticket", () => {
  /** The arrows of the founding design (seed 4, 7.3). */
  const FOUNDING = [
    "pending proposal_needed discussing",
    "pending instruction_received in_progress",
    "discussing instruction_finalized in_progress",
    "in_progress report_blocked blocked",
    "blocked unblocked in_progress",
    "blocked retry in_progress",
    "in_progress report_completed awaiting_review",
    "awaiting_review changes_requested in_progress",
    "awaiting_review approved done",
    "blocked retries_exceeded error",
    "error manual_reset pending",
  ];

  it("has the arrows of the founding design, and those that real sessions need", () => {
    const working = ["pending", "discussing", "in_progress", "awaiting_review"];
    const more = [
      ...working.map((status) => `${status} work_stopped blocked`),
      ...[...working, "blocked"].map((status) => `${status} withdrawn error`),
      "blocked replanned pending",
      "blocked review_resumed awaiting_review",
    ];
    expect(arrowsOf(ticketMachine)).toEqual([...FOUNDING, ...more].toSorted());
    expect(ticketLifecycle.initial).toBe("pending");
  });

  it("accepts no unknown event", () => {
    expect(ticketLifecycle.next("pending", "toString" as TicketEvent)).toBeUndefined();
    expect(ticketLifecycle.next("in_progress", "" as TicketEvent)).toBeUndefined();
  });
});

describe("the life of a session", () => {
  it("has these arrows and no others", () => {
    const WORKING = ["planning", "clarifying", "approving", "running"];
    const RESTING = ["waiting", "stopped"];
    expect(arrowsOf(scheduleMachine)).toEqual(
      [
        ...[...WORKING, ...RESTING].flatMap((phase) => [
          `${phase} stopped stopped`,
          `${phase} left_waiting waiting`,
          `${phase} finished closed`,
        ]),
        ...RESTING.flatMap((phase) => WORKING.map((to) => `${phase} resumed_${to} ${to}`)),
        "planning questions_asked clarifying",
        "clarifying answered planning",
        ...WORKING.map((phase) => `${phase} plan_proposed approving`),
        ...WORKING.map((phase) => `${phase} plan_accepted running`),
        "approving plan_sent_back planning",
        "running result_proposed approving",
        "closed reopened running",
      ].toSorted(),
    );
    expect(sessionLifecycle.initial).toBe("planning");
    expect(statesOf(scheduleMachine)).toHaveLength(7);
  });
});
