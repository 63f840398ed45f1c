import { directoryObstacle, programFile, programObstacle } from "../../agents/program-file.ts";
import { mayEnter } from "../../lib/directory.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { SessionRow } from "../../store/store.ts";

/** The executable of a role's program, found on the `PATH` of the role's own environment. */
export function programOf(role: Role, directory: string, path: string | undefined): string | undefined {
  const program = role.cli_command?.[0];
  return program === undefined ? undefined : programFile(program, directory, role.env?.["PATH"] ?? path);
}

/** Why a role cannot be used: `configuration` for a backend that is not supported, `environment` for a missing program. */
export function roleProblem(role: Role, directory: string, path: string | undefined): Failure | undefined {
  return unsupported(role) ?? missingProgram(role, directory, path);
}

function unsupported({ role_id, backend = "cli" }: Role): Failure | undefined {
  if (backend === "cli" || backend === "acp") return undefined;
  return failure(
    "configuration",
    `The role ${role_id} uses the backend ${backend}, which this version does not support yet.`,
    {
      hint: "Use a program: --manager CMD, --worker CMD, or --crew embedded with --plan FILE.",
    },
  );
}

function missingProgram(role: Role, directory: string, path: string | undefined): Failure | undefined {
  const program = role.cli_command?.[0];
  if (program === undefined || programOf(role, directory, path) !== undefined) return undefined;
  const { why, remedy } = programObstacle(program, directory);
  return failure("environment", `The role ${role.role_id} runs ${JSON.stringify(program)}, which ${why}.`, {
    hint: `${remedy}, or name another program with --manager CMD, --worker CMD, --crew NAME or --roles FILE. \`bosun doctor\` checks all roles.`,
  });
}

/** Why no program can be started in a workspace: `usage` if it is missing, `environment` without permission. */
export function unusableWorkspace(workspace: string): Failure | undefined {
  const obstacle = directoryObstacle(workspace);
  if (obstacle === undefined) return undefined;
  const code = mayEnter(workspace) === "gone" ? "usage" : "environment";
  return failure(code, `The workspace ${workspace} ${obstacle.why}.`, {
    hint: `${obstacle.remedy}, or name another with --cwd DIRECTORY.`,
  });
}

/** The same for the workspace of a session, which cannot be changed: `environment`. */
export function lostWorkspace({
  session_id,
  workspace,
  state,
}: Pick<SessionRow, "session_id" | "workspace" | "state">): Failure | undefined {
  const obstacle = directoryObstacle(workspace);
  if (obstacle === undefined) return undefined;
  const remedy = mayEnter(workspace) === "gone" ? "Put it back, or a link to where it is now" : obstacle.remedy;
  const otherwise = state === "closed" ? "" : ` To end the session: bosun cancel ${session_id}.`;
  return failure("environment", `The workspace ${workspace} of ${session_id} ${obstacle.why}.`, {
    hint: `${remedy}, and try again: the session is unchanged.${otherwise}`,
  });
}
