import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { heldWords } from "../../src/ui/hold-words.ts";
import { jsonReporter } from "../../src/ui/json.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import { BRIEF, type RecordLine } from "../../src/ui/record-event.ts";
import type { Standing } from "../../src/runtime/feed/standing.ts";
import type { Ending, Opening } from "../../src/ui/reporter.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel } from "../../src/ui/model/model.ts";
import { CONTEXT_TYPES, RecordFormatter } from "../../src/ui/record-formatter.ts";
import { INSTRUCTION, schedule, type ScheduleSession, task } from "../modes/schedule/session.ts";
import { record } from "./records.ts";

const given = (turn_id: string, role_id: string, ticket_id: string, received_at = "2026-01-02T03:04:05Z") =>
  record("turn_request", { role_id }, { turn_id, ticket_id, received_at }, "scheduler", role_id);

const worker = (role_id: string, more: Partial<Role> = {}) =>
  ({ role_id, type: "worker", backend: "scripted", ...more }) as const;

/** Workers `a` and `b` share an account. */
const ROLES: readonly Role[] = [
  { role_id: "boss", type: "manager", backend: "scripted" },
  ...[worker("a", { account: "acme" }), worker("b", { account: "acme" }), worker("c")],
];

/** A session whose tickets are instructed; `x` is for worker `a`, `y` for `b`, all others for `c`. */
function planned(ids: string, more: Partial<Role> = {}): ScheduleSession {
  const role_of: Readonly<Record<string, string>> = { x: "a", y: "b" };
  const roles = ROLES.map((role) => (role.role_id === "c" ? { ...role, ...more } : role));
  const tasks = ids
    .split("")
    .map((id) => task(id, { instruction: INSTRUCTION, assigned_to: { role_id: role_of[id] ?? "c" } }));
  return schedule({ roles, config: { max_workers: 9 } }).plan(...tasks);
}

/** The same, and their workers have their turns. */
function working(ids: string): ScheduleSession {
  const session = planned(ids);
  for (const id of ids) session.admit(id);
  return session;
}

function until(time: string): JsonObject {
  return { details: { retry_at: `2026-01-01T00:${time}Z` } };
}

/** The lines of the records from one on, for a viewer that before them has only the records that later lines depend on. */
function linesFrom(records: readonly UnsealedRecord[], first: number): string[][] {
  const formatter = new RecordFormatter();
  const [opening, ...earlier] = records.slice(0, first);
  if (opening) formatter.format(opening, BRIEF);
  for (const one of earlier) if (CONTEXT_TYPES.has(one.payload_type)) formatter.format(one, BRIEF);
  const shown = ({ text, command = "" }: RecordLine) => `${text} ${command}`.trimEnd();
  return records.slice(first).map((one) => formatter.format(one, BRIEF).map(shown));
}

/** The lines about holds. A viewer that comes later sees the same of the rest. */
function holds({ records }: ScheduleSession): string[] {
  const lines = linesFrom(records, 0);
  for (const [first] of records.entries()) expect(linesFrom(records, first)).toEqual(lines.slice(first));
  return lines.flat().filter((text) => text.includes("HELD"));
}

describe("a hold", () => {
  it("that only a person ends is shown once with its remedy, and ends for the whole account", () => {
    const session = working("xy").fail("x", "authentication").fail("y", "authentication");
    expect(holds(session.command("release", undefined, { role_id: "b" }))).toEqual([
      expect.stringMatching(/^HELD a .*acme \(authentication\): .*bosun resume s-1 --release a$/),
      expect.stringMatching(/^NO LONGER HELD: a .*acme$/),
    ]);
  });

  it("that an agent's own error began is shown too, and ends with the role's next turn", () => {
    const session = working("z").answer("z", "error", { code: "trust", message: "No more." }).admit("z");
    expect(holds(session)).toEqual([expect.stringMatching(/^HELD c \(trust\): /), "NO LONGER HELD: c"]);
  });

  it("can only become longer", () => {
    const session = working("123");
    for (const [id, time] of Object.entries({ 1: "10:00", 2: "05:00", 3: "20:00" }))
      session.fail(id, "rate_limited", until(time));
    expect(holds(session)).toEqual([
      expect.stringMatching(/^HELD c until \S*:10:00 \(rate_limited\).* bosun resume s-1 --release c$/),
      expect.stringMatching(/^HELD c until \S*:20:00 \(rate_limited\).* bosun resume s-1 --release c$/),
    ]);
  });

  it("by a role's own rate is shown once, and only if it is long", () => {
    const paced = (turns_per_minute: number, between: number) => {
      const session = planned("12345678", { rate_limit: { turns_per_minute } });
      for (const id of "12345678") {
        session.admit(id);
        for (let second = 0; second < between; second += 1) session.command("tell", undefined, { text: "Hurry." });
      }
      return session;
    };
    expect(holds(paced(1, 0))).toEqual([expect.stringMatching(/^HELD c until \S+: .* 1 turn a minute/)]);
    // The eighth turn comes 56 seconds after the first.
    expect(holds(paced(8, 7))).toEqual([]);
  });

  it("by a role's own budget is shown, until a person releases the role", () => {
    const session = planned("z", { budget: { turns: 1 } }).admit("z");
    expect(holds(session.command("release", undefined, { role_id: "c" }))).toEqual([
      expect.stringMatching(/^HELD c \(budget_exhausted\): .* bosun resume s-1 --release c$/),
      "NO LONGER HELD: c",
    ]);
  });

  it("is shown again after a resume has ended it", () => {
    const session = working("z").fail("z", "authentication").stop("waiting").recover();
    expect(holds(session.admit("z").fail("z", "authentication"))).toEqual([
      expect.stringMatching(/^HELD c /),
      "NO LONGER HELD: c",
      expect.stringMatching(/^HELD c /),
    ]);
  });

  it("ends without a line when the session closes", () => {
    expect(holds(working("z").fail("z", "trust").command("cancel"))).toHaveLength(1);
  });
});

