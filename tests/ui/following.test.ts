import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { heldWords } from "../../src/ui/hold-words.ts";
import { jsonReporter } from "../../src/ui/json.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import { BRIEF, type RecordLine } from "../../src/ui/record-lines.ts";
import type { Standing } from "../../src/runtime/feed/standing.ts";
import type { Ending, Opening } from "../../src/ui/reporter.ts";
import { CONTEXT_TYPES, RecordFormatter } from "../../src/ui/record-formatter.ts";
import { record } from "./records.ts";

const given = (turn_id: string, role_id: string, ticket_id: string, received_at = "2026-01-02T03:04:05Z") =>
  record("turn_request", { role_id }, { turn_id, ticket_id, received_at }, "scheduler", role_id);
const failed = (turn_id: string, code: string, details: JsonObject = {}) =>
  record("turn_failed", { turn_id, code, message: "No.", details }, { turn_id }, "scheduler");
const opened = record("session_opened", {
  roles: [
    { role_id: "a", type: "worker", account: "acme" },
    { role_id: "b", type: "worker", account: "acme" },
    { role_id: "c", type: "worker" },
  ],
});

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
function holds(records: readonly UnsealedRecord[]): string[] {
  const lines = linesFrom(records, 0);
  for (const [first] of records.entries()) expect(linesFrom(records, first)).toEqual(lines.slice(first));
  return lines.flat().filter((text) => text.includes("HELD"));
}

describe("a hold", () => {
  it("that only a person ends is shown once with its remedy, and ends for the whole account", () => {
    const story = [opened, given("t1", "a", "x"), given("t2", "b", "y"), failed("t1", "authentication")];
    const lines = holds([...story, failed("t2", "authentication"), given("t2", "b", "y"), given("t1", "a", "x")]);
    expect(lines).toEqual([
      expect.stringMatching(/^HELD a .*acme \(authentication\): .*bosun resume s-1 --release a$/),
      expect.stringMatching(/^NO LONGER HELD: b .*acme$/),
    ]);
  });

  it("that an agent's own error began is shown too", () => {
    const refused = record("error", { code: "trust", message: "No more." }, { turn_id: "t1" });
    const lines = holds([opened, given("t1", "c", "x"), refused, record("report", {}), given("t1", "c", "x")]);
    expect(lines).toEqual([expect.stringMatching(/^HELD c \(trust\): /), "NO LONGER HELD: c"]);
  });

  it("can only become longer, and is not shown if it is over already", () => {
    const until = (time: string) => ({ retry_at: `2026-01-02T${time}Z` });
    const lines = holds([
      opened,
      given("t1", "c", "x"),
      failed("t1", "rate_limited", until("03:04:00")),
      failed("t1", "rate_limited", until("03:10:00")),
      failed("t1", "rate_limited", until("03:05:00")),
      failed("t1", "rate_limited", until("03:20:00")),
      failed("t1", "agent_failed"),
    ]);
    expect(lines).toEqual([
      expect.stringMatching(/^HELD c until \S*:10:00 \(rate_limited\).* bosun resume s-1 --release c$/),
      expect.stringMatching(/^HELD c until \S*:20:00 \(rate_limited\).* bosun resume s-1 --release c$/),
    ]);
  });

  it("by a role's own rate is shown once, and only if it is long", () => {
    const paced = (turns_per_minute: number) => [
      record("session_opened", { roles: [{ role_id: "c", type: "worker", rate_limit: { turns_per_minute } }] }),
      ...Array.from({ length: 6 }, (_, minute) => given(`t${minute}`, "c", "x", `2026-01-02T03:0${minute}:05Z`)),
    ];
    expect(holds(paced(1))).toEqual([expect.stringMatching(/^HELD c until \S+: .* 1 turn a minute/)]);
    // Every sixth turn would wait for the minute to end, which is over by then.
    expect(holds(paced(6))).toEqual([]);
  });

  it("is over once a person releases the role", () => {
    const release = record("user_command", { command: "release", role_id: "c" });
    const lines = holds([opened, given("t1", "c", "x"), failed("t1", "trust"), release, given("t1", "c", "x")]);
    expect(lines).toHaveLength(1);
  });
});

