import type { FactOf } from "../../kernel/mode.ts";
import { notPermitted } from "../../kernel/step.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Task } from "../../protocol/payload.ts";
import { spentOf } from "./budget.ts";
import { executables } from "./criteria.ts";
import { discussionOf } from "./discussion.ts";
import type { Draft } from "./draft.ts";
import { finishIfAllOver } from "./finish.ts";
import { beginReady, offer, withdraw } from "./offering.ts";
import { checkPlan } from "./plan-check.ts";
import type { Place, RoleEntry, SessionValue, Settings, Ticket } from "./state.ts";
import { digestOf, newTicket } from "./tasks.ts";

export function onSessionOpened(draft: Draft, fact: FactOf<"session_opened">): void {
  if (draft.before.session) {
    draft.refuse(notPermitted("this session has been opened already", "begin another: bosun run"));
    return;
  }
  const config = fact.payload.config;
  const checks = config.checks?.ticket ?? [];
  const discussion = discussionOf(config);
  const settings: Settings = {
    max_retries: config.max_retries,
    retry_backoff_ms: config.retry_backoff_ms,
    max_review_rounds: config.max_review_rounds,
    check_rounds: config.check_rounds,
    max_clarification_rounds: config.max_clarification_rounds,
    max_escalations: config.max_escalations,
    dependency_notice_s: config.dependency_notice_s,
    plan_approval: config.plan_approval,
    confirm: fact.payload.input?.confirm === true,
    review: config.review,
    proposal: config.proposal,
    ...(discussion ? { discussion } : {}),
    checks: executables(checks, fact.sequence, "/config/checks/ticket"),
    ...(config.budget.ticket === undefined ? {} : { ticket_budget: config.budget.ticket }),
  };
  const roles: RoleEntry[] = fact.payload.roles.map((role) => ({
    role_id: role.role_id,
    type: role.type,
    capabilities: role.capabilities ?? [],
  }));
  const session: SessionValue = {
    phase: "planning",
    settings,
    roles,
    clarifications: [],
    notes: [],
    asked: 0,
    ...(fact.payload.input?.plan_given === true ? { plan_given: true } : {}),
  };
  draft.putSession(session);
}

export function onRequirement(draft: Draft, fact: FactOf<"requirement">): void {
  if (draft.session.requirement) {
    draft.refuse(
      notPermitted("this session has its requirement", "say more with bosun tell, or begin another session"),
    );
    return;
  }
  draft.patchSession({ requirement: [fact.sequence, ""] });
  if (!draft.session.plan_given) offer(draft, undefined, "requirement");
}

/**
 * A plan, the manager's or the person's: the first one, one sent back and written again, or a revision while work is under way.
 * It stands in the fact at `pointer`. Returns why it cannot stand; then nothing of it has been taken over.
 */
export function takePlan(draft: Draft, tasks: readonly Task[], pointer: "" | "/plan"): Failure | undefined {
  const wrong = checkPlan(draft, tasks);
  if (wrong) return wrong;
  const sequence = draft.fact.sequence;
  const revised = draft.session.plan !== undefined && draft.session.gate?.first !== true;
  const given = draft.fact.source === "user";
  const gated = !given && draft.session.settings.plan_approval === "ask";
  const placeOf = (index: number): Place => [sequence, `${pointer}/tasks/${index}`];
  draft.replanned = true;
  withdraw(draft, undefined, "a plan was given");
  closeGate(draft);
  if (revised) revise(draft, tasks, placeOf, gated);
  else replaceAll(draft, tasks, placeOf, gated);
  draft.patchSession({ plan: [sequence, pointer], summary: [sequence, `${pointer}/summary`] });
  if (gated && draft.all().some((ticket) => ticket.gated)) {
    openGate(draft, !revised, tasks.length);
    beginReady(draft);
  } else {
    acceptPlan(draft);
  }
  return undefined;
}

/** The plan counts as it stands: what waited for approval is begun. */
export function acceptPlan(draft: Draft): void {
  for (const ticket of draft.all()) if (ticket.gated) draft.patchTicket(ticket.id, { gated: undefined });
  draft.moveSession("plan_accepted");
  armNotice(draft);
  beginReady(draft);
  finishIfAllOver(draft);
}

