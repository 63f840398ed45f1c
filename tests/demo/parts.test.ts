import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { shipped } from "../../src/config/installation.ts";
import { commandEnvironment } from "../../src/crew/demo/bosun.ts";
import { childrenOf, stillRunning } from "../../src/crew/demo/programs.ts";
import { nothingLostOrDoubled } from "../../src/crew/demo/session.ts";
import type { DemoEvent, FoundItem } from "../../src/crew/demo/story.ts";
import { teller, topFindings } from "../../src/crew/demo/tell.ts";
import { workLines } from "../../src/crew/demo/work-lines.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import type { Instant } from "../../src/protocol/timestamp.ts";
import { cleanUp } from "./rig.ts";

afterEach(cleanUp);

const AT = "2026-01-02T03:04:05.000Z" as Instant;

function record(payload_type: string, payload: JsonObject, about: Partial<RecordMeta> = {}): UnsealedRecord {
  const meta: RecordMeta = { kind: "fact", received_at: AT, disposition: "applied", ...about };
  const envelope = { session_id: "s", timestamp: AT, source: "shell", target: "scheduler", version: "1.0" };
  return { ...envelope, payload_type, payload, record: meta };
}

function moved(ticket_id: string, from: string, to: string, event = "approved"): Partial<RecordMeta> {
  return { ticket_id, effects: [{ ticket_id, from, event, to }] };
}

it("keeps the user's own settings out of the commands that it runs", () => {
  const scratch = { configuration: "/s/configuration", temporary: "/s/temporary" };
  const own = { BOSUN_HOME: "/h", BOSUN_MAX_WORKERS: "9", GIT_DIR: "/g", XDG_CONFIG_HOME: "/c", TMPDIR: "/t" };
  expect(commandEnvironment({ ...own, PATH: "/bin", LANG: "C" }, scratch)).toEqual({
    PATH: "/bin",
    LANG: "C",
    XDG_CONFIG_HOME: "/s/configuration",
    TMPDIR: "/s/temporary",
  });
});

it("sees which programs a process has started and which of them still run", async () => {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  await once(child, "spawn");
  const [program, ...others] = childrenOf(process.pid).filter(({ pid }) => pid === child.pid);
  expect([program?.command, others]).toEqual(["sleep 60", []]);
  const [sleep = { pid: 0, command: "" }] = program === undefined ? [] : [program];
  expect(stillRunning([sleep])).toEqual([sleep]);
  expect(stillRunning([{ ...sleep, command: "another program" }])).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(stillRunning([sleep])).toEqual([]);
});

describe("the comparison with the records from before the kill", () => {
  const plan = record("plan", { tasks: [{ task_id: "a" }, { task_id: "b" }] });
  const done = (ticket: string) => record("review", { by: ticket }, moved(ticket, "awaiting_review", "done"));
  const before = [plan, done("a")];
  const numbered = (all: readonly UnsealedRecord[]) => all.map((one, index) => ({ sequence: index + 1, record: one }));
  const judge = (all: readonly UnsealedRecord[]) => {
    const judged = nothingLostOrDoubled(numbered(before), numbered(all));
    return judged.ok ? judged.value : judged.error.message;
  };

  it("counts the tickets and how often one was sent back", () => {
    const sent_back = record("check_result", {}, moved("b", "awaiting_review", "in_progress", "changes_requested"));
    expect(judge([...before, sent_back, done("b")])).toEqual({ tickets: 2, sent_back: 1 });
  });

  it.each<[string, readonly UnsealedRecord[], string]>([
    ["a lost record", [plan], "record 2 is lost or changed"],
    ["a changed record", [plan, done("b")], "record 2 is lost or changed"],
    ["a lost ticket", before, "the ticket b was never done"],
    ["a ticket done twice", [...before, done("b"), done("a")], "the ticket a was done twice"],
    [
      "a finished ticket that was started again",
      [...before, record("turn_request", {}, { ticket_id: "a" }), done("b")],
      "the finished ticket a was started again",
    ],
  ])("finds %s", (_, all, what) => {
    expect(judge(all)).toContain(what);
  });
});

describe("the lines of work", () => {
  it("say why work was sent back, with the first line of the check's output", () => {
    const results = [
      { criterion: { text: "holds" }, passed: true, output: "" },
      { criterion: { text: "does not" }, passed: false, output: "first\nsecond" },
    ];
    const [sentBack] = workLines(record("check_result", { results }, moved("b", "awaiting_review", "in_progress")));
    expect(sentBack).toMatchObject({ ticket: "b", style: "yellow", evidence: "first" });
    expect(sentBack?.text).toMatch(/SENT BACK.*does not/);
    expect(workLines(record("check_result", { results }, { ticket_id: "b" }))).toMatchObject([
      { text: expect.stringContaining("passed: holds") },
      { text: expect.stringContaining("failed: does not") },
    ]);
  });

  it("show a failed turn, and nothing of a record that was not applied", () => {
    const failed = record("turn_failed", { code: "timeout", message: "Too slow." }, { ticket_id: "b" });
    expect(workLines(failed)).toEqual([{ ticket: "b", text: "timeout: Too slow.", style: "yellow" }]);
    expect(workLines({ ...failed, record: { ...failed.record, disposition: "late" } })).toEqual([]);
  });
});

describe("the findings", () => {
  const item = (kind: string, file: string): FoundItem => ({ kind, severity: "high", file, text: "" });

  it("show each file once and few of a kind", () => {
    const items = [item("a", "1"), item("a", "2"), item("a", "3"), item("b", "1"), item("b", "4"), item("c", "5")];
    expect(topFindings(items, 4, 2).map(({ kind, file }) => kind + file)).toEqual(["a1", "a2", "b4", "c5"]);
    expect(topFindings(items, 2, 2)).toHaveLength(2);
  });

  it("say how many of them are not shown", () => {
    const shown = (count: number) => {
      const lines: string[] = [];
      const items = Array.from({ length: count }, (_, number) => item(`k${number}`, `f${number}`));
      teller("plain", "/", (line) => void lines.push(line))({ type: "findings", count, items, clean: [] });
      return lines.at(-1);
    };
    expect(shown(6)).not.toContain("more");
    expect(shown(9)).toContain("3 more");
  });
});

it("escapes in JSON what a terminal would obey", () => {
  const lines: string[] = [];
  const hostile = { type: "question", text: "\u009b2J\u202eno\u0007" };
  teller("json", "/", (line) => void lines.push(line))(hostile as DemoEvent);
  expect(lines.join("")).toMatch(/^[ -~]*$/);
  expect(JSON.parse(lines.join(""))).toEqual(hostile);
});

it("plays a plan with two questions and a task that waits for all others", () => {
  const text = readFileSync(shipped("examples", "survey.yaml"), "utf8");
  expect(text.match(/^ {2}- question_id:/gm)).toHaveLength(2);
  expect(text).toContain("dependencies: [hot-spots, untested, licences, lockfile, links]");
});
