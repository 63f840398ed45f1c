import { expect } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Place } from "../../../src/modes/schedule/state.ts";
import type { PayloadType } from "../../../src/protocol/payload.ts";
import { tasksAt } from "./rules.ts";
import { about, CREW, runs, type ScheduleSession, task } from "./session.ts";

/** A random event. What it is about is picked when it happens. */
export interface Happening {
  readonly what: number;
  readonly which: number;
  readonly how: number;
  readonly tasks: readonly RandomTask[];
}

export interface RandomTask {
  readonly on: readonly number[];
  readonly kind: number;
}

const IDS = ["a", "b", "c", "d", "e"];

/** The workers share an account, and have limits of their own, which the kit ignores when it admits turns. */
export const ROLES = CREW.map((role) => ({
  ...role,
  ...(role.type === "worker" ? { account: "acme" } : {}),
  ...(role.role_id === "hand" ? { budget: { turns: 3, wall_s: 9 } } : {}),
  ...(role.role_id === "eye" ? { rate_limit: { turns_per_minute: 2 } } : {}),
}));

/** A plan whose tasks mostly depend on earlier ones. Some depend on any task, so the plan may be invalid. */
export function tasksOf(tasks: readonly RandomTask[]) {
  return tasks.map(({ on, kind }, index) => {
    const dependencies = on
      .map((one) => IDS[kind === 9 ? one : index === 0 ? 99 : one % index])
      .filter((id) => id !== undefined);
    return task(IDS[index] ?? "z", {
      ...(dependencies.length > 0 ? { dependencies } : {}),
      ...(kind === 1 ? { risks: ["may break"] } : {}),
      ...(kind === 2 ? { review: "user" } : {}),
      ...(kind === 3 ? { review: "checks" } : {}),
      ...(kind === 3 || kind === 4 ? { acceptance_criteria: [runs("true")] } : {}),
      ...(kind === 5 ? { instruction: { summary: "Do so", acceptance_criteria: [runs("false")] } } : {}),
      ...(kind === 6 ? { description: "Do it differently" } : {}),
      ...(kind > 9 && kind < 14 ? { budget: { turns: kind - 8 } } : {}),
      ...(kind === 14 || kind === 15 ? { budget: { wall_s: kind - 11 } } : {}),
      ...(kind > 29 ? { writes: kind % 2 ? ["src/**"] : ["src/a.ts"] } : {}),
      ...(kind === 7 ? { assigned_to: { role_id: "nobody" } } : {}),
    });
  });
}

function pick<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}

/** An agent's answer: mostly a helpful one, now and then any. */
function answer(message: string, how: number, tasks: readonly RandomTask[]): [PayloadType, JsonObject] {
  const question = { question_id: "q", text: "What?" };
  const criteria = how % 4 === 0 ? [runs(how % 8 === 0 ? "true" : "false")] : [];
  const instruction: JsonObject = { summary: "So", acceptance_criteria: criteria };
  const plan: JsonObject = { tasks: tasksOf(tasks) };
  const all: [PayloadType, JsonObject][] = [
    ["plan", plan],
    ["instruction", instruction],
    ["instruction_proposal", { summary: "Perhaps so" }],
    ["report", { status: "completed" }],
    ["report", { status: "proposal" }],
    ["report", { status: "blocked" }],
    ["report", { status: "blocked", questions: [question] }],
    ["report", { status: "error" }],
    ["review", { decision: "approved" }],
    ["review", { decision: "changes_requested" }],
    ["clarification", { questions: [question], status: "open" }],
    ["clarification", { questions: [question, question], status: "open" }],
    ["clarification", { questions: [], status: "complete" }],
    ["error", { code: "agent_failed", message: "I cannot" }],
  ];
  const helpful: Record<string, [PayloadType, JsonObject]> = {
    requirement: ["plan", plan],
    clarification_response: ["plan", plan],
    ticket: how % 3 === 0 ? ["instruction_proposal", { summary: "Perhaps so" }] : ["instruction", instruction],
    instruction_proposal: ["report", { status: "proposal" }],
    report: ["instruction", instruction],
    instruction: ["report", { status: "completed" }],
    review_request: ["review", { decision: how % 5 === 0 ? "changes_requested" : "approved" }],
    error: how % 3 === 0 ? ["plan", plan] : ["instruction", instruction],
  };
  return (how < 70 ? helpful[message] : undefined) ?? pick(all, how) ?? ["plan", plan];
}

/** A person sends something at any time. */
function personSays(session: ScheduleSession, { which, how, tasks }: Happening): void {
  const ticket = pick([...session.state.tickets.keys()], which);
  const decision = pick(["approved", "changes_requested", "rejected"] as const, how) ?? "approved";
  const about = ticket === undefined ? {} : { ticket_id: ticket };
  const words = [
    () => session.command("cancel", ticket),
    () => session.command("retry", ticket),
    () => session.command("retry", ticket),
    () => session.command("tell", ticket, { text: "Mind the gap" }),
    () => session.send("plan", { tasks: tasksOf(tasks) }),
    () => session.send("approval", { decision }),
    () => session.answerQuestions(how % 2 ? { q: "So" } : {}, how % 3 ? "answered" : "complete"),
    () => session.send("review", { decision: how % 2 ? "approved" : "changes_requested", ...about }),
    () => session.requirement("Another"),
    () => session.command("release", undefined, { role_id: "eye" }),
    () => (how < 30 ? session.command("cancel") : session.command("pause")),
    ...("repository" in session.opening ? [() => session.give(ticket), () => session.give(ticket)] : []),
  ];
  pick(words, which)?.();
}

