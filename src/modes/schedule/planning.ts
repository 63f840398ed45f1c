import { createHash } from "node:crypto";
import { checkGraph } from "../../kernel/graph.ts";
import type { Fact } from "../../kernel/mode.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { executables, isExecutable } from "./criteria.ts";
import type { Draft } from "./draft.ts";
import { finishIfAllOver } from "./finish.ts";
import type { Place, RoleEntry, SessionValue, Settings, Ticket } from "./state.ts";
import { beginReady } from "./work.ts";

type Task = NonNullable<PayloadByType["plan"]["tasks"]>[number];
type Opened = Extract<Fact, { payload_type: "session_opened" }>;
type Requirement = Extract<Fact, { payload_type: "requirement" }>;

/** Expected outputs that change something others depend on; such a ticket is discussed before it is begun. */
const RISKY_OUTPUT =
  /\b(deploy|deployment|release|publish|migrat\w*|delet\w*|drop|production|credential\w*|payment\w*)\b/i;

export function onSessionOpened(draft: Draft, fact: Opened): void {
  if (draft.before.session) {
    draft.refuse(
      failure("not_permitted", "this session has been opened already", { hint: "begin another: bosun run" }),
    );
    return;
  }
  const config = fact.payload.config;
  const checks = config.checks?.ticket ?? [];
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
    checks: checks.flatMap((criterion, index): Place[] =>
      isExecutable(criterion) ? [[fact.sequence, `/config/checks/ticket/${index}`]] : [],
    ),
  };
  const roles: RoleEntry[] = fact.payload.roles.map((role) => ({
    role_id: role.role_id,
    type: role.type,
    capabilities: role.capabilities ?? [],
  }));
  const session: SessionValue = {
    phase: "planning",
    opened_at: fact.received_at,
    settings,
    roles,
    clarifications: [],
    notes: [],
    asked: 0,
    ...(fact.payload.input?.plan_given === true ? { plan_given: true } : {}),
  };
  draft.putSession(session);
}

export function onRequirement(draft: Draft, fact: Requirement): void {
  if (draft.session.requirement) {
    draft.refuse(
      failure("not_permitted", "this session has its requirement", {
        hint: "say more with bosun tell, or begin another session",
      }),
    );
    return;
  }
  draft.patchSession({ requirement: [fact.sequence, ""] });
  if (!draft.session.plan_given) draft.offer(undefined, "requirement");
}

/**
 * A plan, the manager's or the person's: the first one, one sent back and written again, or a revision while work is under way.
 * Returns why it cannot stand; then nothing of it has been taken over.
 */
export function takePlan(
  draft: Draft,
  tasks: readonly Task[],
  place: { tasks: string; summary: string },
): Failure | undefined {
  const wrong = checkPlan(draft, tasks);
  if (wrong) return wrong;
  const sequence = draft.fact.sequence;
  const revised = draft.session.plan !== undefined && draft.session.gate?.first !== true;
  const given = draft.fact.source === "user";
  const gated = !given && draft.session.settings.plan_approval === "ask";
  const placeOf = (index: number): Place => [sequence, `${place.tasks}/${index}`];
  draft.withdraw(undefined, "a plan was given");
  closeGate(draft);
  if (revised) revise(draft, tasks, placeOf, gated);
  else replaceAll(draft, tasks, placeOf, gated);
  draft.patchSession({ plan: [sequence, place.tasks.slice(0, -"/tasks".length)], summary: [sequence, place.summary] });
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

function checkPlan(draft: Draft, tasks: readonly Task[]): Failure | undefined {
  if (tasks.length === 0) {
    return failure("invalid_plan", "the plan has no tasks", {
      hint: "plan at least one",
      details: { pointer: "/tasks" },
    });
  }
  const graph = checkGraph(tasks.map((task) => ({ id: task.task_id, depends_on: task.dependencies ?? [] })));
  if (!graph.ok) return graph.error;
  const workers = draft.session.roles.filter((role) => role.type === "worker");
  for (const [index, task] of tasks.entries()) {
    const { role_id, capability } = assignment(task);
    const fits = workers.some(
      (role) =>
        (role_id === undefined || role.role_id === role_id) &&
        (capability === undefined || role.capabilities.includes(capability)),
    );
    if (!fits) {
      const wanted = role_id === undefined ? `a worker with the capability "${capability}"` : `the worker "${role_id}"`;
      return failure("invalid_plan", `task "${task.task_id}" is assigned to ${wanted}, which this crew does not have`, {
        hint: `assign it to one of: ${workers.map((role) => role.role_id).join(", ")}`,
        details: { pointer: `/tasks/${index}/assigned_to` },
      });
    }
    const policy = task.review ?? draft.session.settings.review;
    if (policy === "checks" && executablesOf(draft, task, [0, ""]).length === 0) {
      return failure(
        "invalid_plan",
        `task "${task.task_id}" is reviewed by checks, but has no criterion with a command`,
        {
          hint: "give it an acceptance criterion with a command, or another review policy",
          details: { pointer: `/tasks/${index}/acceptance_criteria` },
        },
      );
    }
    const done = draft.ticket(task.task_id);
    if (done?.status === "done" && done.digest !== digestOf(task)) {
      return failure("invalid_plan", `task "${task.task_id}" is done and cannot be changed`, {
        hint: "leave done tasks as they are, and add a new task for what is missing",
        details: { pointer: `/tasks/${index}` },
      });
    }
  }
  const ids = new Set(tasks.map((task) => task.task_id));
  for (const ticket of draft.all()) {
    if (ticket.status === "done" && !ids.has(ticket.id)) {
      return failure("invalid_plan", `task "${ticket.id}" is done, but missing from the revised plan`, {
        hint: "a revision is the whole plan: keep done tasks in it, unchanged",
        details: { pointer: "/tasks" },
      });
    }
  }
  return undefined;
}

function replaceAll(draft: Draft, tasks: readonly Task[], placeOf: (index: number) => Place, gated: boolean): void {
  for (const { id } of draft.all()) draft.dropTicket(id);
  for (const [index, task] of tasks.entries()) create(draft, task, placeOf(index), gated);
}

/**
 * Done tasks stand; absent ones are withdrawn; changed ones start again, and so does the one whose trouble the plan answers; new
 * ones are added. One that was withdrawn counts as new, so that what a person rejected needs approval again.
 */
function revise(draft: Draft, tasks: readonly Task[], placeOf: (index: number) => Place, gated: boolean): void {
  const ids = new Set(tasks.map((task) => task.task_id));
  for (const ticket of draft.all()) {
    if (ids.has(ticket.id) || ticket.status === "error") continue;
    draft.withdraw(ticket.id, "withdrawn by the revised plan");
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
    }
  }
}

