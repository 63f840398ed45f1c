import { subjectMachine } from "../../kernel/kit/lifecycles.ts";
import { lifecycle } from "../../kernel/machine.ts";

export type TicketStatus = "pending" | "discussing" | "in_progress" | "blocked" | "awaiting_review" | "done" | "error";

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
const STATUSES = {
  pending: {
    proposal_needed: "discussing",
    instruction_received: "in_progress",
    work_stopped: "blocked",
    withdrawn: "error",
  },
  discussing: { instruction_finalized: "in_progress", work_stopped: "blocked", withdrawn: "error" },
  in_progress: {
    report_completed: "awaiting_review",
    report_blocked: "blocked",
    work_stopped: "blocked",
    withdrawn: "error",
  },
  blocked: {
    unblocked: "in_progress",
    retry: "in_progress",
    replanned: "pending",
    review_resumed: "awaiting_review",
    retries_exceeded: "error",
    withdrawn: "error",
  },
  awaiting_review: {
    approved: "done",
    changes_requested: "in_progress",
    work_stopped: "blocked",
    withdrawn: "error",
  },
  error: { manual_reset: "pending" },
  done: {},
} as const satisfies Record<TicketStatus, Record<string, TicketStatus>>;

export const ticketMachine = subjectMachine("ticket", STATUSES);

export type TicketEvent = { [S in TicketStatus]: keyof (typeof STATUSES)[S] }[TicketStatus];

export const ticketLifecycle = lifecycle<TicketStatus, TicketEvent>(ticketMachine);
