import { commandLines } from "../../kernel/kit/commands.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json, objectOf } from "../../lib/json.ts";
import { BASELINE } from "../../protocol/criteria.ts";
import type { Failure } from "../../protocol/failure.ts";
import { isHeldOut } from "../../protocol/held-out.ts";
import type { Task } from "../../protocol/payload.ts";
import { announce, asksForCommands, commandsIn, commandsOf, digestsOf, unseen } from "./commands.ts";
import { discussionOf } from "./discussion.ts";
import type { Draft } from "./draft.ts";
import { finishIfAllOver } from "./finish.ts";
import { armNotice } from "./notice.ts";
import { beginReady, offer, withdraw } from "./offering.ts";
import { checkPlan } from "./plan-check.ts";
import { create, isAdding, revise, revisionOf } from "./revising.ts";
import { askPlanners, plannersOf } from "./planners.ts";
import type { Place, Revision, RoleEntry, SessionValue, Settings } from "./state.ts";
import { executables, newTicket, taskAt } from "./tasks.ts";
import { panelOf } from "./panel-review.ts";
import { REVISION } from "./waiting.ts";

export function onSessionOpened(draft: Draft, fact: FactOf<"session_opened">): void {
  if (draft.before.session) return draft.out.forbid("this session has been opened already", "begin another: bosun run");
  const { config, repository } = fact.payload;
  const checks = config.checks?.ticket ?? [];
  const { plan_given, plan_digest, plan_source } = fact.payload.input ?? {};
  const planners = plan_digest === undefined && plan_given !== true ? plannersOf(config) : undefined;
  const settings: Settings = {
    max_retries: config.max_retries,
    max_attempts: config.max_attempts,
    retry_backoff_ms: config.retry_backoff_ms,
    max_review_rounds: config.max_review_rounds,
    check_rounds: config.check_rounds,
    max_clarification_rounds: config.max_clarification_rounds,
    max_escalations: config.max_escalations,
    dependency_notice_s: config.dependency_notice_s,
    plan_approval: config.plan_approval,
    // Earlier versions recorded it with the input.
    confirm: config.confirm === true || fact.payload.input?.confirm === true,
    review: typeof config.review === "string" ? config.review : "panel",
    ...(typeof config.proposal === "string"
      ? { proposal: config.proposal }
      : { proposal: "risk", risk_patterns: config.proposal.patterns }),
    checks: executables(checks, fact.sequence, "/config/checks/ticket"),
    ...defined({
      merge_checks: fact.payload.repository && executables(config.checks?.merge, fact.sequence, "/config/checks/merge"),
      panel: panelOf(config),
      planners,
      discussion: discussionOf(config),
      ticket_budget: config.budget.ticket,
    }),
  };
  const roles: RoleEntry[] = fact.payload.roles.map((role) => ({
    role_id: role.role_id,
    type: role.type,
    capabilities: role.capabilities ?? [],
  }));
  // The playbook manager plays the person's file. Another manager beside it has commands of its own.
  const isPlayed = plan_digest !== undefined && plan_given !== true;
  const managers = roles.filter(({ type }) => type === "manager");
  const ofMerges = settings.merge_checks === undefined ? [] : (config.checks?.merge ?? []);
  const seen = digestsOf(commandsIn([...checks, ...ofMerges]));
  const session: SessionValue = {
    phase: "planning",
    settings,
    ...(seen.length > 0 ? { seen } : {}),
    ...(isPlayed && managers.length === 1 ? { later_commands: "own" } : {}),
    roles,
    clarifications: [],
    notes: [],
    asked: 0,
    ...(plan_given === true ? { plan_given: true } : {}),
    ...(isForeign(plan_source) ? { plan_is_foreign: true } : {}),
    ...defined({ base: repository?.base }),
  };
  draft.open(session);
  const criteria = [...settings.checks, ...(settings.merge_checks ?? [])];
  if (repository && (criteria.length > 0 || config.worktree?.setup !== undefined))
    draft.out.command({
      do: "run_checks",
      check_id: BASELINE,
      criteria: criteria.map(([sequence, pointer]) => from(sequence, pointer)),
      commit: repository.base,
    });
}

/** Whether the plan was made of a list of another program. Earlier versions did not record what a plan was made of. */
function isForeign(plan_source: Json | undefined): boolean {
  return plan_source !== undefined && objectOf(plan_source).format !== "plan_file";
}

export function onRequirement(draft: Draft, fact: FactOf<"requirement">): void {
  if (draft.session.requirement)
    return draft.out.forbid("this session has its requirement", "say more with bosun tell, or begin another session");
  draft.patchSession({ requirement: [fact.sequence, ""] });
  const { plan_given, settings } = draft.session;
  if (settings.planners && settings.max_clarification_rounds === 0) askPlanners(draft);
  else if (!plan_given) offer(draft, undefined, "requirement");
}