/** Back to pending along the machine's own arrows, keeping what the ticket has lived through. */
function restart(draft: Draft, ticket: Ticket, task: Task, place: Place, gated: boolean): void {
  draft.withdraw(ticket.id, "the plan was revised");
  if (ticket.status === "error") {
    draft.move(ticket.id, "manual_reset", "replanned");
  } else if (ticket.status !== "pending") {
    if (ticket.status !== "blocked") draft.move(ticket.id, "work_stopped", "replanned");
    draft.move(ticket.id, "replanned");
  }
  const { attempt, history, notes, clarifications, since, escalations } = draft.ticket(ticket.id) ?? ticket;
  draft.putTicket({
    ...newTicket(draft, task, place),
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

function newTicket(draft: Draft, task: Task, place: Place): Ticket {
  const { settings } = draft.session;
  const criteria = executablesOf(draft, task, place);
  const discuss =
    settings.proposal === "always" ||
    task.proposal_needed === true ||
    (settings.proposal === "risk" &&
      task.proposal_needed !== false &&
      ((task.risks?.length ?? 0) > 0 ||
        (task.expected_outputs ?? []).some((output) => RISKY_OUTPUT.test(text(output)))));
  return {
    id: task.task_id,
    status: "pending",
    since: draft.fact.received_at,
    task: place,
    order: Number(place[1].slice(place[1].lastIndexOf("/") + 1)),
    digest: digestOf(task),
    depends_on: [...new Set(task.dependencies ?? [])],
    seat: { type: "worker", ...assignment(task) },
    review: task.review ?? settings.review,
    attempt: 0,
    ...(discuss ? { discuss } : {}),
    ...(task.instruction ? { instruction: [place[0], `${place[1]}/instruction`] } : {}),
    ...(criteria.length > 0 ? { criteria } : {}),
  };
}

/** Places of a task's executable criteria, those of an instruction given with it, and the configuration's own. */
function executablesOf(draft: Draft, task: Task, place: Place): Place[] {
  const own = executables(task.acceptance_criteria, place[0], `${place[1]}/acceptance_criteria`);
  const instructed = executables(
    task.instruction?.acceptance_criteria,
    place[0],
    `${place[1]}/instruction/acceptance_criteria`,
  );
  return [...draft.session.settings.checks, ...own, ...instructed];
}

function assignment(task: Task): { role_id?: string; capability?: string } {
  const to = task.assigned_to;
  if (!to) return {};
  if ("role_id" in to && to.role_id !== undefined) return { role_id: to.role_id };
  if ("capability" in to && to.capability !== undefined) return { capability: to.capability };
  return {};
}

function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : typeof value === "object" && value !== null && "text" in value
      ? String(value.text)
      : "";
}

/** What the manager may not change of a done task, and what makes a revised one different: all but its `status` echo. */
function digestOf(task: Task): string {
  const { status: _echo, ...planned } = task;
  return createHash("sha256").update(canonicalJson(planned)).digest("hex").slice(0, 16);
}
