import type { Outcome } from "../../kernel/mode.ts";
import { fitting, from } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import { MAX_PAYLOAD_BYTES } from "../../protocol/limits.ts";
import { about } from "../../protocol/recording.ts";
import type { Draft } from "./draft.ts";
import { NOTICE_TIMER } from "./notice.ts";
import { withdraw } from "./offering.ts";
import { isWorthRetrying } from "./presentation.ts";
import { artifactsOf, type QuestionSet, type Ticket } from "./state.ts";

/**
 * Closes the session if this step ended the last ticket that could still be done. The cost depends only on what the step changed. While a plan is
 * being written or approved, the session stays open, since the plan may add work.
 */
export function finishIfOver(draft: Draft): void {
  if (draft.session.phase !== "running") return;
  if (draft.replanned) {
    finishIfAllOver(draft);
    return;
  }
  const { tickets, counts, blockedByError } = draft.before;
  let open = tickets.size - (counts.get("done") ?? 0) - (counts.get("error") ?? 0) - blockedByError.size;
  const newlyBlocked = new Set<string>();
  for (const [id, to] of draft.closed) {
    if (!blockedByError.has(id)) open -= 1;
    if (to !== "error") continue;
    const reached = [...(draft.before.dependents.get(id) ?? [])];
    for (let next = reached.pop(); next !== undefined; next = reached.pop()) {
      const status = draft.ticket(next)?.status;
      if (
        blockedByError.has(next) ||
        newlyBlocked.has(next) ||
        draft.closed.has(next) ||
        status === "error" ||
        status === "done"
      )
        continue;
      newlyBlocked.add(next);
      for (const dependent of draft.before.dependents.get(next) ?? []) reached.push(dependent);
    }
  }
  if (open - newlyBlocked.size === 0) conclude(draft);
}

/** Like `finishIfOver`, for steps that changed the plan: checks every ticket. Returns whether the session is over. */
export function finishIfAllOver(draft: Draft): boolean {
  const { phase, plan, ended } = draft.session;
  const all = draft.all();
  const blocked = blockersOf(all);
  if (phase !== "running" || !(plan || ended) || !all.every((ticket) => isOver(ticket, blocked))) return false;
  conclude(draft);
  return true;
}

function isOver(ticket: Ticket, blocked: ReadonlyMap<string, string>): boolean {
  return ticket.status === "done" || ticket.status === "error" || blocked.has(ticket.id);
}

function conclude(draft: Draft): void {
  const { ended, settings } = draft.session;
  if (ended || !settings.confirm) {
    finish(draft, ended?.outcome, ended?.reason);
    return;
  }
  withdraw(draft, undefined, "every ticket is over");
  const ask_id = `a${draft.session.asked + 1}`;
  draft.patchSession({ asked: draft.session.asked + 1, gate: { ask_id, subject: "result", first: false } });
  draft.moveSession("result_proposed");
  const record = draft.out.envelope({
    target: "user",
    payload_type: "approval_request",
    payload: { subject: "result", ask_id, about: { tickets: fitting(ticketsForReport(draft), MAX_PAYLOAD_BYTES) } },
  });
  draft.out.command({ do: "ask", ask_id, kind: "approval", record });
}

/** Closes the session: withdraws the open tickets with the session's reason, and reports how it ended. */
export function finish(draft: Draft, outcome?: Outcome, reason?: string): void {
  withdraw(draft, undefined, "the session is closing");
  const all = draft.all();
  const blocked = blockersOf(all);
  for (const ticket of all) {
    if (ticket.turn || ticket.waits_for) withdraw(draft, ticket.id, "the session is closing");
    if (!isOver(ticket, blocked) || ticket.gated) draft.move(ticket.id, "withdrawn", reason);
  }
  draft.out.command({ do: "clear_timer", timer_id: NOTICE_TIMER });
  draft.patchSession({ gate: undefined, notice: undefined });
  draft.moveSession("finished");
  const failed = draft.all().some((ticket) => ticket.status !== "done" && ticket.reason !== "withdrawn");
  const ended = outcome ?? (failed ? "failed" : "done");
  const { requirement, plan } = draft.session;
  const why = reason ?? (ended === "failed" ? "tickets_failed" : undefined);
  const how = { outcome: ended, ...defined({ reason: why }) };
  draft.patchSession({ ended: how });
  draft.out.command({
    do: "finish",
    ...how,
    report: {
      requirement: requirement ? from(requirement[0], "/text") : plan ? from(plan[0], `${plan[1]}/summary`) : "",
      tickets: ticketsForReport(draft),
      ...answersForReport(draft),
      next_steps: nextSteps(draft, ended),
    },
  });
}

