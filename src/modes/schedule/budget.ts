import { type Failure, failure } from "../../protocol/failure.ts";
import type { Task } from "../../protocol/payload.ts";
import { type Instant, later, milliseconds } from "../../protocol/timestamp.ts";
import type { Allowance, MessageType, Settings, Ticket } from "./state.ts";

/** A task's own budget, and where it says nothing the configuration's; undefined if neither limits anything. */
export function allowanceOf({ ticket_budget }: Settings, task: Task): Allowance | undefined {
  const turns = task.budget?.turns ?? ticket_budget?.turns;
  const wall_s = task.budget?.wall_s ?? ticket_budget?.wall_s;
  if (turns === undefined && wall_s === undefined) return undefined;
  return { ...(turns === undefined ? {} : { turns }), ...(wall_s === undefined ? {} : { wall_s }), used: 0 };
}

/** Whether nothing is left of a ticket's budget at that time. */
export function isSpent({ allowance }: Ticket, now: Instant): boolean {
  if (!allowance) return false;
  const { turns, used } = allowance;
  const end = endOf(allowance);
  return (turns !== undefined && used >= turns) || (end !== undefined && milliseconds(now) >= milliseconds(end));
}

/** When a ticket's time is up, once it runs. */
export function endOf({ wall_s, from }: Allowance): Instant | undefined {
  return wall_s === undefined || from === undefined ? undefined : later(from, wall_s * 1000);
}

/** The budget that a revised plan gives, with what has been used of the one before. */
export function spentOf({ allowance }: Ticket, { used, from }: Allowance): Pick<Partial<Ticket>, "allowance"> {
  return allowance ? { allowance: { ...allowance, used, ...(from === undefined ? {} : { from }) } } : {};
}

/** Whether a blocked ticket can only go on with a larger budget, as far as it stands in its state. */
export function wantsBudget({ allowance, reason }: Ticket): boolean {
  if (!allowance) return false;
  return reason === "budget_exhausted" || (allowance.turns !== undefined && allowance.used >= allowance.turns);
}

/** The same budget with nothing used of it: what a person's `retry` gives. */
export function afresh({ allowance }: Ticket): Pick<Partial<Ticket>, "allowance"> {
  if (!allowance) return {};
  const { from: _, ...rest } = allowance;
  return { allowance: { ...rest, used: 0 } };
}

/** Timers that begin so end a ticket's time. */
export const BUDGET_TIMER = "budget:";

/**
 * Messages that a spent budget keeps nobody from: what was delivered is reviewed all the same, and an `error` turn is the way out,
 * which is not even counted.
 */
export function isBeyondBudget(message: MessageType): boolean {
  return message === "review_request" || message === "error";
}

/** Why a manager cannot go on with a ticket by an instruction. */
export function nothingLeft({ id, allowance }: Ticket): Failure {
  const most = [
    ...(allowance?.turns === undefined ? [] : [`${allowance.turns} turns`]),
    ...(allowance?.wall_s === undefined ? [] : [`${allowance.wall_s} s`]),
  ];
  return failure("budget_exhausted", `nothing is left of the budget of ticket "${id}" (${most.join(", ")})`, {
    hint: 'send a "plan" that gives its task a larger budget, or "error" to give it up',
    details: { pointer: "" },
  });
}
