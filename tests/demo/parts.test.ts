import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { identify } from "../../src/agents/processes.ts";
import { shipped } from "../../src/config/installation.ts";
import { askPerson } from "../../src/commands/demo/ask.ts";
import { nothingLostOrDoubled } from "../../src/commands/demo/crash.ts";
import type { DemoEvent, FoundItem } from "../../src/commands/demo/events.ts";
import { topFindings } from "../../src/commands/demo/findings.ts";
import { watchForKillPoint } from "../../src/commands/demo/kill-point.ts";
import { schedulerEnvironment } from "../../src/commands/demo/scheduler.ts";
import { showFor } from "../../src/commands/demo/show.ts";
import type { Stage } from "../../src/commands/demo/stage.ts";
import { workLines } from "../../src/commands/demo/work-line.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import type { Instant } from "../../src/protocol/timestamp.ts";
import type { OpenQuestion } from "../../src/ui/waiting.ts";
import { cleanUp } from "./rig.ts";

afterEach(cleanUp);

const AT = "2026-01-02T03:04:05.000Z" as Instant;

function record(payload_type: string, payload: JsonObject, about: Partial<RecordMeta> = {}): UnsealedRecord {
  const meta: RecordMeta = { kind: "fact", received_at: AT, disposition: "applied", ...about };
  return {
    session_id: "s",
    timestamp: AT,
    source: "shell",
    target: "scheduler",
    payload_type,
    version: "1.0",
    payload,
    record: meta,
  };
}

function moved(ticket_id: string, from: string, to: string, event = "approved"): Partial<RecordMeta> {
  return { ticket_id, effects: [{ ticket_id, from, event, to }] };
}

describe("the environment of the demo's schedulers", () => {
  it("has nothing of the person's own set-up, and keeps temporary files in the scratch folder", () => {
    const scratch = { folder: "/s", work: "/s/work/r", configuration: "/s/configuration", temporary: "/s/temporary" };
    const own = { BOSUN_HOME: "/h", BOSUN_MAX_WORKERS: "9", GIT_DIR: "/g", XDG_CONFIG_HOME: "/c", TMPDIR: "/t" };
    const environment = schedulerEnvironment({ ...own, PATH: "/bin", EMPTY: undefined, LANG: "C" }, scratch);
    expect(environment).toEqual({
      PATH: "/bin",
      LANG: "C",
      XDG_CONFIG_HOME: "/s/configuration",
      TMPDIR: "/s/temporary",
    });
  });
});

describe("the point of the kill", () => {
  afterEach(() => vi.useRealTimers());

  it("comes when one ticket is done and another's worker has just begun, and once", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const worker = spawn("sleep", ["60"], { stdio: "ignore" });
    const gone = new Promise((resolve) => worker.once("exit", resolve));
    const identity = identify(worker.pid ?? 0);
    const stored = new Map<string, JsonObject>([["t1", { ...identity }]]);
    let strikes = 0;
    const reader = { value: (_session: string, _collection: string, turn_id: string) => stored.get(turn_id) };
    const point = watchForKillPoint(reader, () => (strikes += 1));
    const work = (turn_id: string) =>
      record("turn_request", { message: { payload_type: "instruction" } }, { turn_id, ticket_id: turn_id });
    const later = () => {
      vi.advanceTimersByTime(100);
      return strikes;
    };

    point.record(work("t1"));
    expect(later(), "no ticket is done").toBe(0);
    point.record(record("review", {}, moved("t0", "awaiting_review", "done")));
    expect(later(), "it began before").toBe(0);
    point.record(work("t2"));
    expect(later(), "no program has been started").toBe(0);
    point.record(work("t3"));
    point.record(record("report", { status: "completed" }, { turn_id: "t3", ticket_id: "t3" }));
    stored.set("t3", { ...identity });
    expect(later(), "its worker has answered").toBe(0);
    stored.set("t2", { pid: identity.pid, started: "another time" });
    expect(later(), "the pid is another program's").toBe(0);
    stored.set("t2", { ...identity });
    expect(later()).toBe(1);
    point.record(work("t4"));
    stored.set("t4", { ...identity });
    expect(later(), "the blow is struck once").toBe(1);
    worker.kill("SIGKILL");
    await gone;
  });
});

describe("what is held against the session before the kill", () => {
  const plan = record("plan", { tasks: [{ task_id: "a" }, { task_id: "b" }] });
  const done = (ticket: string) => record("review", { by: ticket }, moved(ticket, "awaiting_review", "done"));
  const before = [plan, done("a")];
  const judge = (all: readonly UnsealedRecord[]) => {
    const lines = all.map((one) => JSON.stringify(one));
    const reader = {
      record: (_session: string, sequence: number) => lines[sequence - 1],
      records: (_session: string, from: number) => lines.slice(from - 1).values(),
    };
    const told = { pid: 1, records: before.length, done: ["a"], left: [] };
    const judged = nothingLostOrDoubled(reader, "s", { told, lines: before.map((one) => JSON.stringify(one)) });
    return judged.ok ? judged.value : judged.error.message;
  };

  it("is that everything is there, and every ticket was done once", () => {
    const sent_back = record("check_result", {}, moved("b", "awaiting_review", "in_progress", "changes_requested"));
    expect(judge([...before, sent_back, done("b")])).toEqual({ tickets: 2, sent_back: 1 });
  });

  it.each<[string, readonly UnsealedRecord[], string]>([
    ["a lost record", [plan], "record 2 is not what it was before"],
    ["a changed record", [plan, done("b")], "record 2 is not what it was before"],
    ["a lost ticket", before, "the ticket b was never done"],
    ["a ticket done twice", [...before, done("b"), done("a")], "the ticket a was done twice"],
    [
      "a ticket begun again",
      [...before, record("turn_request", {}, { ticket_id: "a" }), done("b")],
      "the ticket a was begun again",
    ],
  ])("notices %s", (_, all, what) => {
    expect(judge(all)).toContain(what);
  });
});

