import { defined } from "../lib/json.ts";
import { changesAfter } from "./changes.ts";
import { askForChild, isLateOfChild, onChild } from "./children.ts";
import { chosenBy, keepConversation, withConversation } from "./conversations.ts";
import { onDoubtAnswered } from "./doubts.ts";
import { cutShort, endsTurn, figuresAfter, figuresLate, isCutOff, withUnknown } from "./figures.ts";
import { endOutage, hold, isHold, isHoldTimer, lift, liftUnending, takesTurn, termsOf } from "./holds.ts";
import { watchQuota } from "./quota.ts";
import { countsTime, goOnWithTime, limitRoles, stopTime } from "./role-limits.ts";
import { type Ledger, offeredAgain, put, turnOf } from "./ledger.ts";
import {
  isPermissionRequest,
  keepDecision,
  onPermissionAsked,
  onPermissionDecided,
  withdrawPermissions,
} from "./permissions.ts";
import { StepSpends } from "./spends.ts";
import { failedOfSleep, onSleep, repeatAfterSleep } from "./sleep.ts";
import type { Change, Command, Fact, FactOf, Step } from "./mode.ts";
import { NOTHING, patched } from "./step.ts";

/** Whether a fact is late: the run, timer, checks or child that it is about is not open, or the session is closed. */
export function isLate(ledger: Ledger, fact: Fact): boolean {
  if (fact.turn && fact.payload_type !== "turn_request") {
    const turn = turnOf(ledger, fact);
    if (turn?.run !== fact.turn.run || turn.status === "offered") return true;
    return turn.status === "asked" && fact.payload_type !== "turn_failed";
  }
  if (fact.payload_type === "timer_fired") return !ledger.timers.has(fact.payload.timer_id);
  if (fact.payload_type === "check_result" || fact.payload_type === "merge_begun")
    return !ledger.checks.has(fact.payload.check_id);
  if (isLateOfChild(ledger, fact)) return true;
  return ledger.figures.closed !== undefined && fact.payload_type !== "session_reopened";
}

/** Returns the step for a fact that the engine handles itself. Undefined for all other facts, which the mode decides. */
export function ownStep(ledger: Ledger, fact: Fact): Step | undefined {
  switch (fact.payload_type) {
    case "time_shifted":
    case "merge_begun":
      return NOTHING;
    case "turn_failed":
    case "error":
      return isHold(fact) || failedOfSleep(ledger, fact) || isCutOff(fact) ? NOTHING : undefined;
    case "timer_fired":
      return isHoldTimer(fact.payload.timer_id) ? NOTHING : undefined;
    case "clarification_response":
      return onDoubtAnswered(ledger, fact);
    case "approval_request":
      return isPermissionRequest(fact) ? onPermissionAsked(ledger, fact) : undefined;
    case "approval":
      return onPermissionDecided(ledger, fact);
    default:
      return undefined;
  }
}

/** Returns the ledger's changes for a late fact: it changes no state, but its usage counts. */
export function accountLate(ledger: Ledger, fact: Fact): Change[] {
  const after = figuresLate(ledger, fact);
  const changes: Change[] = after === ledger.figures ? [] : [put("figures", "figures", after)];
  watchQuota(ledger, fact, ledger.figures.closed !== undefined, changes);
  const spends = new StepSpends(ledger);
  spends.late(fact);
  spends.write(changes);
  keepChanges(ledger, fact, changes);
  return changes;
}

/** Returns the ledger's changes for a fact and the commands of its step. */
export function account(ledger: Ledger, fact: Fact, commands: readonly Command[]): Change[] {
  const changes: Change[] = [];
  let figures = figuresAfter(ledger, fact, commands);
  if (fact.payload_type === "turn_request") openTurn(ledger, fact, changes);
  else if (isHold(fact)) hold(ledger, fact, changes);
  else if (failedOfSleep(ledger, fact)) repeatAfterSleep(ledger, fact, changes);
  else if (isCutOff(fact)) markTold(ledger, fact, changes);
  else if (endsTurn(fact) && fact.turn) {
    keepConversation(ledger, fact, changes);
    endOutage(ledger, fact.turn.turn_id, changes);
    changes.push({ drop: "turn", id: fact.turn.turn_id });
  }
  if (fact.payload_type === "timer_fired") changes.push({ drop: "timer", id: fact.payload.timer_id });
  if (fact.payload_type === "check_result") changes.push({ drop: "check", id: fact.payload.check_id });
  onChild(ledger, fact, changes);
  if (fact.payload_type === "session_recovered") {
    for (const { turn_id, run, conversation } of fact.payload.turns) {
      const turn = ledger.turns.get(turn_id);
      if (!turn) continue;
      const recoveries = (turn.recoveries ?? 0) + (fact.payload.graceful ? 0 : 1);
      changes.push(put("turn", turn_id, { ...offeredAgain(turn), run, recoveries, ...defined({ conversation }) }));
    }
    for (const turn_id of fact.payload.asked ?? []) {
      const turn = ledger.turns.get(turn_id);
      if (turn) changes.push(put("turn", turn_id, { ...turn, status: "asked" }));
    }
    liftUnending(ledger, fact.received_at, changes);
  }
  if (fact.payload_type === "time_shifted") onSleep(ledger, fact, changes);
  if (fact.payload_type === "session_opened") changes.push(put("terms", "terms", termsOf(fact)));
  if (fact.payload_type === "user_command" && fact.payload.command === "release" && fact.payload.role_id) {
    lift(ledger, fact.payload.role_id, changes);
  }
  keepDecision(ledger, fact, changes);
  for (const command of commands) accountCommand(ledger, fact, command, changes);
  withdrawPermissions(ledger, changes);
  limitRoles(ledger, fact, figures.closed !== undefined, changes);
  watchQuota(ledger, fact, figures.closed !== undefined, changes);
  const cut = cutShort(ledger, fact, changes);
  figures = withUnknown(figures, cut.length, cut.filter(({ role_id }) => role_id !== undefined).length);
  countSpends(ledger, fact, cut, changes);
  keepChanges(ledger, fact, changes);
  if (figures !== ledger.figures) changes.push(put("figures", "figures", figures));
  return changes;
}

