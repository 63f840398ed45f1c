import { relative } from "node:path";
import { programsInside } from "../../agents/isolation/role-sandbox.ts";
import { isEmbedded } from "../../config/role-defaults.ts";
import { realPath } from "../../lib/files.ts";
import type { Role } from "../../protocol/roles.ts";

/** Which programs in the workspace agents of another role can change, since no sandbox prevents it; none if there are none. Bosun's own are not counted. */
export function changeableWords(roles: readonly Role[], workspace: string, path: string | undefined): string[] {
  const free = roles.filter(({ sandbox }) => sandbox !== "files" && sandbox !== "offline");
  const others = roles.filter((role) => !isEmbedded(role));
  const runs = programsInside(others, workspace, path)
    .filter(({ role_id }) => free.some((role) => role.role_id !== role_id))
    .map(({ path: file, role_id }) => `${relative(realPath(workspace), file)}, which ${role_id} runs`);
  return runs.length === 0 ? [] : [`Agents of other roles can change ${runs.join("; ")}.`];
}
