import { copyFileSync, existsSync } from "node:fs";
import { extname, join } from "node:path";
import { crewProgram } from "../config/installation.ts";
import { pointerTo } from "../config/located.ts";
import type { LoadedPlan } from "../config/plan-file.ts";
import { problemsFailure } from "../config/problem.ts";
import { makeDirectory } from "../lib/directory.ts";
import { ok, type Result } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import type { Failure } from "../protocol/failure.ts";
import { planProblems } from "../protocol/playbook/plan-check.ts";
import type { Role } from "../protocol/roles.ts";

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
      const pointer = path.reduce<string>((parent, key) => pointerTo(parent, String(key)), "");
      return source.problem(pointer, message, at_key === true ? { at: "key" } : {});
    }),
  );
}

/** Where a session keeps its own copy of a plan file that is played. */
export function playbookIn(folder: string, file: string | undefined): string | undefined {
  return file === undefined ? undefined : join(folder, extname(file) === ".json" ? "plan.json" : "plan.yaml");
}

/** The role with what it must know: the playbook manager finds its plan by this variable. Other roles stay as they are. */
export function withPlaybook(role: Role, file: string | undefined): Role {
  if (file === undefined || !isPlaybook(role)) return role;
  return { ...role, env: { ...role.env, BOSUN_PLAYBOOK: file } };
}

/** The copy, if the session has one. */
export function playedFile(folder: string): string | undefined {
  return ["plan.json", "plan.yaml"].map((name) => join(folder, name)).find((file) => existsSync(file));
}

/** Makes that copy, so that going on with the session does not depend on the original. Fails with `storage` or `storage_full`. */
export function keepPlaybook(folder: string, file: string): Result<void, Failure> {
  const copy = () => {
    makeDirectory(folder);
    copyFileSync(file, playbookIn(folder, file) ?? "");
    return ok(undefined);
  };
  return attempt(folder, copy, "The session's copy of the plan file");
}