/** The approval that was waited for, if any, is asked for no longer. */
export function closeGate(draft: Draft): void {
  const { gate } = draft.session;
  if (!gate) return;
  draft.command({ do: "clear_ask", ask_id: gate.ask_id });
  draft.patchSession({ gate: undefined });
}

export function armNotice(draft: Draft): void {
  if (draft.session.notice) return;
  draft.patchSession({ notice: true });
  draft.setTimer("notice", draft.session.settings.dependency_notice_s * 1000, true);
}

function openGate(draft: Draft, first: boolean, tasks: number): void {
  const ask_id = `a${draft.session.asked + 1}`;
  draft.patchSession({ asked: draft.session.asked + 1, gate: { ask_id, subject: "plan", first } });
  draft.moveSession("plan_proposed");
  draft.envelope({
    target: "user",
    payload_type: "approval_request",
    payload: { subject: "plan", ask_id, about: { plan: draft.fact.sequence }, estimate: { tasks } },
  });
  draft.command({ do: "ask", ask_id, kind: "approval", record: draft.fact.sequence });
}

function replaceAll(draft: Draft, tasks: readonly Task[], placeOf: (index: number) => Place, gated: boolean): void {
  for (const { id } of draft.all()) draft.dropTicket(id);
  for (const [index, task] of tasks.entries()) create(draft, task, placeOf(index), gated);
}

/**
 * Takes over a revised plan. Done tasks stand. Absent ones are withdrawn. Changed ones start again, as does the one whose trouble
 * the plan answers. New ones are added. One that was withdrawn counts as new, so that what a person rejected needs approval
 * again.
 */
function revise(draft: Draft, tasks: readonly Task[], placeOf: (index: number) => Place, gated: boolean): void {
  const ids = new Set(tasks.map((task) => task.task_id));
  for (const ticket of draft.all()) {
    // What a plan left out before and is not in error now, a person has taken up again. A plan about another ticket knows nothing of that.
    if (ids.has(ticket.id) || (ticket.unplanned && ticket.id !== draft.fact.subject)) continue;
    draft.patchTicket(ticket.id, { unplanned: true });
    if (ticket.status === "error") continue;
    withdraw(draft, ticket.id, "withdrawn by the revised plan");
    draft.move(ticket.id, "withdrawn", "withdrawn");
  }
  for (const [index, task] of tasks.entries()) {
    const ticket = draft.ticket(task.task_id);
    if (!ticket) {
      create(draft, task, placeOf(index), gated);
    } else if (ticket.status === "error" && ticket.reason === "withdrawn") {
      restart(draft, ticket, task, placeOf(index), gated);
    } else if (ticket.status !== "done" && (ticket.digest !== digestOf(task) || ticket.id === draft.fact.subject)) {
      restart(draft, ticket, task, placeOf(index), gated && ticket.gated === true);
    } else if (ticket.order !== index || ticket.unplanned) {
      draft.patchTicket(ticket.id, { order: index, unplanned: undefined });
    }
  }
}

/** Back to pending along the machine's own arrows, keeping what the ticket has lived through. */
function restart(draft: Draft, ticket: Ticket, task: Task, place: Place, gated: boolean): void {
  withdraw(draft, ticket.id, "the plan was revised");
  draft.stopTime(ticket);
  if (ticket.status === "error") {
    draft.move(ticket.id, "manual_reset", "replanned");
  } else if (ticket.status !== "pending") {
    if (ticket.status !== "blocked") draft.move(ticket.id, "work_stopped", "replanned");
    draft.move(ticket.id, "replanned");
  }
  const { attempt, history, notes, clarifications, since, escalations, allowance } = draft.ticket(ticket.id) ?? ticket;
  const planned = newTicket(draft, task, place);
  draft.putTicket({
    ...planned,
    ...(allowance ? spentOf(planned, allowance) : {}),
    since,
    attempt,
    ...(gated ? { gated } : {}),
    // Else a manager that answers every trouble with a plan would never come to the end of its escalations.
    ...(escalations === undefined ? {} : { escalations }),
    ...(history ? { history } : {}),
    ...(notes ? { notes } : {}),
    ...(clarifications ? { clarifications } : {}),
  });
}

function create(draft: Draft, task: Task, place: Place, gated: boolean): void {
  draft.putTicket({ ...newTicket(draft, task, place), ...(gated ? { gated } : {}) });
  draft.created(task.task_id);
}
