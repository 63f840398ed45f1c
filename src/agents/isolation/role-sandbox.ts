import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDirectory, realPath } from "../../lib/files.ts";
import { programFile } from "../../lib/program-file.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { mayWriteGit, type Role } from "../../protocol/roles.ts";
import type { Isolation, SandboxPaths } from "../launcher.ts";
import { isBelow } from "./mechanism.ts";
import { SANDBOX_LEVELS } from "./probe.ts";

/** A path that no agents but those of this role may change. */
type OwnedPath = Readonly<Record<"path" | "role_id", string>>;

/** What every sandbox of a session closes, beside what follows from its role: see SPEC.md, 14.1. */
export interface Closed extends Partial<Pick<SandboxPaths, "hidden" | "readable">> {
  readonly owned?: readonly OwnedPath[];
  /** The repository's git directories, which only roles that may use git change. */
  readonly git?: readonly string[];
}

/** The strictest sandbox of these roles, if any has one: of one for its turn, of all workers for a check, which runs what any of them wrote. */
export function strictestSandbox(
  roles: readonly Role[],
  { workspace, artifacts_dir }: Pick<PayloadByType["turn_request"], "workspace" | "artifacts_dir">,
  { hidden = [], readable = [], owned = [], git = [] }: Closed = {},
): Isolation | undefined {
  const level = SANDBOX_LEVELS.findLast((one) => roles.some(({ sandbox }) => sandbox === one));
  if (level === undefined) return undefined;
  // Hooks and settings of a repository run programs when a person uses git there.
  const repository = roles.every(mayWriteGit) ? [] : [join(workspace, ".git"), ...git];
  const others = owned.filter(({ role_id }) => roles.some((role) => role.role_id !== role_id));
  const unwritable = [...repository, join(workspace, ".bosun"), ...others.map(({ path }) => path)];
  return { level, required: true, paths: { writable: [workspace, artifacts_dir], hidden, readable, unwritable } };
}

/** The files in the workspace that commands of roles name: their programs, also those on the `PATH`, and arguments. */
export function programsInside(
  roles: readonly Pick<Role, "role_id" | "cli_command" | "env">[],
  workspace: string,
  path: string | undefined,
): OwnedPath[] {
  const root = realPath(workspace);
  const isInside = (file: string) => isBelow(file, root) || isBelow(realPath(file), root);
  return roles.flatMap(({ role_id, cli_command: [program = "", ...more] = [], env }) =>
    [programFile(program, root, env?.["PATH"] ?? path) ?? "", ...more]
      .map((word) => resolve(root, word))
      .filter((file) => existsSync(file) && !isDirectory(file) && isInside(file))
      .map((file) => ({ path: file, role_id })),
  );
}