/** Adds the files that a turn or a person changed to those of the subject. */
function keepChanges(ledger: Ledger, { turn, subject: named, changed_files }: Fact, changes: Change[]): void {
  const about = turn?.subject ?? named;
  if (about === undefined || changed_files === undefined) return;
  const after = changesAfter(ledger.changes, about, changed_files);
  for (const [subject, changed] of after) changes.push(put("change", subject, changed));
}

/** Adds what the step spends, by role and by subject. */
function countSpends(ledger: Ledger, fact: Fact, cut: ReturnType<typeof cutShort>, changes: Change[]): void {
  const spends = new StepSpends(ledger);
  // The run of an in-doubt turn was counted when it was cut short.
  if (endsTurn(fact) && turnOf(ledger, fact)?.status !== "asked") spends.ended(fact);
  if (fact.payload_type === "session_finished") spends.child(fact.payload);
  spends.cut(cut);
  spends.write(changes);
}

/** Marks the usage of a run that a stop cut off as reported. The turn stays open: a resume gives it again. */
function markTold(ledger: Ledger, fact: Fact, changes: Change[]): void {
  const turn = turnOf(ledger, fact);
  if (turn) changes.push(put("turn", turn.turn_id, { ...withConversation(turn, fact), told: true }));
}

function accountCommand(ledger: Ledger, fact: Fact, command: Command, changes: Change[]): void {
  switch (command.do) {
    case "offer_turn": {
      const { do: _, ...turn } = command;
      changes.push(put("turn", turn.turn_id, { ...turn, run: 1, status: "offered" }));
      return;
    }
    case "withdraw_turn":
      changes.push({ drop: "turn", id: command.turn_id });
      if (ledger.asks.has(command.turn_id)) changes.push({ drop: "ask", id: command.turn_id });
      return;
    case "repeat_turn": {
      const turn = ledger.turns.get(command.turn_id);
      if (turn) changes.push(put("turn", turn.turn_id, offeredAgain(turn)));
      return;
    }
    case "ask": {
      const { do: _, ...ask } = command;
      changes.push(put("ask", ask.ask_id, ask));
      return stopTime(ledger, fact, ask, changes);
    }
    case "clear_ask":
      changes.push({ drop: "ask", id: command.ask_id });
      return goOnWithTime(ledger, fact, command.ask_id, changes);
    case "set_timer": {
      const { do: _, timer_id, ...timer } = command;
      changes.push(put("timer", timer_id, timer));
      return;
    }
    case "clear_timer":
      changes.push({ drop: "timer", id: command.timer_id });
      return;
    case "run_checks": {
      const { do: _, ...checks } = command;
      changes.push(put("check", checks.check_id, checks));
      return;
    }
    case "drop_checks":
      changes.push({ drop: "check", id: command.check_id });
      return;
    case "open_session":
    case "withdraw_session":
      return askForChild(ledger, command, changes);
    case "finish":
      for (const id of ledger.turns.keys()) if (id !== fact.turn?.turn_id) changes.push({ drop: "turn", id });
      for (const id of ledger.timers.keys()) changes.push({ drop: "timer", id });
      for (const id of ledger.asks.keys()) changes.push({ drop: "ask", id });
      for (const id of ledger.checks.keys()) changes.push({ drop: "check", id });
      for (const id of ledger.children.keys()) changes.push({ drop: "child", id });
      for (const id of ledger.holds.keys()) changes.push({ drop: "hold", id });
      return;
    case "stop_session":
    case "fail_turn":
    case "permit":
      // The figures follow a stop; what the others lead to is a fact of its own.
      return;
  }
}

function openTurn(ledger: Ledger, fact: FactOf<"turn_request">, changes: Change[]): void {
  const turn = turnOf(ledger, fact);
  if (!turn) return;
  const { role_id, conversation } = fact.payload;
  const opened = patched(turn, {
    status: "open",
    role_id,
    run: fact.turn?.run ?? turn.run,
    since: fact.received_at,
    begun: countsTime(ledger, role_id) ? fact.received_at : undefined,
    alone: conversation?.how === "alone" || turn.alone ? true : undefined,
    // Another role cannot continue the conversation.
    conversation: turn.role_id === role_id ? turn.conversation : undefined,
    chosen: chosenBy(fact),
    waits: undefined,
    slept: undefined,
    told: undefined,
  });
  changes.push(put("turn", turn.turn_id, opened));
  takesTurn(ledger, role_id, fact.received_at, changes);
}
