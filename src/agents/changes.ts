import type { Agent } from "../kernel/agent.ts";
import { listedChanges } from "../kernel/changes.ts";
import { permissionsOf } from "../protocol/roles.ts";
import { changesBetween, type Look, lookAt } from "./workspace-look.ts";

/** Tells at the end of each turn that may write which files of its workspace changed meanwhile, except in the `ignored` places. */
export function tellingChanges(environment: NodeJS.ProcessEnv, ignored: readonly string[]): (agent: Agent) => Agent {
  const running = new Set<{ readonly workspace: string; readonly subject: string; readonly beside: Set<string> }>();
  return (agent) => ({
    turn: async (request, context) => {
      const { workspace } = request.payload;
      const look = (earlier?: Look) => lookAt(workspace, environment, ignored, earlier);
      const before = permissionsOf(request.role).write === "none" ? undefined : await look();
      if (before === undefined) return agent.turn(request, context);
      const own = { workspace, subject: request.stamp.subject ?? request.role.role_id, beside: new Set<string>() };
      for (const other of running) {
        if (other.workspace !== workspace || other.subject === own.subject) continue;
        other.beside.add(own.subject);
        own.beside.add(other.subject);
      }
      running.add(own);
      const result = await agent.turn(request, context);
      const now = await look(before);
      running.delete(own);
      const changes = now === undefined ? [] : changesBetween(before, now);
      return changes.length === 0 ? result : { ...result, changed_files: listedChanges(changes, own.beside) };
    },
  });
}
