import { describe, expect, it, test } from "vitest";
import { getShortestPaths } from "xstate/graph";
import {
  type SessionEvent,
  type SessionPhase,
  sessionLifecycle,
  sessionMachine,
} from "../../../src/modes/schedule/session.machine.ts";
import {
  type TicketEvent,
  type TicketStatus,
  ticketLifecycle,
  ticketMachine,
} from "../../../src/modes/schedule/ticket.machine.ts";

/** The founding design's arrows (seed 4, 7.3), by the names it gives them. */
const FOUNDING: [TicketStatus, TicketEvent, TicketStatus][] = [
  ["pending", "proposal_needed", "discussing"],
  ["pending", "instruction_received", "in_progress"],
  ["discussing", "instruction_finalized", "in_progress"],
  ["in_progress", "report_blocked", "blocked"],
  ["blocked", "unblocked", "in_progress"],
  ["blocked", "retry", "in_progress"],
  ["in_progress", "report_completed", "awaiting_review"],
  ["awaiting_review", "changes_requested", "in_progress"],
  ["awaiting_review", "approved", "done"],
  ["blocked", "retries_exceeded", "error"],
  ["error", "manual_reset", "pending"],
];

/** What real sessions need besides. */
const BESIDES: [TicketStatus, TicketEvent, TicketStatus][] = [
  ["pending", "work_stopped", "blocked"],
  ["discussing", "work_stopped", "blocked"],
  ["in_progress", "work_stopped", "blocked"],
  ["awaiting_review", "work_stopped", "blocked"],
  ["blocked", "replanned", "pending"],
  ["blocked", "review_resumed", "awaiting_review"],
  ["pending", "withdrawn", "error"],
  ["discussing", "withdrawn", "error"],
  ["in_progress", "withdrawn", "error"],
  ["blocked", "withdrawn", "error"],
  ["awaiting_review", "withdrawn", "error"],
];

const arrows = [...FOUNDING, ...BESIDES];
const statuses: TicketStatus[] = [
  "pending",
  "discussing",
  "in_progress",
  "blocked",
  "awaiting_review",
  "done",
  "error",
];
const events = [...new Set(arrows.map(([, event]) => event))];

describe("the life of a ticket", () => {
  it("begins pending, and reaches every state", () => {
    const reached = getShortestPaths(ticketMachine).map((path) => path.state.value);
    expect(ticketLifecycle.initial).toBe("pending");
    expect(reached.toSorted()).toEqual(statuses.toSorted());
  });

  it("accepts each event only where the table has an arrow", () => {
    for (const from of statuses) {
      for (const event of events) {
        const arrow = arrows.find((one) => one[0] === from && one[1] === event);
        expect(ticketLifecycle.next(from, event), `${event} in ${from}`).toBe(arrow?.[2]);
      }
    }
  });

  it("has no arrow that is not in the table", () => {
    const drawn = Object.entries(ticketMachine.states).flatMap(([from, state]) =>
      state.ownEvents.map((event) => {
        const to = ticketLifecycle.next(from as TicketStatus, event as TicketEvent);
        return `${from} ${event} ${to}`;
      }),
    );
    expect(drawn.toSorted()).toEqual(arrows.map((arrow) => arrow.join(" ")).toSorted());
  });

  it("ends only with done", () => {
    const final = getShortestPaths(ticketMachine).filter((path) => path.state.status === "done");
    expect(final.map((path) => path.state.value)).toEqual(["done"]);
  });

  it("accepts no unknown event", () => {
    expect(ticketLifecycle.next("pending", "toString" as TicketEvent)).toBeUndefined();
    expect(ticketLifecycle.next("in_progress", "" as TicketEvent)).toBeUndefined();
  });
});

const PHASES: SessionPhase[] = ["planning", "clarifying", "approving", "running", "waiting", "stopped", "closed"];

const AT_WORK: Partial<Record<SessionPhase, Partial<Record<SessionEvent, SessionPhase>>>> = {
  planning: { questions_asked: "clarifying", plan_proposed: "approving", plan_accepted: "running" },
  clarifying: { answered: "planning", plan_proposed: "approving", plan_accepted: "running" },
  approving: { plan_accepted: "running", plan_proposed: "approving", plan_sent_back: "planning" },
  running: { plan_proposed: "approving", plan_accepted: "running", result_proposed: "approving" },
};

const SESSION_EVENTS: SessionEvent[] = [
  "questions_asked",
  "answered",
  "plan_proposed",
  "plan_accepted",
  "plan_sent_back",
  "result_proposed",
  "reopened",
  "stopped",
  "left_waiting",
  "finished",
  "resumed_planning",
  "resumed_clarifying",
  "resumed_approving",
  "resumed_running",
];

function expectedPhase(from: SessionPhase, event: SessionEvent): SessionPhase | undefined {
  if (from === "closed") return event === "reopened" ? "running" : undefined;
  if (event === "stopped") return "stopped";
  if (event === "left_waiting") return "waiting";
  if (event === "finished") return "closed";
  if (from === "waiting" || from === "stopped") return PHASES.find((phase) => event === `resumed_${phase}`);
  return AT_WORK[from]?.[event];
}

describe("the life of a session", () => {
  it("begins planning, and reaches every state", () => {
    expect(sessionLifecycle.initial).toBe("planning");
    const reached = getShortestPaths(sessionMachine).map((path) => path.state.value);
    expect(reached.toSorted()).toEqual(PHASES.toSorted());
  });

  test.each(PHASES)("from %s follows the table", (from) => {
    for (const event of SESSION_EVENTS) {
      expect(sessionLifecycle.next(from, event), `${event} in ${from}`).toBe(expectedPhase(from, event));
    }
  });
});