describe("a question at the terminal", () => {
  const question: OpenQuestion = {
    kind: "question",
    ask_id: "c1",
    question_id: "c1.window",
    text: "How far back?",
    options: ["90 days", "1 year"],
    default: "1 year",
  };

  const ask = (input: PassThrough, interrupted = new AbortController().signal) => {
    const out = new PassThrough();
    const stream = {
      stream: out,
      line: () => {},
      style: (_: string, text: string) => text,
      width: 80,
      hold: () => () => {},
    };
    const terminal = { input, out: stream, err: stream, hasPerson: true, isDumb: false };
    return askPerson({ context: { terminal }, interrupted } as unknown as Stage, question, { number: 1, of: 1 });
  };

  it.each([
    ["Enter", "\r", "1 year"],
    ["a number", "1\r", "90 days"],
    ["words", "6 months\r", "6 months"],
  ])("takes %s", async (_, keys, answer) => {
    const input = new PassThrough();
    const asked = ask(input);
    input.write(keys);
    expect(await asked).toMatchObject({ question_id: "c1.window", answer });
  });

  it("takes the default when nobody touches a key, and waits for somebody who does", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const silent = ask(new PassThrough());
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await silent).toMatchObject({ answer: "1 year" });

      const input = new PassThrough();
      const typing = ask(input);
      input.write("6 mon");
      await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(60_000);
      input.write("ths\r");
      await new Promise((resolve) => setImmediate(resolve));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await typing).toMatchObject({ answer: "6 months" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("is taken away by an interruption", async () => {
    const interruption = new AbortController();
    const asked = ask(new PassThrough(), interruption.signal);
    interruption.abort();
    expect(await asked).toMatchObject({ answer: "1 year" });
  });
});

describe("lines for people", () => {
  it("say why work was sent back, with the first thing the check found", () => {
    const results = [
      { criterion: { text: "holds" }, passed: true, output: "" },
      { criterion: { text: "does not" }, passed: false, output: "first\nsecond" },
    ];
    expect(workLines(record("check_result", { results }, moved("b", "awaiting_review", "in_progress")))).toEqual([
      { ticket: "b", text: "SENT BACK, this does not hold: does not", style: "yellow", evidence: "first" },
    ]);
    expect(workLines(record("check_result", { results }, { ticket_id: "b" })).map(({ text }) => text)).toEqual([
      "holds: holds",
      "does not hold: does not",
    ]);
  });

  it("show what goes wrong, and nothing that was set aside", () => {
    const failed = record("turn_failed", { code: "timeout", message: "Too slow." }, { ticket_id: "b" });
    expect(workLines(failed)).toMatchObject([{ ticket: "b", style: "yellow" }]);
    expect(workLines({ ...failed, record: { ...failed.record, disposition: "late" } })).toEqual([]);
  });

  const item = (kind: string, file: string): FoundItem => ({ kind, severity: "high", file, line: null, text: "" });

  it("show each file once and not too much of one kind", () => {
    const items = [item("a", "1"), item("a", "2"), item("a", "3"), item("b", "1"), item("b", "4"), item("c", "5")];
    expect(topFindings(items, 4, 2).map(({ kind, file }) => kind + file)).toEqual(["a1", "a2", "b4", "c5"]);
    expect(topFindings(items, 2, 2)).toHaveLength(2);
  });

  it("say how many of them are not shown", () => {
    const shown = (count: number) => {
      const lines: string[] = [];
      const out = { line: (text = "") => void lines.push(text), style: (_: string, text: string) => text };
      const show = showFor("plain", { terminal: { out }, directory: "/" } as unknown as Stage["context"]);
      const items = Array.from({ length: count }, (_, number) => item(`k${number}`, `f${number}`));
      show({ type: "findings", count, items });
      return lines.at(-1);
    };
    expect(shown(6)).not.toContain("more");
    expect(shown(9)).toBe("   And 3 more: the findings named below have them all.");
  });
});

it("lines for programs hold nothing that could act on a terminal", () => {
  const lines: string[] = [];
  const out = { line: (text: string) => void lines.push(text) };
  const show = showFor("json", { terminal: { out }, directory: "/" } as unknown as Stage["context"]);
  const hostile = { type: "question", text: "\u009b2J\u202eno\u0007" };
  show(hostile as unknown as DemoEvent);
  expect(lines.join("")).toMatch(/^[ -~]*$/);
  expect(JSON.parse(lines.join(""))).toEqual(hostile);
});

it("the plan of the demo asks two questions and has a join, as is promised", () => {
  const text = readFileSync(shipped("examples", "survey.yaml"), "utf8");
  expect(text.match(/^ {2}- question_id:/gm)).toHaveLength(2);
  expect(text).toContain("dependencies: [hot-spots, untested, licences, lockfile, links]");
});
