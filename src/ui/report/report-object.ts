import { spentOf } from "../../runtime/usage.ts";
import { stateOf } from "../model/model.ts";
import { ticketsOf } from "./figures.ts";
import type { SessionReport } from "./report-model.ts";

/**
 * The object that SPEC.md promises for `bosun report --json`, except for the verification and the files. It does not include the messages:
 * `bosun replay --json` has them.
 */
export function reportObject(report: SessionReport): object {
  const { session, from, to, recoveries, turns, work, checks, asked, notes, result, unreadable } = report;
  const { session_id, mode, version, requirement, workspace, roles, closed, stopped } = session;
  return {
    session_id,
    mode,
    version,
    requirement,
    workspace,
    state: closed === undefined ? stateOf(session) : "closed",
    outcome: closed?.outcome,
    reason: (closed ?? stopped)?.reason,
    created_at: from,
    updated_at: to,
    recoveries,
    usage: spentOf(session.spend),
    roles: [...roles.values()].map(({ spend, ...role }) => ({ ...role, usage: spentOf(spend) })),
    tickets: ticketsOf(report).map((ticket) => {
      const { id, status, reason, title, owner, attempt, depends_on, begun, since, spend, reviews, artifacts } = ticket;
      const { summary, outputs, issues } = work.get(id) ?? {};
      return {
        ticket_id: id,
        description: title,
        status,
        reason,
        owner,
        attempts: attempt,
        dependencies: depends_on,
        began_at: begun,
        since,
        usage: spentOf(spend),
        summary,
        outputs,
        issues,
        reviews,
        artifacts,
        changed_files: session.changes.get(id),
        states: ticket.moves,
      };
    }),
    turns,
    checks,
    asked,
    notes,
    result,
    unreadable,
  };
}
