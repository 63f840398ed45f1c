import { describe, expect, it } from "vitest";
import { ticketLines } from "../../src/commands/lookup/view.ts";
import { shownStatus } from "../../src/kernel/presentation.ts";
import { emptyState, reasonReader, type SessionState, type SubjectState } from "../../src/kernel/state.ts";
import type { Json } from "../../src/lib/json.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { scheduleReader } from "../../src/modes/schedule/reader.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { ToldAsk } from "../../src/protocol/telling.ts";
import { FollowedState, type Standing } from "../../src/runtime/feed/standing.ts";
import { failedChecks } from "../../src/ui/failure-lines.ts";
import { heldWords } from "../../src/ui/hold-words.ts";
import { askText } from "../../src/ui/model/model.ts";
import { factsOf } from "../../src/ui/report/figures.ts";
import { reportObject } from "../../src/ui/report/report-object.ts";
import { statusWords } from "../../src/ui/status.ts";
import { dashboardFrame } from "../../src/ui/tui/frame.ts";
import { INITIAL_VIEW } from "../../src/ui/tui/view.ts";
import { sentenceFor, waitingIn } from "../../src/ui/waiting.ts";
import { APPROVED, INSTRUCTION, runs, schedule, type ScheduleSession, task } from "../modes/schedule/session.ts";
import { modelOf } from "./records.ts";
import { gathered } from "./report/gathered.ts";
import { sceneOf, textOf } from "./tui/scenes.ts";

/** What every view tells of a session. */
interface Seen {
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly subjects: readonly SeenSubject[];
  /** What waits for a person, as `subject: sentence`. */
  readonly asks: readonly string[];
  /** The turns that agents hold, as `turn of role`. */
  readonly running: readonly string[];
  readonly checking: readonly string[];
  readonly held: readonly string[];
}

type SeenSubject = Pick<
  SubjectState,
  "id" | "status" | "reason" | "owner" | "attempt" | "max_attempts" | "title" | "depends_on"
>;

function seenIn(state: SessionState, sentenceOf: (ask: ToldAsk) => string): Seen {
  const reasonOf = reasonReader(state, schedulePresentation);
  const subjects = [...state.subjects.values()].map((subject) => {
    const { id, status, owner, attempt, max_attempts, title, depends_on } = subject;
    return { id, status, reason: reasonOf(subject), owner, attempt, max_attempts, title, depends_on };
  });
  return {
    ...{ state: state.state, counts: Object.fromEntries(state.counts), subjects },
    asks: [...state.asks.values()].map((ask) => (ask.subject ? `${ask.subject}: ` : "") + sentenceOf(ask)),
    running: [...state.turns.values()].map(({ turn_id, role_id }) => `${turn_id} of ${role_id}`),
    checking: [...state.checks.values()].flatMap(({ subject }) => subject ?? []),
    held: heldWords([...state.holds.values()]),
  };
}

/** What the stored rows tell. The texts of asks are in the records that they name. */
function seenInRows(session: ScheduleSession): Seen {
  const payloadOf = (sequence = 0) => session.records[sequence - 1]?.payload ?? {};
  return seenIn(session.standing, (ask) => {
    const { check, checks_passed } = ask.kind === "review" ? session.ticket(ask.subject ?? "") : {};
    const failed = checks_passed === false ? failedChecks(payloadOf(check)) : [];
    return waitingIn(ask, payloadOf(ask.record), failed).map(sentenceFor).join(" / ");
  });
}

/** What the tables of `status` and of a session's end tell. */
function seenInTables(session: ScheduleSession): Omit<SeenSubject, "max_attempts">[] {
  const lines = ticketLines({
    state: session.standing,
    presentation: schedulePresentation,
    report: session.records.find(({ payload_type }) => payload_type === "final_report")?.payload,
    resultsOf: (id) => scheduleReader.results?.(session.state, id),
    causeOf: () => undefined,
    resolved: (reference) => session.resolved(reference as object) as Json,
  });
  return lines.map(({ ticket_id: id, status, reason, owner, attempt, title, dependencies: depends_on = [] }) => {
    return { id, status, reason, owner, attempt, title, depends_on };
  });
}

