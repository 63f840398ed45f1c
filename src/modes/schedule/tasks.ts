import { hash } from "node:crypto";
import type { Seat } from "../../kernel/mode.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import type { Task } from "../../protocol/payload.ts";
import { allowanceOf } from "./budget.ts";
import { executables } from "./criteria.ts";
import type { Draft } from "./draft.ts";
import type { Place, Ticket } from "./state.ts";

/** Expected outputs that change something others depend on; such a ticket is discussed before it is begun. */
const RISKY_OUTPUT =
  /\b(deploy|deployment|release|publish|migrat\w*|delet\w*|drop|production|credential\w*|payment\w*)\b/i;

/** Where the plan that stands at `plan` has that task. */
export function taskAt([sequence, pointer]: Place, index: number): Place {
  return [sequence, `${pointer}/tasks/${index}`];
}

/** The ticket that a task of a plan becomes, with nothing lived through yet. What it can share it shares: there may be 100,000 of them. */
export function newTicket(draft: Draft, task: Task, place: Place): Ticket {
  const { settings } = draft.session;
  const criteria = executablesOf(draft, task, place);
  const allowance = allowanceOf(settings, task);
  const named = task.dependencies ?? [];
  const dependencies = new Set(named);
  const discuss =
    settings.proposal === "always" ||
    task.proposal_needed === true ||
    (settings.proposal === "risk" &&
      task.proposal_needed !== false &&
      ((task.risks?.length ?? 0) > 0 ||
        (task.expected_outputs ?? []).some((output) => RISKY_OUTPUT.test(text(output)))));
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
    ...(allowance ? { allowance } : {}),
    ...(discuss ? { discuss } : {}),
    ...(task.instruction ? { instruction: [place[0], `${place[1]}/instruction`] } : {}),
    ...(criteria.length > 0 ? { criteria } : {}),
  };
}

/** Places of a task's executable criteria, those of an instruction given with it, and the configuration's own. */
export function executablesOf(draft: Draft, task: Task, place: Place): Place[] {
  const own = executables(task.acceptance_criteria, place[0], `${place[1]}/acceptance_criteria`);
  const instructed = executables(
    task.instruction?.acceptance_criteria,
    place[0],
    `${place[1]}/instruction/acceptance_criteria`,
  );
  return [...draft.session.settings.checks, ...own, ...instructed];
}

const ANY_WORKER: Seat = { type: "worker" };

/** Who may work on a task: whom it names, or any worker, as for most of a plan. */
export function workerFor({ assigned_to: to }: Task): Seat {
  if (to && "role_id" in to && to.role_id !== undefined) return { type: "worker", role_id: to.role_id };
  if (to && "capability" in to && to.capability !== undefined) return { type: "worker", capability: to.capability };
  return ANY_WORKER;
}

function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : typeof value === "object" && value !== null && "text" in value
      ? String(value.text)
      : "";
}

/** What the manager may not change of a done task, and what makes a revised one different: all but its `status` echo. */
export function digestOf(task: Task): string {
  const { status: _echo, ...planned } = task;
  // Not the beginning of the whole digest's text: that would be kept with it.
  return hash("sha256", canonicalJson(planned), "buffer").toString("hex", 0, 8);
}