describe("an outage", () => {
  /** Of account acme, which both roles have. */
  const AWAY = /acme is unavailable since \S+; next try (\S+)/;
  const session = working("xy").fail("x", "unavailable").fail("y", "unavailable");
  // The first pause ends.
  for (let second = 0; second < 5; second += 1) session.command("tell", undefined, { text: "Hurry." });
  session
    .admit("y")
    .fail("y", "unavailable")
    .admit("x")
    .answer("x", "report", { status: "progress", summary: "Begun." })
    .deliver("x");

  it("is shown once for each try, with its beginning, and ends with a turn that comes through", () => {
    const lines = holds(session);
    expect(lines).toEqual([
      expect.stringMatching(AWAY),
      expect.stringMatching(AWAY),
      expect.stringMatching(/^NO LONGER HELD: a .*acme$/),
    ]);
    const [first, second] = lines.map((line) => AWAY.exec(line) ?? []);
    expect(first?.[0].split(";")[0]).toBe(second?.[0].split(";")[0]);
    expect(first?.[1]).not.toBe(second?.[1]);
    expect(lines[0]).toContain("bosun resume s-1 --release a");
  });

  it("is what the dashboard shows until then", () => {
    const model = emptyModel();
    const shown = session.records.map((one, index) => {
      applyRecord(model, index + 1, one);
      return heldWords([...model.holds.values()]).join();
    });
    const next = expect.stringMatching(AWAY) as string;
    const trying = expect.stringMatching(/^acme is unavailable since \S+; trying again$/) as string;
    const changes = shown.filter((words, index) => words !== shown[index - 1]);
    expect(changes).toEqual(["", next, trying, next, trying, ""]);
  });
});

const NOW: Standing = {
  state: "running",
  counts: { pending: 3, in_progress: 2, done: 0 },
  usage: undefined,
  turns: 1,
  waiting: 0,
  running: [
    { turn_id: "t1", role_id: "hand", subject: "build", since: Date.parse("2026-01-02T03:04:05Z") },
    { turn_id: "t2", role_id: "hand", subject: "docs", since: Date.parse("2026-01-02T03:08:00Z") },
    { turn_id: "t3", role_id: "manager" },
  ],
  checking: ["page"],
  held: [{ hold_id: "other", role_id: "other", reason: "rate_limited" }],
};

describe("a session without events for half a minute", () => {
  afterEach(() => void vi.useRealTimers());

  it("shows running turns with their durations, holds and counts", () => {
    vi.useFakeTimers({ now: Date.parse("2026-01-02T03:08:05Z") });
    const lines: string[] = [];
    const out = { line: (text = "") => void lines.push(text), style: (_: unknown, text: string) => text, width: 200 };
    const reporter = plainReporter({ out, err: out, canRedraw: false } as unknown as Parameters<
      typeof plainReporter
    >[0]);
    reporter.begin({
      session_id: "s-1",
      workspace: "/w",
      output: "/o",
      now: () => NOW,
      time: Date.now,
      earlier: [given("t1", "hand", "build")],
      presentation: () => undefined,
    } as unknown as Opening);
    reporter.event({ kind: "record", sequence: 2, record: given("t2", "hand", "docs", "2026-01-02T03:08:00Z") });
    vi.advanceTimersByTime(30_000);
    const beats = lines.length;
    vi.advanceTimersByTime(29_999);
    expect(lines).toHaveLength(beats);
    expect(lines.at(-1)).toContain(
      "HEARTBEAT running: build (hand, 4m30s), docs (hand, 35s), manager; checking page; held: other (rate_limited); 3 pending, 2 in_progress; 1 turn",
    );
    reporter.end({
      session_id: "s-1",
      tickets: [],
      usage: {},
      waiting: [],
      unheard: [],
      children: [],
      kept: [],
      log: "/l",
      next: [],
    } as unknown as Ending);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("shows the same to a program, until it is closed", () => {
    vi.useFakeTimers();
    const events: string[] = [];
    const out = { line: (text: string) => void events.push(text) } as unknown as Parameters<typeof jsonReporter>[0];
    const reporter = jsonReporter(out);
    reporter.begin({ session_id: "s-1", workspace: "/w", now: () => NOW, time: Date.now } as unknown as Opening);
    vi.advanceTimersByTime(20_000);
    reporter.event({ kind: "record", sequence: 2, record: given("t2", "hand", "docs") });
    vi.advanceTimersByTime(29_999);
    expect(events).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(JSON.parse(events.at(-1) ?? "")).toEqual({
      ...NOW,
      held: ["other (rate_limited)"],
      type: "heartbeat",
      session_id: "s-1",
      running: [
        { turn_id: "t1", role_id: "hand", ticket_id: "build" },
        { turn_id: "t2", role_id: "hand", ticket_id: "docs" },
        { turn_id: "t3", role_id: "manager" },
      ],
    });
    vi.advanceTimersByTime(30_000);
    reporter.end({ session_id: "s-1", tickets: [], unheard: [], next: [] } as unknown as Ending);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
    expect(events.map((event) => (JSON.parse(event) as JsonObject).type)).toEqual([
      ...["hello", "record", "heartbeat", "heartbeat", "result"],
    ]);
  });
});
