import { checkGraph } from "../../kernel/graph.ts";
import { suits } from "../../kernel/mode.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Task } from "../../protocol/payload.ts";
import type { Draft } from "./draft.ts";
import { digestOf, executablesOf, workerFor } from "./tasks.ts";

/** Returns why a plan is invalid, given its tasks, the crew and the done tickets; undefined if it is valid. */
export function checkPlan(draft: Draft, tasks: readonly Task[]): Failure | undefined {
  if (tasks.length === 0) {
    return failure("invalid_plan", "the plan has no tasks", {
      hint: "plan at least one",
      details: { pointer: "/tasks" },
    });
  }
  const graph = checkGraph(tasks.map((task) => ({ id: task.task_id, depends_on: task.dependencies ?? [] })));
  if (!graph.ok) return graph.error;
  const workers = draft.session.roles.filter((role) => role.type === "worker");
  // A ticket that was done while a revision waits for approval may also match that revision, which is what the manager sees.
  const { planned = [], left_out = [] } = draft.session.gate?.revision ?? {};
  const proposed = new Map(planned.map(({ id, digest }) => [id, digest]));
  for (const [index, task] of tasks.entries()) {
    const seat = workerFor(task);
    if (!workers.some((role) => suits(role, seat))) {
      const { role_id, capability } = seat;
      const wanted = role_id === undefined ? `a worker with the capability "${capability}"` : `the worker "${role_id}"`;
      return failure("invalid_plan", `task "${task.task_id}" is assigned to ${wanted}, which this crew does not have`, {
        hint: `assign it to one of: ${workers.map((role) => role.role_id).join(", ")}`,
        details: { pointer: `/tasks/${index}/assigned_to` },
      });
    }
    const policy = task.review ?? draft.session.settings.review;
    if (policy === "panel" && draft.session.settings.panel === undefined) {
      return failure("invalid_plan", `task "${task.task_id}" is reviewed by a panel, and the settings have none`, {
        hint: 'set review to {"panel": [ROLE, …]}, or give the task another review policy',
        details: { pointer: `/tasks/${index}/review` },
      });
    }
    if (policy === "checks" && executablesOf(draft, task, [0, ""]).length === 0) {
      return failure(
        "invalid_plan",
        `task "${task.task_id}" is reviewed by checks, but has no criterion with a command`,
        {
          hint: "give it an acceptance criterion with a command, or another review policy",
          details: { pointer: `/tasks/${index}/acceptance_criteria` },
        },
      );
    }
    const unwatched = (["tokens", "usd"] as const).find((key) => task.budget?.[key] !== undefined);
    if (unwatched !== undefined || task.budget?.turns === 0) {
      const what =
        unwatched === undefined ? "allows no turn at all" : `is in ${unwatched}, which are not counted by task`;
      return failure("invalid_plan", `the budget of task "${task.task_id}" ${what}`, {
        hint: 'limit it in "turns" (at least 1) or "wall_s", or leave that out',
        details: { pointer: `/tasks/${index}/budget/${unwatched ?? "turns"}` },
      });
    }
    const done = draft.ticket(task.task_id);
    if (done?.status === "done" && ![done.digest, proposed.get(done.id)].includes(digestOf(task))) {
      return failure("invalid_plan", `task "${task.task_id}" is done and cannot be changed`, {
        hint: "leave done tasks as they are, and add a new task for what is missing",
        details: { pointer: `/tasks/${index}` },
      });
    }
  }
  const kept = new Set([...tasks.map((task) => task.task_id), ...left_out]);
  for (const ticket of draft.all()) {
    // A ticket that the plan left out and a person retried is in no plan that the manager knows.
    if (ticket.status === "done" && !ticket.unplanned && !kept.has(ticket.id)) {
      return failure("invalid_plan", `task "${ticket.id}" is done, but missing from the revised plan`, {
        hint: "a revision is the whole plan: keep done tasks in it, unchanged",
        details: { pointer: "/tasks" },
      });
    }
  }
  return undefined;
}
