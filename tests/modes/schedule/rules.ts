import type { Advance } from "../../../src/kernel/engine.ts";
import type { Ledger } from "../../../src/kernel/ledger.ts";
import { type Lookup, resolve } from "../../../src/kernel/references.ts";
import { commandsIn, digestsOf } from "../../../src/modes/schedule/commands.ts";
import { type Place, planOrder, type ScheduleState, type Ticket } from "../../../src/modes/schedule/state.ts";
import { digestOf } from "../../../src/modes/schedule/tasks.ts";
import { BASELINE } from "../../../src/protocol/criteria.ts";
import { type TicketEvent, type TicketStatus, ticketLifecycle } from "../../../src/modes/schedule/ticket.machine.ts";
import { overlap } from "../../../src/protocol/write-scopes.ts";
import type { CriterionObject, Task } from "../../../src/protocol/payload.ts";
import { holds, type ModeRules, same } from "../invariants.ts";

/** What must hold for a schedule session after each fact, whatever the fact. */
export const SCHEDULE_RULES: ModeRules<ScheduleState> = {
  created: ["created", ticketLifecycle.initial],
  next: (from, event) => ticketLifecycle.next(from as TicketStatus, event as TicketEvent),
  check({ state, ledger, lookup, advance }) {
    if (!state.session) return;
    checkIndexes(state);
    checkHolders(state, ledger);
    checkPlan(state, lookup);
    checkLimits(state);
    checkEvidence(state, advance);
    checkCommands(state, lookup, advance);
    checkProgress(state, ledger);
  },
};

/** The tickets are exactly the tasks of the current plan, in its order, and tickets that an earlier plan left behind. */
function checkPlan({ session, tickets }: ScheduleState, lookup: Lookup): void {
  if (!session?.plan) return;
  const planned = tasksAt(lookup, session.plan).map((task, order) => [task.task_id, order, digestOf(task)]);
  const kept = [...tickets.values()].filter(({ unplanned }) => !unplanned).toSorted(planOrder);
  same(
    kept.map(({ id, order, digest }) => [id, order, digest]),
    planned,
    "the tickets of the current plan",
  );
}

/** Nothing runs that nobody was shown: the commands of checks are those of the plan, or were put on record. */
function checkCommands({ session, tickets }: ScheduleState, lookup: Lookup, { step }: Advance): void {
  for (const command of step.commands) {
    if (command.do !== "run_checks" || session?.later_commands === "own") continue;
    const criteria = resolve(command.criteria, lookup) as unknown as CriterionObject[];
    const { subject } = command;
    const about = [...tickets.values()].filter(({ id }) => subject === undefined || id === subject);
    const seen = [...(session?.seen ?? []), ...about.flatMap((ticket) => ticket.seen ?? [])];
    const unseen = digestsOf(commandsIn(criteria)).filter((digest) => !seen.includes(digest));
    same(unseen, [], `the commands of ${command.subject} that nobody was shown`);
  }
}

/** Nothing is lost: each ticket is over or something will move it, and a running session still has something to do. */
function checkProgress(state: ScheduleState, ledger: Ledger): void {
  const { session, tickets } = state;
  if (!session) return;
  if (session.phase === "closed") {
    for (const ticket of tickets.values()) {
      holds(isOver(state, ticket), `the session is closed, but ${ticket.id} is ${ticket.status}`);
    }
    return;
  }
  // A session that was just reopened waits for the command that it was reopened for.
  if (session.ended || (!session.plan && (session.plan_given || !session.requirement))) return;
  for (const ticket of tickets.values()) {
    const isHeldBack = [...tickets.values()].some(
      (other) => other.id !== ticket.id && isWorkedOn(other) && overlap(ticket.writes, other.writes),
    );
    const isBlocked =
      ticket.status === "pending" && (ticket.gated || (state.unmet.get(ticket.id) ?? 0) > 0 || isHeldBack);
    const willMove = ticket.turn !== undefined || ticket.waits_for !== undefined || isBlocked;
    holds(willMove || isOver(state, ticket), `nothing will move ${ticket.id}, which is ${ticket.status}`);
    const gate = ticket.gated ? session.gate : ticket.waits_for !== "revision" || session.gate?.revision;
    holds(gate, `${ticket.id} waits for an approval that nobody is asked for`);
  }
  const isStopped = session.phase === "stopped" || session.phase === "waiting" || ledger.figures.stopping === true;
  const { turns, asks, children, timers } = ledger;
  const alarms = [...timers.values()].filter((timer) => !timer.passive);
  const open = turns.size + asks.size + checksOf(ledger).length + children.size + alarms.length;
  holds(open > 0 || isStopped, `nothing is open, but the session is ${session.phase}`);
  const isAllOver = [...tickets.values()].every((ticket) => isOver(state, ticket));
  holds(!(session.phase === "running" && isAllOver), "every ticket is over, but the session is running");
}

/** Without those of the base, for which nobody waits. */
function checksOf({ checks }: Ledger): string[] {
  return [...checks.keys()].filter((id) => !id.startsWith(BASELINE));
}

function isWorkedOn({ status, turn, waits_for }: Ticket): boolean {
  if (status === "done" || status === "error") return false;
  return status !== "pending" || (turn ?? waits_for) !== undefined;
}

