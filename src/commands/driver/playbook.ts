import { writeFileSync } from "node:fs";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { playbookCopy } from "../lookup/plan.ts";
import { isPlaybook } from "../../config/role-defaults.ts";
import type { Playbook } from "../options/run-input.ts";

/** Adds an environment variable to the playbook manager's role that names the session's copy of the plan file. */
export function withPlaybook(roles: readonly Role[], folder: string, played: Playbook | undefined): readonly Role[] {
  if (played === undefined) return roles;
  const BOSUN_PLAYBOOK = playbookCopy(folder, played.file);
  return roles.map((role) => (isPlaybook(role) ? { ...role, env: { ...role.env, BOSUN_PLAYBOOK } } : role));
}

/** Copies the plan file into the session's folder, so that resuming does not need the original. Fails with `storage` or `storage_full`. */
export function keepPlaybook(folder: string, { file, text }: Playbook): Result<void, Failure> {
  const copy = () => {
    makeDirectory(folder);
    return ok(writeFileSync(playbookCopy(folder, file), text, OWN));
  };
  return attempt(folder, copy, "The session's copy of the plan file");
}