/** Why a ticket has its status. A pending ticket has no reason of its own, but may wait for one that is blocked or in error. */
function reasonOf({ status, reason }: Ticket, cause: string | undefined): string | undefined {
  return reason ?? (cause !== undefined && status === "pending" ? "waiting_for_dependency" : undefined);
}

/** References to the fields of a record. */
function fieldsOf(sequence: number, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, from(sequence, `/${name}`)]));
}

function ticketsForReport(draft: Draft): Json[] {
  const all = draft.all();
  const blocked = blockersOf(all);
  return all.map((ticket): JsonObject => {
    const cause = blocked.get(ticket.id);
    const { task, checks_passed, spent, owner, report } = ticket;
    return {
      ticket_id: ticket.id,
      task_id: ticket.id,
      description: from(task[0], `${task[1]}/description`),
      status: ticket.status,
      attempts: ticket.attempt,
      reviews: ticket.reviews ?? 0,
      ...defined({ checks_passed, spent, owner, reason: reasonOf(ticket, cause), blocked_by: cause && [cause] }),
      ...(report === undefined ? {} : fieldsOf(report, "summary", "outputs", "issues", "next_actions")),
      artifacts: artifactsOf(ticket).map((artifact) => from(artifact)),
    };
  });
}

/**
 * The questions that a person answered: those about the session, then ticket by ticket in plan order. The order in which tickets asked may differ in
 * a session that was interrupted, and must not change the report.
 */
function answersForReport(draft: Draft): { clarifications?: Json[] } {
  const order = new Map<string | undefined, number>(draft.all().map((ticket, index) => [ticket.id, index]));
  const place = ({ subject }: QuestionSet) => order.get(subject) ?? -1;
  const asked = [...draft.before.questions.values()].toSorted((a, b) => place(a) - place(b) || a.record - b.record);
  const clarifications = asked.flatMap(({ id, record, pointer, subject }) =>
    (draft.questions.get(id)?.answers ?? []).flatMap((answer, index): Json[] =>
      answer === null
        ? []
        : [
            {
              question: from(record, `${pointer}/${index}/text`),
              answer: from(answer[0], answer[1]),
              ...about(subject),
            },
          ],
    ),
  );
  return clarifications.length === 0 ? {} : { clarifications };
}

/**
 * The pending tickets that depend on one in error, directly or not, each with that ticket's id. Iterative, since plans
 * may be long chains.
 */
function blockersOf(all: readonly Ticket[]): Map<string, string> {
  const dependents = new Map<string, Ticket[]>();
  for (const ticket of all) {
    if (ticket.status !== "pending") continue;
    for (const dependency of ticket.depends_on) {
      const list = dependents.get(dependency);
      if (list) list.push(ticket);
      else dependents.set(dependency, [ticket]);
    }
  }
  const blocked = new Map<string, string>();
  for (const cause of all) {
    if (cause.status !== "error") continue;
    const reached = [...(dependents.get(cause.id) ?? [])];
    for (let next = reached.pop(); next; next = reached.pop()) {
      if (blocked.has(next.id)) continue;
      blocked.set(next.id, cause.id);
      for (const dependent of dependents.get(next.id) ?? []) reached.push(dependent);
    }
  }
  return blocked;
}

function nextSteps(draft: Draft, outcome: Outcome): Json[] {
  const all = draft.all();
  const awaited = new Set(blockersOf(all).values());
  const failed = all.filter((ticket) => isWorthRetrying(ticket, awaited.has(ticket.id)));
  const steps = failed.slice(0, 10).flatMap(({ id }) => [`bosun log ${id}`, `bosun retry ${id}`]);
  if (outcome === "done") steps.push("bosun replay --verify");
  return steps.length > 0 ? steps : ["bosun log"];
}
