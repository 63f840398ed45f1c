import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonFile } from "../../config/document.ts";
import { crewProgram } from "../../config/installation.ts";
import type { LoadedPlan } from "../../config/plan-file.ts";
import { problemsFailure } from "../../config/problem.ts";
import { suits } from "../../kernel/seat.ts";
import { makeDirectory } from "../../lib/directory.ts";
import { pointerTo } from "../../lib/json-pointer.ts";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { workerFor } from "../../modes/schedule/tasks.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Instruction, Task } from "../../protocol/payload.ts";
import { planProblems } from "../../protocol/playbook/plan-check.ts";
import type { Role } from "../../protocol/roles.ts";

/** Whether a role is the bundled manager that plays a plan file. */
export function isPlaybook(role: Pick<Role, "cli_command">): boolean {
  return role.cli_command?.includes(crewProgram("playbook")) === true;
}

/** Why a plan file cannot be played, told before anything begins; undefined if it can. */
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

/**
 * Why the bundled worker, which runs commands and can do nothing else, would fail at a task of a plan that is played: nobody else takes it, and
 * nothing in it is a command. Told before anything begins, since each of its tries would only say the same.
 */
export function nothingToRun({ plan, source }: LoadedPlan, roles: readonly Role[]): Failure | undefined {
  const problems = plan.tasks.flatMap((task, index) => {
    const takers = roles.filter((role) => suits(role, workerFor(task)));
    if (!takers.every(isShell) || hasCommand(task)) return [];
    const pointer = `/tasks/${index}/${task.instruction === undefined ? "task_id" : "instruction"}`;
    const what = `task "${task.task_id}" has no step with a command, and its worker only runs commands`;
    return [source.problem(pointer, what, { expected: "instruction.steps with a command or a shell text" })];
  });
  if (problems.length === 0) return undefined;
  const hint = 'Give it one, or a worker that can do without: --worker "CMD" or --roles FILE.';
  return { ...problemsFailure(problems), hint };
}

/** Whether all work goes to the bundled worker although another manager than the bundled one hands it out. */
export function worksByShell(roles: readonly Role[]): boolean {
  return !roles.some(isPlaybook) && roles.every((role) => role.type !== "worker" || isShell(role));
}

function isShell({ cli_command }: Role): boolean {
  return cli_command?.includes(crewProgram("shell")) === true;
}

function hasCommand({ instruction, metadata }: Task): boolean {
  const { revisions = [] } = (metadata?.playbook ?? {}) as { readonly revisions?: readonly Instruction[] };
  return [instruction, ...revisions].some((given) =>
    given?.steps?.some((step) => typeof step === "object" && (step.command !== undefined || step.shell !== undefined)),
  );
}

/** A plan file that the playbook manager plays: what it is called, which says how it is read, and what stands in it. */
export interface Playbook {
  readonly file: string;
  readonly text: string;
}

/** Where a session keeps its own copy of a plan file that is played. */
function playbookIn(folder: string, { file }: Playbook): string {
  return join(folder, isJsonFile(file) ? "plan.json" : "plan.yaml");
}

/** The roles with what they must know: by this variable the playbook manager finds the session's copy of the plan that it plays. */
export function withPlaybook(roles: readonly Role[], folder: string, played: Playbook | undefined): readonly Role[] {
  if (played === undefined) return roles;
  const BOSUN_PLAYBOOK = playbookIn(folder, played);
  return roles.map((role) => (isPlaybook(role) ? { ...role, env: { ...role.env, BOSUN_PLAYBOOK } } : role));
}

/** The copy, if the session has one. */
export function playedFile(folder: string): string | undefined {
  return ["plan.json", "plan.yaml"].map((name) => join(folder, name)).find((file) => existsSync(file));
}

/** Makes that copy, so that going on with the session does not depend on the original. Fails with `storage` or `storage_full`. */
export function keepPlaybook(folder: string, played: Playbook): Result<void, Failure> {
  const copy = () => {
    makeDirectory(folder);
    return ok(writeFileSync(playbookIn(folder, played), played.text));
  };
  return attempt(folder, copy, "The session's copy of the plan file");
}
