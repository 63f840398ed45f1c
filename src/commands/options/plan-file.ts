import { existsSync } from "node:fs";
import { crewProgram } from "../../config/installation.ts";
import type { LoadedPlan } from "../../config/plan-file.ts";
import { explain, problemsFailure } from "../../config/problem.ts";
import { checkGraph } from "../../kernel/graph.ts";
import { suits } from "../../kernel/mode.ts";
import { circleIn, type GraphNode } from "../../lib/circle.ts";
import { pointerTo } from "../../lib/json-pointer.ts";
import { workerFor } from "../../modes/schedule/tasks.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Instruction, Task } from "../../protocol/payload.ts";
import { planProblems } from "../../protocol/playbook/plan-check.ts";
import type { Role } from "../../protocol/roles.ts";

/** Whether a role is the bundled manager that plays a plan file. */
export function isPlaybook({ cli_command }: Pick<Role, "cli_command">): boolean {
  return cli_command?.includes(crewProgram("playbook")) === true;
}

function isShell({ cli_command }: Role): boolean {
  return cli_command?.includes(crewProgram("shell")) === true;
}

/** Whether the bundled worker, which only runs commands, does all the work for a manager that is not the bundled one. */
export function worksByShell(roles: readonly Role[]): boolean {
  return !roles.some(isPlaybook) && roles.every((role) => role.type !== "worker" || isShell(role));
}

/** Why the playbook manager cannot play a plan file; undefined if it can. */
export function unplayable({ source }: LoadedPlan): Failure | undefined {
  const problems = planProblems(source.value, (name) => existsSync(crewProgram(name)));
  if (problems.length === 0) return undefined;
  return problemsFailure(
    problems.map(({ path, message, at_key }) => {
      const pointer = path.reduce<string>(pointerTo, "");
      return source.problem(pointer, message, at_key === true ? { at: "key" } : {});
    }),
  );
}

/** Why the bundled worker would fail at a task: no other worker takes it, and none of its steps is a command. Every attempt would fail alike. */
export function nothingToRun({ plan, source }: LoadedPlan, roles: readonly Role[]): Failure | undefined {
  const problems = plan.tasks.flatMap((task, index) => {
    const takers = roles.filter((role) => suits(role, workerFor(task)));
    if (!takers.every(isShell) || hasCommand(task)) return [];
    const pointer = `/tasks/${index}/${task.instruction === undefined ? "task_id" : "instruction"}`;
    const what = `task "${task.task_id}" has no step with a command, and its worker only runs commands`;
    return [source.problem(pointer, what, { expected: "instruction.steps with a command or a shell text" })];
  });
  if (problems.length === 0) return undefined;
  const hint = 'Give it one, or another worker: --worker "CMD" or --roles FILE.';
  return { ...problemsFailure(problems), hint };
}

function hasCommand({ instruction, metadata }: Task): boolean {
  const { revisions = [] } = (metadata?.playbook ?? {}) as { readonly revisions?: readonly Instruction[] };
  return [instruction, ...revisions].some((given) =>
    given?.steps?.some((step) => typeof step === "object" && (step.command !== undefined || step.shell !== undefined)),
  );
}

/** A refusal of a plan by the schedule's rules, as `invalid_plan` that shows the place in the file. */
export function located(refused: Failure, { plan, source }: LoadedPlan): Failure {
  const pointer = typeof refused.details?.pointer === "string" ? refused.details.pointer : "";
  // The rules refuse a circle for the whole list of tasks; in the file it begins at a task.
  const circle = pointer === "/tasks" ? circleIn(nodesOf(plan)) : [];
  const first = plan.tasks.findIndex(({ task_id }) => task_id === circle[0]);
  const lines = explain(source.problem(first === -1 ? pointer : `/tasks/${first}`, refused.message));
  const { hint } = refused;
  return failure("invalid_plan", lines.join("\n"), { hint: hint && sentence(hint) });
}

/** Why the dependencies of a plan file are invalid, as `invalid_plan`; undefined if they are valid. */
export function graphProblem(loaded: LoadedPlan): Failure | undefined {
  const checked = checkGraph(nodesOf(loaded.plan));
  return checked.ok ? undefined : located(checked.error, loaded);
}

function nodesOf({ tasks }: LoadedPlan["plan"]): GraphNode[] {
  return tasks.map(({ task_id, dependencies = [] }) => ({ id: task_id, depends_on: dependencies }));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}
