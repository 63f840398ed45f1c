import { spentOf } from "../model/model.ts";
import { outcomeOf, ticketsOf } from "./figures.ts";
import type { SessionReport } from "./report-model.ts";

/** The object that SPEC.md promises for `bosun report --json`. It does not include the messages: `bosun replay --json` has them. */
export function reportObject(report: SessionReport): object {
  const { session, from, to, recoveries, turns, work, checks, asked, result, unreadable, proof } = report;
  const { session_id, mode, version, requirement, workspace, roles } = session;
  return {
    session_id,
    mode,
    version,
    requirement,
    workspace,
    outcome: outcomeOf(report).text,
    began_at: from,
    last_at: to,
    recoveries,
    usage: spentOf(session.spend),
    roles: [...roles.values()].map(({ spend, ...role }) => ({ ...role, usage: spentOf(spend) })),
    tickets: ticketsOf(session).map((ticket) => {
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
        states: ticket.moves,
      };
    }),
    turns,
    checks,
    asked,
    result,
    unreadable,
    verification: proof,
  };
}
