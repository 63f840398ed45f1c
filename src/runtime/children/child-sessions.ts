import os from "node:os";
import type { Mode } from "../../kernel/mode.ts";
import { err } from "../../lib/result.ts";
import { type Failure, failure, type Fallible, isOfStorage } from "../../protocol/failure.ts";
import type { Parent, Surroundings } from "../assemble.ts";
import type { ChildOrder } from "./child.ts";
import { childWorkspace } from "../copies/copies.ts";
import { createSession } from "../create.ts";
import { resumeSession } from "../resume.ts";
import type { Session } from "../session.ts";

/**
 * Creates or resumes child sessions in this process, with the roles, the configuration and the workspace of their parent. Fails with `usage`
 * for an unknown mode.
 */
export function childSessions(modeOf: (name: string) => Promise<Mode<unknown> | undefined>) {
  return (surroundings: Surroundings, parent: Parent) =>
    async (session_id: string, order: ChildOrder | undefined): Promise<Fallible<Session<unknown>>> => {
      const around = { ...surroundings, parent: parent.lease };
      const found = around.store.session(session_id);
      if (!found.ok && isOfStorage(found.error)) return found;
      // The lookup also matches prefixes, so it may find another session.
      const row = found.ok && found.value.session_id === session_id ? found.value : undefined;
      if (row && row.last_sequence > 0) {
        const mode = await modeOf(row.mode);
        return mode ? resumeSession(around, mode, row, { roles: parent.roles }) : err(noSessionsOf(row.mode));
      }
      if (!order) throw new Error(`the child session ${session_id} was never begun, and no order asks for it`);
      const mode = await modeOf(order.mode);
      if (!mode) return err(noSessionsOf(order.mode));
      const { subject, input, budget } = order;
      const { discussion: _, planning: _p, ...config } = parent.config;
      return createSession(around, mode, {
        session_id,
        requirement: `${order.mode}${subject === undefined ? "" : ` about ${subject}`}, for ${parent.session_id}`,
        input,
        config: { ...config, budget },
        roles: parent.roles,
        workspace: childWorkspace(parent, subject),
        started_by: { user: "scheduler", host: os.hostname(), via: "parent" },
        parent: { session_id: parent.session_id, subject },
        facts: [],
      });
    };
}

function noSessionsOf(mode: string): Failure {
  return failure("usage", `The mode "${mode}" is unknown.`);
}
