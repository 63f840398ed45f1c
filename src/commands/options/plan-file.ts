import { existsSync } from "node:fs";
import { findingsFailure } from "../../config/document.ts";
import { crewProgram } from "../../config/installation.ts";
import { type LoadedPlan, strayDependencies } from "../../config/plan-file.ts";
import { isPlaybook, isShell } from "../../config/role-defaults.ts";
import { checkSchema } from "../../config/schema-check.ts";
import { checkGraph } from "../../kernel/graph.ts";
import { suits } from "../../kernel/mode.ts";
import { cycleIn, type GraphNode } from "../../lib/cycle.ts";
import { workerFor } from "../../modes/schedule/tasks.ts";
import { explain } from "../../protocol/document/problem.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Instruction, Task } from "../../protocol/payload.ts";
import { planFindings } from "../../protocol/playbook/plan-check.ts";
import type { Role } from "../../protocol/roles.ts";

/** Whether the bundled worker, which only runs commands, does all the work for a manager that is not the bundled one. */
export function worksByShell(roles: readonly Role[]): boolean {
  return !roles.some(isPlaybook) && roles.every((role) => role.type !== "worker" || isShell(role));
}

/** Why the playbook manager cannot play a plan file, which the schedule's rules may have `refused`; undefined if it can. */
export async function unplayable(loaded: LoadedPlan, refused?: Failure): Promise<Failure | undefined> {
  const { plan, source } = loaded;
  const broken = await checkSchema("playable_plan", plan);
  if (broken.length > 0) return findingsFailure(source, [...broken, ...strayDependencies(plan)]);
  if (refused) return located(refused, loaded);
  const findings = planFindings(plan, (name) => existsSync(crewProgram(name)));
  return findings.length === 0 ? undefined : findingsFailure(source, findings);
}

/**
 * Why the bundled worker would fail at a task: no other worker takes it, and none of its steps is a command. Every attempt would fail the
 * same way.
 */
export function nothingToRun({ plan, source }: LoadedPlan, roles: readonly Role[]): Failure | undefined {
  const findings = plan.tasks.flatMap((task, index) => {
    const takers = roles.filter((role) => suits(role, workerFor(task)));
    if (!takers.every(isShell) || hasCommand(task)) return [];
    const pointer = `/tasks/${index}/${task.instruction === undefined ? "task_id" : "instruction"}`;
    const what = `task "${task.task_id}" has no step with a command, and its worker only runs commands`;
    return [{ pointer, what, expected: "instruction.steps with a command or a shell text" }];
  });
  if (findings.length === 0) return undefined;
  const hint = 'Give it one, or another worker: --worker "CMD" or --roles FILE.';
  return { ...findingsFailure(source, findings), hint };
}

function hasCommand({ instruction, metadata }: Task): boolean {
  const { revisions = [] } = (metadata?.playbook ?? {}) as { readonly revisions?: readonly Instruction[] };
  return [instruction, ...revisions].some((given) =>
    given?.steps?.some((step) => typeof step === "object" && (step.command !== undefined || step.shell !== undefined)),
  );
}

/** A refusal of a plan by the schedule's rules, as `invalid_plan` with the location in the file. */
export function located(refused: Failure, { plan, source }: LoadedPlan): Failure {
  const pointer = typeof refused.details?.pointer === "string" ? refused.details.pointer : "";
  // The rules refuse a cycle for the whole list of tasks; in the file, point to a task where it begins.
  const cycle = pointer === "/tasks" ? cycleIn(nodesOf(plan)) : [];
  const first = plan.tasks.findIndex(({ task_id }) => task_id === cycle[0]);
  const lines = explain(source.problem({ pointer: first === -1 ? pointer : `/tasks/${first}`, what: refused.message }));
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