/**
 * Adopts a plan from the manager or a person: a first plan, one that was sent back and rewritten, or a revision while work is under way. `pointer` is
 * its place in the fact. Returns why the plan is invalid; nothing has changed then.
 */
export function takePlan(draft: Draft, tasks: readonly Task[], pointer: "" | "/plan"): Failure | undefined {
  const wrong = checkPlan(draft, tasks);
  if (wrong) return wrong;
  const { fact } = draft;
  const { plan: before, gate, settings } = draft.session;
  const plan: Place = [fact.sequence, pointer];
  if (tasks.some(holdsOut)) draft.patchSession({ holds_out: true });
  const isForeign = !before && draft.session.plan_is_foreign === true;
  const asks = (fact.source !== "user" || isForeign) && settings.plan_approval === "ask";
  withdraw(draft, undefined, "a plan was given");
  closeGate(draft);
  if (before && gate?.first !== true) {
    // Must come before `revisionOf`, which restarts a ticket that waits for the revision.
    if (draft.answered?.message === "error") draft.patchHolder(fact.subject, { waits_for: REVISION });
    const revision = revisionOf(draft, tasks, plan);
    const { session } = draft;
    const ofManager = fact.source === "user" ? [] : tasks;
    const commands = ofManager.flatMap((task) => unseen(session, draft.ticket(task.task_id), commandsOf(task)));
    const isAsked = isAdding(draft, revision) || (commands.length > 0 && asksForCommands(draft));
    if (asks && isAsked) {
      openGate(draft, tasks.length, revision, commandLines(commands));
    } else {
      if (commands.length > 0) announce(draft, undefined, commands);
      acceptPlan(draft, revision);
    }
    return undefined;
  }
  replaceAll(draft, tasks, plan, asks);
  draft.patchSession({ plan });
  if (asks) openGate(draft, tasks.length);
  else acceptPlan(draft);
  return undefined;
}

function holdsOut({ acceptance_criteria = [], instruction }: Task): boolean {
  return [...acceptance_criteria, ...(instruction?.acceptance_criteria ?? [])].some(isHeldOut);
}

/** Makes the plan current, with the changes of a revision, and begins the ready tickets. */
export function acceptPlan(draft: Draft, revision?: Revision): void {
  draft.replanned = true;
  if (revision) revise(draft, revision);
  for (const ticket of draft.all()) if (ticket.gated) draft.tickets.patch(ticket.id, { gated: undefined });
  draft.moveSession("plan_accepted");
  armNotice(draft);
  beginReady(draft);
  finishIfAllOver(draft);
}

/** Of a plan with more criteria, the others are not run before there is work. */
const MOST_CRITERIA = 100;

/** Runs on the base what the accepted plan checks, which a person has seen by now: what cannot run is known before there is work. Nobody waits for it. */
export function checkBase(draft: Draft): void {
  const { base: commit, plan: [plan] = [] } = draft.session;
  const places = draft.all().flatMap(({ criteria = [] }) => criteria.filter(([sequence]) => sequence === plan));
  if (commit === undefined || places.length === 0) return;
  const criteria = places.slice(0, MOST_CRITERIA).map(([sequence, pointer]) => from(sequence, pointer));
  draft.out.command({ do: "run_checks", check_id: `${BASELINE}${plan}`, criteria, commit });
}

/** Withdraws the open approval, if any. */
export function closeGate(draft: Draft): void {
  const { gate } = draft.session;
  if (!gate) return;
  draft.out.command({ do: "clear_ask", ask_id: gate.ask_id });
  draft.patchSession({ gate: undefined });
}

/**
 * Asks a person to approve a plan. The tickets of a first plan exist already and wait; a revision changes nothing yet. `commands` are those that a
 * revision adds.
 */
function openGate(draft: Draft, tasks: number, revision?: Revision, commands: readonly string[] = []): void {
  const ask_id = `a${draft.session.asked + 1}`;
  const gate = { ask_id, subject: "plan", first: !revision, ...(revision ? { revision } : {}) } as const;
  draft.patchSession({ asked: draft.session.asked + 1, gate });
  draft.moveSession("plan_proposed");
  const about = { plan: draft.fact.sequence, ...(commands.length > 0 ? { commands: [...commands] } : {}) };
  const { baseline } = draft.session;
  const record = draft.out.envelope({
    target: "user",
    payload_type: "approval_request",
    payload: {
      subject: "plan",
      ask_id,
      about,
      estimate: { tasks },
      ...(baseline === undefined ? {} : { baseline: from(baseline, "/results") }),
    },
  });
  draft.out.command({ do: "ask", ask_id, kind: "approval", record });
}

function replaceAll(draft: Draft, tasks: readonly Task[], plan: Place, gated: boolean): void {
  for (const { id } of draft.all()) draft.tickets.drop(id);
  for (const [index, task] of tasks.entries()) {
    create(draft, { ...newTicket(draft, task, taskAt(plan, index)), ...(gated ? { gated } : {}) });
  }
}