function seenByFeed({ state, counts, running, checking, held }: Standing): Omit<Seen, "subjects" | "asks"> {
  const turns = running.map(({ turn_id, role_id }) => `${turn_id} of ${role_id}`);
  return { state, counts, running: turns, checking, held: heldWords(held) };
}

interface ReportedTicket extends Pick<SubjectState, "status" | "reason" | "owner"> {
  readonly ticket_id: string;
  readonly description: string;
  readonly attempts: number;
  readonly dependencies: readonly string[];
}

/** Lists in the order of their texts: rows load in another order than records come. */
function sorted(seen: Seen): Seen {
  const { subjects, asks, running, checking, held } = seen;
  return {
    ...seen,
    subjects: subjects.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    ...{ asks: asks.toSorted(), running: running.toSorted(), checking: checking.toSorted(), held: held.toSorted() },
  };
}

/** Checks that every view of the session tells what its records tell, and returns that. */
function seenAlike(session: ScheduleSession): Seen {
  const model = modelOf(session.records);
  const folded = seenIn(model, (ask) => askText(model, ask));
  const seen = sorted(folded);
  expect(sorted(seenInRows(session))).toEqual(seen);

  const byId = (one: { readonly id: string }, other: { readonly id: string }) => (one.id < other.id ? -1 : 1);
  expect(seen.subjects).toMatchObject(seenInTables(session).toSorted(byId));

  const fromRecords = new FollowedState(emptyState());
  for (const record of session.records) fromRecords.add(record);
  for (const feed of [fromRecords, new FollowedState(session.standing)]) {
    const standing = feed.standing(session.engine.ledger.figures);
    expect(sorted({ ...seen, ...seenByFeed(standing) })).toEqual(seen);
    expect(standing.waiting).toBe(seen.asks.length);
  }

  checkReport(session, folded);
  checkDashboard(session, folded);
  return seen;
}

function checkReport({ records }: ScheduleSession, { subjects, asks }: Seen): void {
  const report = gathered(records);
  const { tickets } = reportObject(report) as { readonly tickets: readonly ReportedTicket[] };
  const told = tickets.map(({ ticket_id, description, attempts, dependencies, status, reason, owner }) => {
    return { id: ticket_id, status, reason, owner, attempt: attempts, title: description, depends_on: dependencies };
  });
  expect(subjects).toMatchObject(told);
  const facts = new Map(factsOf(report));
  expect(facts.get("waits for a person") ?? "").toBe(asks.join("; "));
}

function checkDashboard({ records }: ScheduleSession, { state, counts, subjects, asks, running }: Seen): void {
  const scene = sceneOf(records);
  const shown = (page: "list" | "ticket", selected?: string) =>
    textOf(dashboardFrame(scene, { ...INITIAL_VIEW, page, selected }, 200, 60)).split("\n");
  const { closed, stopped } = scene.model;
  const [, progress = "", need = ""] = shown("list");
  if (closed === undefined && stopped === undefined) expect(progress).toContain(`   ${state}   `);
  for (const [status, count] of Object.entries(counts)) {
    const { icon, stage } = shownStatus(schedulePresentation, status);
    expect(progress).toContain(stage === "done" ? ` ${count}/${subjects.length} ` : ` ${icon}${count}`);
  }
  if (asks.length > 0) expect(need).toContain(asks[0]?.split(": ").at(-1));
  for (const { id, status, reason, owner, attempt, max_attempts, title, depends_on } of subjects) {
    const page = shown("ticket", id);
    const { icon } = shownStatus(schedulePresentation, status);
    const tries = attempt === 0 ? "" : ` attempt ${attempt}${max_attempts === undefined ? "" : ` of ${max_attempts}`}`;
    expect(page).toContain(` ${id} ${title}`);
    // Of lost work, the page says the cause instead of the reason.
    const words = statusWords(status, page.some((line) => line.startsWith(" why ")) ? undefined : reason);
    expect(page).toContainEqual(expect.stringContaining(` state    ${icon} ${words}  for `));
    expect(page).toContain(` owner    ${owner ?? "nobody yet"}${tries}`);
    if (depends_on.length > 0) expect(page).toContain(` after    ${depends_on.join(", ")}`);
    const about = asks.filter((one) => one.startsWith(`${id}: `)).map((one) => one.slice(id.length + 2));
    expect(page.filter((line) => line.startsWith(" asks you "))).toEqual(about.map((text) => ` asks you ${text}`));
    const turns = page.filter((line) => line.startsWith(" turn "));
    for (const line of turns) expect(running).toContain(/turn +(.*),/.exec(line)?.[1]);
  }
}

