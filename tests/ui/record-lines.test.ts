import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Presentation } from "../../src/kernel/presentation.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { MODES } from "../../src/modes/index.ts";
import { RecordFormatter } from "../../src/ui/record-formatter.ts";
import { BRIEF, WHOLE } from "../../src/ui/record-event.ts";
import { recordLines } from "../../src/ui/record-lines.ts";
import { outputOn } from "../../src/ui/terminal.ts";
import { timelineLines } from "../../src/ui/timeline.ts";
import { record } from "./records.ts";

describe("the lines of a record", () => {
  it("do not throw for payloads of any shape", () => {
    for (const payload_type of [
      "report",
      "review",
      "plan",
      "check_result",
      "clarification",
      "artifact_ref",
      "opinion",
      "verdict",
      "error",
      "session_stopped",
    ]) {
      for (const payload of [
        {},
        { summary: 7, results: "x", tasks: null, message: [], questions: {} },
      ] as JsonObject[]) {
        expect(() => recordLines(record(payload_type, payload))).not.toThrow();
      }
    }
  });
});

describe("words and codes", () => {
  const told = { code: "agent_failed", message: "Role w exited with code 3.", resolution_hint: "Mend it." };
  const effects = [{ ticket_id: "t", from: "in_progress", event: "e", to: "blocked", reason: "agent_failed" }];
  const failed = record("turn_failed", told, { ticket_id: "t", attempt: 2, effects }, "scheduler");
  const textsOf = (one: typeof failed, options = BRIEF) => recordLines(one, options).map(({ text }) => text);

  it("say the cause where a session is followed, and the codes in the log", () => {
    expect(textsOf(failed)).toEqual(["failed (try 2): Role w exited with code 3."]);
    const [logged = ""] = textsOf(failed, WHOLE);
    for (const code of ["in_progress -> blocked", "reason=agent_failed", "attempt=2"]) expect(logged).toContain(code);
  });

  it("say that work is sent back, by whom and why", () => {
    const moved = [{ ticket_id: "t", from: "awaiting_review", event: "e", to: "in_progress" }];
    const review = { decision: "changes_requested", notes: "write it again" };
    const back = record("review", review, { ticket_id: "t", effects: moved }, "manager");
    expect(textsOf(back)).toEqual(["sent back by manager: write it again"]);
  });

  it("say once that work was not accepted, and not that checks failed", () => {
    const effects = [
      { ticket_id: "t", from: "awaiting_review", event: "e", to: "blocked", reason: "checks_failed" },
      { ticket_id: "t", from: "blocked", event: "e", to: "error", reason: "checks_failed" },
    ];
    const review = record(
      "review",
      { decision: "changes_requested", notes: "no" },
      { ticket_id: "t", effects },
      "boss",
    );
    expect(textsOf(review)).toEqual(["not accepted by boss: no"]);
    expect(textsOf(review, WHOLE)).toHaveLength(2);
  });

  it("show a refused command of a person in the log only", () => {
    const refused = record("user_command", { command: "cancel" }, { ticket_id: "t", disposition: "refused" });
    expect([textsOf(refused), textsOf(refused, WHOLE).length]).toEqual([[], 1]);
  });
});

