import { setup } from "xstate";
import { lifecycle } from "../../kernel/machine.ts";

/**
 * The lifecycle of a ticket:
 *
 *   pending ──proposal_needed──► discussing ──instruction_finalized──► in_progress
 *   pending ──instruction_received──────────────────────────────────► in_progress ──report_completed──► awaiting_review
 *   in_progress ──report_blocked──► blocked ──unblocked | retry──► in_progress
 *   awaiting_review ──changes_requested──► in_progress      awaiting_review ──approved──► done
 *   blocked ──retries_exceeded──► error ──manual_reset──► pending
 *   pending | discussing | in_progress | awaiting_review ──work_stopped──► blocked     (`reason` says why)
 *   blocked ──replanned──► pending     blocked ──review_resumed──► awaiting_review     any open state ──withdrawn──► error
 */
export const ticketMachine = setup({ types: { events: {} as { type: TicketEvent } } }).createMachine({
  id: "ticket",
  initial: "pending",
  states: {
    pending: {
      on: {
        proposal_needed: "discussing",
        instruction_received: "in_progress",
        work_stopped: "blocked",
        withdrawn: "error",
      },
    },
    discussing: { on: { instruction_finalized: "in_progress", work_stopped: "blocked", withdrawn: "error" } },
    in_progress: {
      on: {
        report_completed: "awaiting_review",
        report_blocked: "blocked",
        work_stopped: "blocked",
        withdrawn: "error",
      },
    },
    blocked: {
      on: {
        unblocked: "in_progress",
        retry: "in_progress",
        replanned: "pending",
        review_resumed: "awaiting_review",
        retries_exceeded: "error",
        withdrawn: "error",
      },
    },
    awaiting_review: {
      on: { approved: "done", changes_requested: "in_progress", work_stopped: "blocked", withdrawn: "error" },
    },
    error: { on: { manual_reset: "pending" } },
    done: { type: "final" },
  },
});

export type TicketStatus = "pending" | "discussing" | "in_progress" | "blocked" | "awaiting_review" | "done" | "error";

export type TicketEvent =
  | "proposal_needed"
  | "instruction_received"
  | "instruction_finalized"
  | "report_completed"
  | "report_blocked"
  | "changes_requested"
  | "approved"
  | "unblocked"
  | "retry"
  | "replanned"
  | "review_resumed"
  | "work_stopped"
  | "withdrawn"
  | "retries_exceeded"
  | "manual_reset";

export const ticketLifecycle = lifecycle<TicketStatus, TicketEvent>(ticketMachine);