/** Ends something that waits for a person, a timer, checks or a child session. */
function waitEnds(session: ScheduleSession, { which, how, tasks }: Happening): void {
  const { timers, asks, checks, children } = session.engine.ledger;
  const waits = [
    ...[...children.values()].map((child) => () => {
      const budget = how % 2 ? { turns: 1 } : {};
      return child.status === "offered"
        ? session.beginChild(budget, child)
        : session.finishChild({ outcome: how % 3 ? "done" : "failed" }, child);
    }),
    ...[...timers.keys()].map((id) => () => session.fireTimer(id)),
    ...[...checks.values()].map(
      (check) => () =>
        check.merge && how % 5 === 0
          ? session.finishMerge(check.subject ?? "", "conflict")
          : session.finishChecks(check.subject ?? "", true, how % 4 > 0),
    ),
    ...[...asks.values()].map((ask) => () => {
      if (session.engine.ledger.turns.has(ask.ask_id))
        return session.answerQuestions({ [`${ask.ask_id}.again`]: how % 2 ? "repeat" : "give up" });
      if (ask.kind === "questions")
        return session.answerQuestions({ [`${ask.ask_id}.q`]: "So" }, how % 4 === 2 ? "complete" : "answered");
      if (ask.kind === "review")
        return session.send("review", { decision: how % 3 ? "approved" : "changes_requested", ticket_id: ask.subject });
      const decision = how < 60 ? "approved" : (pick(["changes_requested", "rejected"] as const, how) ?? "approved");
      if (ask.kind === "permission") {
        const scope = how % 2 ? "session" : "once";
        return session.send("approval", { decision, ask_id: ask.ask_id, scope });
      }
      const more = how % 5 === 0 ? { ask_id: ask.ask_id, notes: "Mind the gap", scope: "session" } : {};
      const plan = how % 7 === 0 ? { plan: { tasks: tasksOf(tasks) } } : {};
      return session.send("approval", { decision, ...more, ...plan });
    }),
  ];
  pick(waits, which)?.();
}

/** A manager that sends the plan that it is shown, with one task more, is never refused. */
function repeats(session: ScheduleSession, subject: string | undefined, which: number): void {
  const { plan_file } = session.draft(subject).context as { plan_file?: { $file: Place } };
  if (!plan_file) return;
  const tasks = tasksAt(session.lookup, plan_file.$file);
  const isNew = (id: string) =>
    session.state.tickets.get(id)?.status !== "done" && tasks.every((one) => one.task_id !== id);
  const added = pick(IDS.filter(isNew), which);
  session.answer(subject, "plan", { tasks: added === undefined ? tasks : [...tasks, task(added)] });
  expect(session.refused, "the plan that was shown").toBeUndefined();
}

export function happen(session: ScheduleSession, one: Happening): void {
  const { what, which, how, tasks } = one;
  const { ledger } = session.engine;
  const turn = pick([...ledger.turns.values()], which);
  if (ledger.figures.closed && what < 90) {
    const lost = pick(
      [...session.state.tickets.values()].filter((ticket) => ticket.status === "error"),
      which,
    );
    // The runtime finds nothing to do in a session that was reopened without effect.
    if (lost && session.reopen().command("retry", lost.id).refused !== undefined) session.stop("no_progress");
  } else if (what < 62 && turn) {
    if (turn.status === "offered") session.admit(turn.subject);
    // A turn in doubt has no agent that could fail: only a person's answer ends it.
    if (how < 6 && turn.status !== "asked")
      session.fail(
        turn.subject,
        pick(["timeout", "rate_limited", "malformed_output", "trust", "budget_exhausted", "cancelled"], how),
      );
    else if (how < 90 && how % 3 === 1 && session.draft(turn.subject).expects.includes("plan"))
      repeats(session, turn.subject, which);
    else session.answer(turn.subject, ...answer(session.draft(turn.subject).message.payload_type, how, tasks));
  } else if (what < 84) waitEnds(session, one);
  else if (what < 94) personSays(session, one);
  else if (what < 96) session.stop(pick(["signal", "waiting", "limit"] as const, how)).recover();
  else if (what < 97) session.recover(false, turn?.status === "open" && how % 2 ? [turn.turn_id] : []);
  else if (what < 98)
    session.fireTimer(pick(["retry:a", "notice", "retry:", "hold:hand", "budget:a", "nothing"], how) ?? "");
  else if (what < 99 && turn)
    session.submit(
      "hand",
      "report",
      { status: "completed" },
      { ...about(turn.subject), turn: { turn_id: "t999", attempt: 0, run: 1 } },
    );
  else session.submit("scheduler", "check_result", { check_id: "k999", results: [] });
}
