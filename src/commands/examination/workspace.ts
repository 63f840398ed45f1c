import { directoryObstacle } from "../../agents/cannot-start.ts";
import { mayEnter } from "../../lib/files.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { SessionRow } from "../../store/store.ts";
import { because, type Finding } from "./finding.ts";

/** Whether programs can be started in a workspace: `usage` if it is missing, `environment` without permission. */
export function workspaceFinding(workspace: string): Finding {
  const name = "workspace";
  const obstacle = directoryObstacle(workspace);
  if (obstacle === undefined) return { name, state: "ok", what: workspace };
  const code = mayEnter(workspace) === "gone" ? "usage" : "environment";
  const hint = `${obstacle.remedy}, or name another with --cwd DIRECTORY.`;
  return because(name, failure(code, `The workspace ${workspace} ${obstacle.why}.`, { hint }));
}

/** Why a session cannot be resumed in its workspace, which cannot be changed: `environment`. */
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