describe("the names of those who speak", () => {
  const said = (id: string) =>
    record("report", { status: "completed", summary: "So." }, { ticket_id: id, effects: [moved(id)] }, id);
  const moved = (ticket_id: string) => ({ ticket_id, from: "speaking", event: "contributed", to: "heard" });
  const stylesOf = (presentation: Presentation) => {
    const formatter = new RecordFormatter();
    const records = ["architect", "devops", "architect"].map(said);
    return records.flatMap((one) => formatter.format(one, { ...BRIEF, presentation })).map((line) => line.name_style);
  };

  it("have a colour of their own in a meeting, and none where agents work", () => {
    const [meeting, schedule] = ["meeting", "schedule"].map((mode) => MODES.get(mode)?.reader.presentation);
    if (!meeting || !schedule) throw new Error("a mode is missing");
    expect(stylesOf(meeting)).toEqual(["cyan", "magenta", "cyan"]);
    expect(stylesOf(schedule)).toEqual([undefined, undefined, undefined]);
  });

  it("are painted without the time before them and the text behind", () => {
    const out = {
      ...outputOn(process.stdout),
      width: 100,
      style: (style: string, text: string) => `<${style} ${text}>`,
    };
    const line = { ticket: "devops", text: "speaking -> heard", style: "green", name_style: "cyan" } as const;
    const [shown] = timelineLines(out, new Date(2026, 0, 2, 3, 4, 5), line);
    expect(shown).toBe("03:04:05.000 <cyan devops>           <green speaking -> heard>");
  });
});

describe("failed checks", () => {
  const failed = (command: string[], result: JsonObject) => ({
    criterion: { text: "it runs", command },
    passed: false,
    ...result,
  });
  const results = [
    failed(["nosuch", "x"], { exit_code: 127, output: "check: 1: exec: nosuch: not found" }),
    failed(["sh", "-c", "x"], { exit_code: 1, output: "a\nb\nc" }),
    failed(["sleep", "9"], { exit_code: null, timed_out: true }),
    failed(["sh", "-c", "y"], { exit_code: 127, output: "sh: 1: y: not found" }),
    { criterion: "well", passed: true, exit_code: 0, output: "not shown" },
  ];

  it("are shown with why each failed, and its last output", () => {
    const [first = "", ...output] = recordLines(record("check_result", { results })).map(({ text }) => text);
    const whys = ["not found: nosuch", "exit code 1 (sh -c x)", "timed out", "exit code 127 (sh -c y)"];
    expect(first).toContain(`4 of 5 FAILED "${whys.map((why) => `it runs: ${why}`).join("; ")}"`);
    expect(output).toEqual(["| check: 1: exec: nosuch: not found", "| b", "| c", "| sh: 1: y: not found"]);
  });

  it("are named before there is work only if they cannot run, for most fail then", () => {
    const lines = (some: typeof results) => recordLines(record("check_result", { check_id: "kbase4", results: some }));
    const [first, ...others] = lines(results);
    expect(first?.text).toMatch(/before any work, the plan's checks: 1 of 5 passed, 3 CANNOT RUN ".*not found: nosuch/);
    expect(others).toEqual([]);
    expect(lines(results.slice(1, 2)).map(({ style }) => style)).toEqual(["dim"]);
  });
});

describe("the traceback of an exception", () => {
  const lastWordsOf = (program: string, args: readonly string[]) => {
    const { stderr } = spawnSync(program, args, { encoding: "utf8" });
    const failed = record("turn_failed", { code: "agent_failed", details: { stderr_tail: stderr } }, {}, "scheduler");
    return recordLines(failed)
      .slice(1)
      .map(({ text }) => text);
  };

  it.each([
    ["a program that is not there", ["/nosuch/manager.mjs"], /^\| Error: Cannot find module '\/nosuch\/manager.mjs'$/m],
    ["an error", ["-e", "setImmediate(() => { null.name })"], /^\| TypeError: Cannot read properties of null/m],
    [
      "an error with fields of its own",
      ["-e", "throw Object.assign(new Error('no key'), { code: 'E', list: [{ a: { b: 1 } }] })"],
      /^\| Error: no key$/m,
    ],
  ])("is reduced to its message: Node, %s", (_what, args, message) => {
    expect(lastWordsOf(process.execPath, args).join("\n")).toMatch(message);
  });

  it("is reduced to its message: Python", () => {
    const thrown = "def f(): g()\ndef g(): raise ValueError('no key')\nf()";
    expect(lastWordsOf("python3", ["-c", thrown])).toContain("| ValueError: no key");
  });
});
