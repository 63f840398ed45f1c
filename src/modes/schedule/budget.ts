import { defined } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Task } from "../../protocol/payload.ts";
import { type Instant, later, milliseconds } from "../../protocol/timestamp.ts";
import type { Allowance, MessageType, Settings, Ticket } from "./state.ts";

/** The budget of a task's new ticket: its own limits, else those of the configuration. Undefined without limits. */
export function allowanceOf({ ticket_budget }: Settings, task: Task): Allowance | undefined {
  const turns = task.budget?.turns ?? ticket_budget?.turns;
  const wall_s = task.budget?.wall_s ?? ticket_budget?.wall_s;
  if (turns === undefined && wall_s === undefined) return undefined;
  return { ...defined({ turns, wall_s }), used: 0 };
}

/** Whether a ticket's budget is spent at that time. */
export function isSpent({ allowance }: Ticket, now: Instant): boolean {
  if (!allowance) return false;
  const { turns, used } = allowance;
  const end = endOf(allowance);
  return (turns !== undefined && used >= turns) || (end !== undefined && milliseconds(now) >= milliseconds(end));
}

/** When a time budget ends. Undefined before the first turn is offered. */
export function endOf({ wall_s, from }: Allowance): Instant | undefined {
  return wall_s === undefined || from === undefined ? undefined : later(from, wall_s * 1000);
}

/** The budget from a revised plan, with the usage of the previous one. */
export function carriedOver({ allowance }: Ticket, { used, from }: Allowance): Pick<Partial<Ticket>, "allowance"> {
  return allowance ? { allowance: { ...allowance, used, ...defined({ from }) } } : {};
}

/** Whether a blocked ticket needs a larger budget to go on. */
export function needsBudget({ allowance, reason }: Ticket): boolean {
  if (!allowance) return false;
  return reason === "budget_exhausted" || (allowance.turns !== undefined && allowance.used >= allowance.turns);
}

/** The same budget with nothing used, for a person's retry. */
export function withFreshBudget({ allowance }: Ticket): Pick<Partial<Ticket>, "allowance"> {
  if (!allowance) return {};
  const { from: _, ...rest } = allowance;
  return { allowance: { ...rest, used: 0 } };
}

/** The prefix of the timers that end a ticket's time budget. */
export const BUDGET_TIMER = "budget:";

/** Whether a message is sent even if the budget is spent: delivered work is still reviewed, and `error` asks for a way out. */
export function isExemptFromBudget(message: MessageType): boolean {
  return message === "review_request" || message === "error";
}

/** The refusal of an instruction for a ticket whose budget is spent. */
export function budgetSpent({ id, allowance }: Ticket): Failure {
  const most = [
    ...(allowance?.turns === undefined ? [] : [`${allowance.turns} turns`]),
    ...(allowance?.wall_s === undefined ? [] : [`${allowance.wall_s} s`]),
  ];
  return failure("budget_exhausted", `nothing is left of the budget of ticket "${id}" (${most.join(", ")})`, {
    hint: 'send a "plan" that gives its task a larger budget, or "error" to give it up',
    details: { pointer: "" },
  });
}
