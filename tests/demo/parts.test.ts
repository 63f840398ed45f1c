import { describe, expect, it } from "vitest";
import { commandEnvironment } from "../../src/crew/demo/bosun.ts";
import { workLines } from "../../src/crew/demo/shown.ts";
import { lostOrDoubled, ticketsDone, timesSentBack } from "../../src/crew/demo/proof.ts";
import { Screen } from "../../src/crew/demo/screen.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { LogRecord, RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import type { Instant } from "../../src/protocol/timestamp.ts";

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

describe("the comparison with the records from before the kill", () => {
  const plan = record("plan", { tasks: [{ task_id: "a" }, { task_id: "b" }] });
  const done = (ticket: string) => record("review", { by: ticket }, moved(ticket, "awaiting_review", "done"));
  const before = [plan, done("a")];
  const numbered = (all: readonly UnsealedRecord[]): LogRecord[] =>
    all.map((one, index) => ({ ...one, integrity: { sequence: index + 1, previous: "", hash: "" } }));
  it("finds nothing when every ticket was done once", () => {
    const sent_back = record("check_result", {}, moved("b", "awaiting_review", "in_progress", "changes_requested"));
    const log = [...before, sent_back, done("b")];
    expect(lostOrDoubled(numbered(before), numbered(log))).toBeUndefined();
    expect([timesSentBack(log), ticketsDone(log)]).toEqual([1, ["a", "b"]]);
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
    expect(lostOrDoubled(numbered(before), numbered(all))).toBe(what);
  });
});

describe("the lines of work", () => {
  it("say why work was sent back, with the first line of the check's output", () => {
    const results = [
      { criterion: { text: "holds" }, passed: true, output: "" },
      { criterion: { text: "does not" }, passed: false, output: "first\nsecond" },
    ];
    const [sentBack] = workLines(record("check_result", { results }, moved("b", "awaiting_review", "in_progress")));
    expect(sentBack).toMatchObject({ ticket: "b", style: "yellow", evidence: ["first"] });
    expect(sentBack?.text).toMatch(/SENT BACK.*does not/);
    expect(workLines(record("check_result", { results }, { ticket_id: "b" }))).toMatchObject([
      { text: expect.stringContaining("passed: holds") },
      { text: expect.stringContaining("failed: does not") },
    ]);
  });

  it("show the conflict for which work was sent back, and that work was merged", () => {
    const output = "Bring both together:\na.txt:\n<<<<<<< 1234\nmine\n=======\nyours\n>>>>>>> 5678";
    const conflict = {
      merge: { state: "conflict" },
      results: [{ criterion: { text: "conflicts with a" }, passed: false, output }],
    };
    expect(workLines(record("check_result", conflict, moved("b", "awaiting_review", "in_progress")))).toMatchObject([
      {
        text: "SENT BACK, conflicts with a",
        evidence: ["<<<<<<<", "mine", "=======", "yours", ">>>>>>>"],
      },
    ]);
    const merged = { merge: { state: "merged" }, results: [{ passed: true }] };
    const [done] = workLines(record("check_result", merged, moved("b", "awaiting_review", "done")));
    expect(done?.text).toMatch(/^merged into/);
  });

  it("show a failed turn, and nothing of a record that was not applied", () => {
    const failed = record("turn_failed", { code: "timeout", message: "Too slow." }, { ticket_id: "b" });
    expect(workLines(failed)).toEqual([{ ticket: "b", text: "timeout: Too slow.", style: "yellow" }]);
    expect(workLines({ ...failed, record: { ...failed.record, disposition: "late" } })).toEqual([]);
  });
});

it("prints no control characters of an agent, for people and in JSON", () => {
  const hostile = "\u009b2J\u202eno\u0007";
  const printed = (reporter: string) => {
    let text = "";
    const screen = new Screen(reporter, "/", (more) => {
      text += more;
    });
    screen.section("questions", { hostile }, hostile);
    screen.copyable("of", hostile);
    return text;
  };
  expect(printed("plain")).toMatch(/^[\n -~]*$/);
  expect(printed("json")).toMatch(/^[ -~]*\n$/);
  expect(JSON.parse(printed("json"))).toEqual({ type: "questions", hostile });
  expect(printed("silent")).toBe("");
});