const ROLES: readonly Role[] = [
  { role_id: "boss", type: "manager", backend: "scripted" },
  { role_id: "hand", type: "worker", backend: "scripted" },
  { role_id: "away", type: "worker", backend: "scripted", account: "acme" },
  { role_id: "spent", type: "worker", backend: "scripted", account: "acme", budget: { turns: 1 } },
];

/** A task that is instructed beforehand. */
const given = (id: string, role_id: string, more: Parameters<typeof task>[1] = {}) =>
  task(id, { instruction: INSTRUCTION, assigned_to: { role_id }, ...more });

const TASKS = [
  task("asks"),
  task("reviewed", { review: "user" }),
  given("stuck", "hand"),
  given("after", "hand", { dependencies: ["stuck"] }),
  given("later", "hand", { dependencies: ["after"] }),
  given("work", "hand"),
  task("checked", { acceptance_criteria: [runs("npm", "test")] }),
  given("delivered", "hand"),
  given("held", "away"),
  given("costly", "spent"),
];

function planned(): ScheduleSession {
  return schedule({ roles: ROLES, config: { max_workers: 9, plan_approval: "ask", max_retries: 0 } }).plan(...TASKS);
}

/** Some of everything: questions, a review, a blocked ticket with dependents, a running turn, running checks, holds. */
function busy(): ScheduleSession {
  return planned()
    .send("approval", APPROVED)
    .ask("asks", "one", "two")
    .instruct("reviewed")
    .deliver("reviewed")
    .block("stuck")
    .deliver("delivered")
    .admit("work")
    .instruct("checked")
    .deliver("checked")
    .admit("costly")
    .fail("held", "authentication");
}

describe("every view", () => {
  it("shows a session before its plan, and at the gate, alike", () => {
    const opened = schedule({ roles: ROLES }).requirement().admit();
    expect(seenAlike(opened)).toMatchObject({ state: "planning", subjects: [], running: ["t2 of boss"] });
    expect(seenAlike(planned())).toMatchObject({
      state: "approving",
      counts: { pending: TASKS.length },
      asks: ["The plan needs your approval."],
    });
  });

  it("shows a busy session alike", () => {
    const seen = seenAlike(busy());
    expect(seen).toMatchObject({
      state: "running",
      asks: ["asks: c2.one: What of one? / c2.two: What of two?", "reviewed: The work on reviewed needs your review."],
      checking: ["checked"],
      held: ["away (authentication)", "spent (authentication)", "spent (budget_exhausted)"],
    });
    expect(seen.subjects.map(({ id, status, reason }) => `${id} ${status} ${reason ?? ""}`.trim())).toEqual([
      "after pending waiting_for_dependency",
      "asks pending",
      "checked awaiting_review",
      "costly in_progress",
      "delivered awaiting_review waiting_for_reviewer",
      "held in_progress",
      "later pending waiting_for_dependency",
      "reviewed awaiting_review",
      "stuck blocked needs_input",
      "work in_progress",
    ]);
  });

  it("shows what comes later alike", () => {
    const session = busy().answerQuestions({ "c2.one": "Yes." });
    expect(seenAlike(session).asks[0]).toBe("asks: c2.two: What of two?");
    expect(seenAlike(session.finishChecks("checked", false)).checking).toEqual([]);
    expect(seenAlike(session.command("release", undefined, { role_id: "away" })).held).toEqual([
      "spent (budget_exhausted)",
    ]);
    seenAlike(session.send("review", { ticket_id: "reviewed", decision: "approved" }));
    seenAlike(session.fail("work"));
    seenAlike(session.giveUp("stuck"));
    expect(seenAlike(session.command("pause")).state).toBe("paused");
    expect(seenAlike(session.stop()).running).toEqual([]);
    seenAlike(session.recover(false));
    seenAlike(session.command("cancel", "work"));
    expect(seenAlike(session.command("cancel"))).toMatchObject({ state: "closed", asks: [], running: [], held: [] });
  });
});
