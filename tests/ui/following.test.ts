import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import { jsonReporter } from "../../src/ui/json.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import { BRIEF, type RecordLine } from "../../src/ui/format-options.ts";
import type { Standing } from "../../src/runtime/feed/standing.ts";
import type { Ending, Opening } from "../../src/ui/reporter.ts";
import { SAY_OF_LATER, RecordFormatter } from "../../src/ui/record-formatter.ts";

const AT = "2026-01-02T03:04:05Z";

function record(payload_type: string, payload: JsonObject, meta: Partial<RecordMeta> = {}, target = "session") {
  const base = { session_id: "s-1", timestamp: AT, source: "scheduler", version: "1.0" } as const;
  const told = { kind: "fact", received_at: AT, disposition: "applied", ...meta } as const;
  return { ...base, target, payload_type, payload, record: told } satisfies UnsealedRecord;
}

const given = (turn_id: string, role_id: string, ticket_id: string, received_at = AT) =>
  record("turn_request", { role_id }, { turn_id, ticket_id, received_at }, role_id);
const failed = (turn_id: string, code: string, details: JsonObject = {}) =>
  record("turn_failed", { turn_id, code, message: "No.", details }, { turn_id });
const opened = record("session_opened", {
  roles: [
    { role_id: "a", type: "worker", account: "acme" },
    { role_id: "b", type: "worker", account: "acme" },
    { role_id: "c", type: "worker" },
  ],
});

/** What is told of each of the records from one on, to somebody who of those before it has only what says something of later ones. */
function toldFrom(records: readonly UnsealedRecord[], first: number): string[][] {
  const formatter = new RecordFormatter();
  const [opening, ...earlier] = records.slice(0, first);
  if (opening) formatter.tell(opening, BRIEF);
  for (const one of earlier) if (SAY_OF_LATER.has(one.payload_type)) formatter.tell(one, BRIEF);
  const told = ({ text, command }: RecordLine) => (command === undefined ? text : `${text} ${command}`);
  return records.slice(first).map((one) => formatter.tell(one, BRIEF).map(told));
}

/** What is told of holds, by the records of a session in their order; whoever comes later is told the same of the rest. */
function holds(records: readonly UnsealedRecord[]): string[] {
  const told = toldFrom(records, 0);
  for (const [first] of records.entries()) expect(toldFrom(records, first)).toEqual(told.slice(first));
  return told.flat().filter((text) => text.includes("HELD"));
}

describe("a hold, told from the records", () => {
  it("that only a person ends is told with what helps, once, and ends for all of the account", () => {
    const story = [opened, given("t1", "a", "x"), given("t2", "b", "y"), failed("t1", "authentication")];
    expect(holds([...story, failed("t2", "authentication"), given("t2", "b", "y"), given("t1", "a", "x")])).toEqual([
      "HELD a and all of account acme (authentication): log in with its program, then: bosun resume s-1 --release a",
      "NOT HELD any more: b and all of account acme",
    ]);
  });

  it("that an agent's own error began is told like any other", () => {
    const refused = record("error", { code: "trust", message: "No more." }, { turn_id: "t1" });
    const told = holds([opened, given("t1", "c", "x"), refused, record("report", {}), given("t1", "c", "x")]);
    expect(told).toEqual([expect.stringMatching(/^HELD c \(trust\): /), "NOT HELD any more: c"]);
  });

  it("can only become longer, and one that is over already is none", () => {
    const until = (time: string) => ({ retry_at: `2026-01-02T${time}Z` });
    const told = holds([
      opened,
      given("t1", "c", "x"),
      failed("t1", "rate_limited", until("03:04:00")),
      failed("t1", "rate_limited", until("03:10:00")),
      failed("t1", "rate_limited", until("03:05:00")),
      failed("t1", "rate_limited", until("03:20:00")),
      failed("t1", "agent_failed"),
    ]);
    expect(told.map((line) => line.replace(/until \S*:(\d\d):00 /, "until $1 "))).toEqual([
      "HELD c until 10 (rate_limited); at once: bosun resume s-1 --release c",
      "HELD c until 20 (rate_limited); at once: bosun resume s-1 --release c",
    ]);
  });

  it("by a role's own rate is told once, and only if it is long", () => {
    const paced = (turns_per_minute: number) => [
      record("session_opened", { roles: [{ role_id: "c", type: "worker", rate_limit: { turns_per_minute } }] }),
      ...Array.from({ length: 6 }, (_, minute) => given(`t${minute}`, "c", "x", `2026-01-02T03:0${minute}:05Z`)),
    ];
    const told = holds(paced(1));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^HELD c until \S+: it keeps to its 1 turn a minute, from now on without a word$/);
    // Every sixth turn ends a minute's worth; by then the minute is over.
    expect(holds(paced(6))).toEqual([]);
  });

  it("that a person ended is told by their own word", () => {
    const release = record("user_command", { command: "release", role_id: "c" });
    const told = holds([opened, given("t1", "c", "x"), failed("t1", "trust"), release, given("t1", "c", "x")]);
    expect(told).toHaveLength(1);
  });
});

const NOW: Standing = {
  state: "running",
  counts: { pending: 3, in_progress: 2, done: 0 },
  turns: 1,
  waiting: 0,
  running: [
    { turn_id: "t1", role_id: "hand", subject: "build" },
    { turn_id: "t2", role_id: "hand", subject: "docs" },
    { turn_id: "t3", role_id: "manager" },
  ],
  checking: ["page"],
  held: ["other (rate_limited)"],
};

describe("a session that says nothing for half a minute", () => {
  afterEach(() => void vi.useRealTimers());

  it("shows who works on what for how long, who is held, and how many wait", () => {
    vi.useFakeTimers({ now: Date.parse("2026-01-02T03:08:05Z") });
    const lines: string[] = [];
    const out = { line: (text = "") => void lines.push(text), style: (_: unknown, text: string) => text, width: 200 };
    const reporter = plainReporter({ out, err: out } as unknown as Parameters<typeof plainReporter>[0]);
    // Given before anything was shown, and later.
    reporter.earlier?.(given("t1", "hand", "build"));
    reporter.begin({ session_id: "s-1", workspace: "/w", output: "/o", now: () => NOW } as unknown as Opening);
    reporter.event({ kind: "record", sequence: 2, record: given("t2", "hand", "docs", "2026-01-02T03:08:00Z") });
    vi.advanceTimersByTime(30_000);
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
      log: "/l",
      next: [],
    } as unknown as Ending);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("shows the same to a program, as often as it says nothing else, until it is closed", () => {
    vi.useFakeTimers();
    const events: string[] = [];
    const out = { line: (text: string) => void events.push(text) } as unknown as Parameters<typeof jsonReporter>[0];
    const reporter = jsonReporter(out);
    reporter.begin({ session_id: "s-1", workspace: "/w", now: () => NOW } as unknown as Opening);
    vi.advanceTimersByTime(20_000);
    reporter.event({ kind: "record", sequence: 2, record: given("t2", "hand", "docs") });
    vi.advanceTimersByTime(29_999);
    expect(events).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(JSON.parse(events.at(-1) ?? "")).toEqual({
      ...NOW,
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