describe("an outage", () => {
  /** Of account acme, which both roles have. */
  const AWAY = /acme is unavailable since \S+; next try (\S+)/;
  const at = (time: string) => `2026-01-02T03:0${time}Z`;
  const lost = (turn_id: string, time: string, run = 1) =>
    record(
      "turn_failed",
      { turn_id, code: "unavailable", message: "503", details: {} },
      { turn_id, run, received_at: at(time) },
      "scheduler",
    );
  const OPENED = [opened, given("t1", "a", "x", at("4:00")), given("t2", "b", "y", at("4:00"))];
  const STORY = [
    ...OPENED,
    lost("t1", "4:10"),
    lost("t2", "4:10"),
    given("t2", "b", "y", at("4:16")),
    lost("t2", "4:17", 2),
    given("t1", "a", "x", at("4:40")),
    record("report", { status: "progress", summary: "Begun." }, { turn_id: "t1" }, "a"),
    record("report", { status: "completed", summary: "Done." }, { turn_id: "t1" }, "a"),
  ];

  it("is shown once for each try, with its beginning, and ends with a turn that comes through", () => {
    const lines = holds(STORY);
    expect(lines).toEqual([
      expect.stringMatching(AWAY),
      expect.stringMatching(AWAY),
      expect.stringMatching(/^NO LONGER HELD: a .*acme$/),
    ]);
    const [first, second] = lines.map((line) => AWAY.exec(line) ?? []);
    expect(first?.[0].split(";")[0]).toBe(second?.[0].split(";")[0]);
    expect([first?.[1], second?.[1]]).toEqual([expect.stringContaining("04:15"), expect.stringContaining("04:2")]);
    expect(lines[0]).toContain("bosun resume s-1 --release a");
  });

  it("is what the dashboard shows until then", () => {
    const formatter = new RecordFormatter();
    const shown = STORY.map((one) => {
      formatter.format(one, BRIEF);
      return heldWords(formatter.outages).join();
    });
    expect(shown).toEqual([
      ...["", "", ""],
      expect.stringMatching(AWAY),
      shown[3],
      expect.stringMatching(/^acme is unavailable since \S+; trying again$/),
      expect.stringMatching(AWAY),
      expect.stringContaining("trying again"),
      shown[7],
      "",
    ]);
  });
});

const NOW: Standing = {
  state: "running",
  counts: { pending: 3, in_progress: 2, done: 0 },
  usage: undefined,
  turns: 1,
  waiting: 0,
  running: [
    { turn_id: "t1", role_id: "hand", subject: "build" },
    { turn_id: "t2", role_id: "hand", subject: "docs" },
    { turn_id: "t3", role_id: "manager" },
  ],
  checking: ["page"],
  held: [{ role_id: "other", reason: "rate_limited" }],
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
    reporter.earlier?.(given("t1", "hand", "build"));
    reporter.begin({
      session_id: "s-1",
      workspace: "/w",
      output: "/o",
      now: () => NOW,
      time: Date.now,
    } as unknown as Opening);
    reporter.event({ kind: "record", sequence: 2, record: given("t2", "hand", "docs", "2026-01-02T03:08:00Z") });
    vi.advanceTimersByTime(10_000);
    const beats = lines.length;
    vi.advanceTimersByTime(29_999);
    expect(lines).toHaveLength(beats);
    expect(lines.at(-1)).toContain(
      "HEARTBEAT running: build (hand, 4m10s), docs (hand, 15s), manager; checking page; held: other (rate_limited); 3 pending, 2 in_progress; 1 turn",
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
    reporter.end({ session_id: "s-1", unheard: [], next: [] } as unknown as Ending);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
    expect(events.map((event) => (JSON.parse(event) as JsonObject).type)).toEqual([
      ...["hello", "record", "heartbeat", "heartbeat", "result"],
    ]);
  });
});
