import { hash } from "node:crypto";
import type { Seat } from "../../kernel/mode.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { defined } from "../../lib/json.ts";
import type { Task } from "../../protocol/payload.ts";
import { allowanceOf } from "./budget.ts";
import { commandsOf, digestsOf } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { isRisky } from "./risk.ts";
import type { Place, Ticket } from "./state.ts";

/** The place of a task in the plan at `plan`. */
export function taskAt([sequence, pointer]: Place, index: number): Place {
  return [sequence, `${pointer}/tasks/${index}`];
}

/** Makes the ticket for a task of a plan. It shares objects where it can: there may be 100,000 tickets. */
export function newTicket(draft: Draft, task: Task, place: Place): Ticket {
  const { settings } = draft.session;
  const criteria = executablesOf(draft, task, place);
  const named = task.dependencies ?? [];
  const dependencies = new Set(named);
  const discuss =
    settings.proposal === "always" ||
    task.proposal_needed === true ||
    (settings.proposal === "risk" && task.proposal_needed !== false && isRisky(task, settings));
  return {
    id: task.task_id,
    status: "pending",
    since: draft.fact.received_at,
    task: place,
    order: Number(place[1].slice(place[1].lastIndexOf("/") + 1)),
    digest: digestOf(task),
    depends_on: dependencies.size === named.length ? named : [...dependencies],
    seat: workerFor(task),
    review: task.review ?? settings.review,
    attempt: 0,
    ...defined({ max_attempts: task.max_attempts, allowance: allowanceOf(settings, task) }),
    ...(discuss ? { discuss } : {}),
    ...(task.writes?.length ? { writes: task.writes } : {}),
    ...(task.instruction ? { instruction: [place[0], `${place[1]}/instruction`] } : {}),
    ...(criteria.length > 0 ? { criteria, seen: digestsOf(commandsOf(task)) } : {}),
  };
}

/** The executable criteria of the configuration, of a task, and of the instruction that its plan gives. */
export function executablesOf(draft: Draft, task: Task, place: Place): Place[] {
  const own = executables(task.acceptance_criteria, place[0], `${place[1]}/acceptance_criteria`);
  const instructed = executables(
    task.instruction?.acceptance_criteria,
    place[0],
    `${place[1]}/instruction/acceptance_criteria`,
  );
  return [...draft.session.settings.checks, ...own, ...instructed];
}

/** The places of the criteria that have a command, in a list at `pointer` of the record `sequence`. */
export function executables(criteria: readonly unknown[] | undefined, sequence: number, pointer: string): Place[] {
  return (criteria ?? []).flatMap((criterion, index): Place[] =>
    isExecutable(criterion) ? [[sequence, `${pointer}/${index}`]] : [],
  );
}

function isExecutable(criterion: unknown): boolean {
  return typeof criterion === "object" && criterion !== null && "command" in criterion;
}

const ANY_WORKER: Seat = { type: "worker" };

/** The seat of a task: the role or capability that it is assigned to, or any worker. */
export function workerFor({ assigned_to: to }: Task): Seat {
  if (to && "role_id" in to && to.role_id !== undefined) return { type: "worker", role_id: to.role_id };
  if (to && "capability" in to && to.capability !== undefined) return { type: "worker", capability: to.capability };
  return ANY_WORKER;
}

/** A digest of a task without `status`: if it differs, the task has changed. */
export function digestOf(task: Task): string {
  const { status: _echo, ...planned } = task;
  // A substring of the hexadecimal text would keep the whole text in memory.
  return hash("sha256", canonicalJson(planned), "buffer").toString("hex", 0, 8);
}