/** The tasks of a plan: those of a plan that a person edited stand in the approval. */
export function tasksAt(lookup: Lookup, [sequence, pointer]: Place): readonly Task[] {
  const { payload } = lookup.record(sequence);
  return ((pointer === "/plan" ? payload["plan"] : payload) as { tasks: Task[] }).tasks;
}

function isOver(state: ScheduleState, ticket: Ticket): boolean {
  return ticket.status === "done" || ticket.status === "error" || state.blockedByError.has(ticket.id);
}

/** The indexes equal the simplest count. */
function checkIndexes(state: ScheduleState): void {
  const { tickets } = state;
  const blockedByError = new Set<string>();
  for (let grown = -1; grown !== blockedByError.size; ) {
    grown = blockedByError.size;
    for (const { id, status, depends_on } of tickets.values()) {
      const isBlocked = depends_on.some((one) => tickets.get(one)?.status === "error" || blockedByError.has(one));
      if (isBlocked && status !== "error" && status !== "done") blockedByError.add(id);
    }
  }
  same([...state.blockedByError].sort(), [...blockedByError].sort(), "the tickets that wait for one in error");
  for (const ticket of tickets.values()) {
    const unmet = ticket.depends_on.filter((one) => tickets.get(one)?.status !== "done").length;
    same(state.unmet.get(ticket.id), unmet, `the unmet dependencies of ${ticket.id}`);
  }
}

/** What a ticket can wait for that is not in the ledger. */
const NOT_IN_LEDGER = new Set(["resume", "revision"]);

/** The turns, timers, questions, checks and child sessions that tickets hold are exactly those in the ledger. */
function checkHolders(state: ScheduleState, ledger: Ledger): void {
  const { session } = state;
  if (!session) return;
  const turns: string[] = [];
  const waits: string[] = [];
  const holders = [
    { subject: undefined, holder: session },
    ...[...state.tickets.values()].map((ticket) => ({ subject: ticket.id, holder: ticket })),
  ];
  for (const { subject, holder } of holders) {
    if (holder.turn) turns.push(`${holder.turn.turn_id} ${subject}`);
    if (holder.waits_for !== undefined && !NOT_IN_LEDGER.has(holder.waits_for)) waits.push(holder.waits_for);
    holds(!holder.turn || !holder.waits_for, `${subject ?? "the session"} holds a turn and waits`);
  }
  if (session.gate && session.phase === "approving") waits.push(session.gate.ask_id);
  same(
    turns.sort(),
    [...ledger.turns.values()].map((turn) => `${turn.turn_id} ${turn.subject}`).sort(),
    "the turns in the ledger",
  );
  const alarms = [...ledger.timers].flatMap(([id, timer]) => (timer.passive ? [] : [id]));
  // A stop does not take a question back.
  const resting = session.phase === "stopped" || session.phase === "waiting";
  // A permission is awaited by the program of a turn.
  const asks = [...ledger.asks.keys()].filter(
    (id) =>
      !ledger.asks.get(id)?.permission &&
      !(resting && id === session.gate?.ask_id) &&
      ledger.turns.get(id)?.status !== "asked",
  );
  const children = [...ledger.children.values()];
  // A withdrawn child session is awaited until it ends, or not at all.
  const broken = children.filter(({ child, status }) => status === "withdrawn" && !waits.includes(`s${child}`));
  const awaited = children.filter((child) => !broken.includes(child)).map(({ child }) => `s${child}`);
  same(
    waits.sort(),
    [...alarms, ...asks, ...checksOf(ledger), ...awaited].sort(),
    "what the ledger has for the mode to wait for",
  );
  const unanswered = [...state.questions.values()].filter((set) => !set.closed).map((set) => set.id);
  same(
    unanswered.sort(),
    waits.filter((id) => state.questions.has(id)).sort(),
    "the open question sets that a ticket waits for",
  );
}

function checkLimits(state: ScheduleState): void {
  const settings = state.session?.settings;
  if (!settings) return;
  for (const ticket of state.tickets.values()) {
    const { retries = 0, escalations = 0, check_rounds = 0, review_rounds = 0 } = ticket;
    const { max_attempts = 6 } = settings;
    const attempts = ticket.attempt - (ticket.attempts_before ?? 0);
    holds(attempts <= max_attempts, `${ticket.id}: ${attempts} attempts`);
    holds(retries <= settings.max_retries, `${ticket.id}: ${retries} retries`);
    holds(escalations <= settings.max_escalations, `${ticket.id}: ${escalations} escalations`);
    holds(check_rounds <= settings.check_rounds, `${ticket.id}: ${check_rounds} check rounds`);
    holds(review_rounds <= settings.max_review_rounds, `${ticket.id}: ${review_rounds} review rounds`);
  }
}

/** No ticket is done unless its executable criteria passed. */
function checkEvidence(state: ScheduleState, { step }: Advance): void {
  for (const { subject, to } of step.effects) {
    const ticket = state.tickets.get(subject);
    const unproved = to === "done" && (ticket?.criteria?.length ?? 0) > 0 && ticket?.checks_passed !== true;
    holds(!unproved, `${subject} is done without its checks having passed`);
  }
}
