import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { widthOf } from "../../../src/lib/text-layout.ts";
import { debatePresentation } from "../../../src/modes/debate/presentation.ts";
import type { Proof } from "../../../src/runtime/proof.ts";
import { factsOf, ticketsOf, timeOf } from "../../../src/ui/report/figures.ts";
import { htmlReport } from "../../../src/ui/report/html/html-report.ts";
import { markdownReport } from "../../../src/ui/report/markdown.ts";
import { reportObject } from "../../../src/ui/report/report-object.ts";
import { terminalReport } from "../../../src/ui/report/terminal.ts";
import { type Output, outputOn } from "../../../src/ui/terminal.ts";
import { SESSION } from "../model/session.ts";
import { effect, PERSON, record } from "../records.ts";
import { gathered, proofOf } from "./gathered.ts";
import { HOSTILE, spoilt } from "./hostile.ts";

const DAMAGED = proofOf(SESSION, {
  integrity: "failed",
  decisions: "not_comparable",
  problems: [{ sequence: 7, what: "Its content does not have the hash it carries.", fault: "changed" }],
});

function screen(columns: number): Output {
  const stream = Object.assign(new PassThrough(), { columns, isTTY: true });
  return { ...outputOn(stream as unknown as NodeJS.WriteStream), style: (_, text) => text, width: columns };
}

it.each([40, 80, 140])("fits a terminal of %i columns", (columns) => {
  const lines = terminalReport(gathered(SESSION, DAMAGED), screen(columns)).flatMap((text) => text.split("\n"));
  expect(lines.filter((line) => widthOf(line) > columns)).toEqual([]);
});

it("shows hostile texts on a terminal without control or bidi characters", () => {
  for (const isMild of [true, false]) {
    const lines = terminalReport(gathered(spoilt(SESSION, HOSTILE, isMild), DAMAGED), screen(80));
    expect(lines.join("\n")).not.toMatch(/[\u202A-\u202E\u2066-\u2069]|[^\P{Cc}\n]/u);
    expect(lines.join("\n")).toContain("window.hacked=1");
  }
});

it("renders a screen for a terminal", () => {
  expect(terminalReport(gathered(SESSION, DAMAGED), screen(80)).join("\n")).toMatchSnapshot();
});

it("renders a Markdown document", () => {
  expect([...markdownReport(gathered(SESSION))].join("")).toMatchSnapshot();
});

it("counts what is done in the words of the mode, and ends its time then", () => {
  const at = (second: number) => ({ received_at: `2026-01-02T03:04:0${second}Z` });
  const asked = (id: string) =>
    record("turn_request", {}, { ...at(1), turn_id: id, ticket_id: id, effects: [effect(id, null, "answering")] });
  const moved = (id: string, second: number, to: string) =>
    record("opinion", {}, { ...at(second), turn_id: id, ticket_id: id, effects: [effect(id, "answering", to)] });
  const records = [asked("ada"), asked("bob"), asked("eve"), moved("ada", 3, "answered"), moved("eve", 5, "dropped")];
  records.push(record("user_message", {}, at(9)));

  const debate = gathered(records, proofOf(records), debatePresentation);
  expect(factsOf(debate)).toContainEqual(["debaters", "1 of 3 answered"]);
  const times = ticketsOf(debate.session).map((ticket) => [ticket.id, timeOf(ticket, debate)]);
  expect(times).toEqual([
    ["ada", "2s"],
    ["bob", "8s"],
    ["eve", "4s"],
  ]);

  expect(factsOf(gathered(records, proofOf(records), null))).toContainEqual(["subjects", "3"]);
  expect(factsOf(gathered(records))).toContainEqual(["tickets", "0 of 3 done"]);
  expect(factsOf(gathered([])).map(([label]) => label)).not.toContain("tickets");
});

it("renders an object for programs", () => {
  expect(reportObject(gathered(SESSION))).toMatchSnapshot();
});

it("has each turn from its request to its end, including turns that were cut off", () => {
  const { turns } = gathered([
    ...SESSION,
    record("session_recovered", { graceful: false, epoch: 2, turns: [{ turn_id: "t5", run: 2 }] }),
    record("turn_request", {}, { turn_id: "t5", run: 2, attempt: 2, ticket_id: "tests" }, "scheduler", "claude"),
    record("turn_failed", { code: "timeout", message: "late" }, { turn_id: "t5", run: 2, ticket_id: "tests" }),
    record("turn_request", {}, { turn_id: "t9", run: 1, ticket_id: "tests" }, "scheduler", "claude"),
  ]);
  expect(turns.map(({ turn_id, run, failed, to }) => [turn_id, run, failed, to === undefined])).toEqual([
    ["t1", 1, undefined, false],
    ["t2", 1, undefined, false],
    ["t4", 1, undefined, false],
    ["t6", 1, undefined, false],
    ["t5", 1, "cut_off", false],
    ["t5", 2, "timeout", false],
    ["t9", 1, undefined, true],
  ]);
});

it("pairs questions with answers and permissions with decisions, and keeps a person's commands", () => {
  const { asked } = gathered([
    ...SESSION,
    record("clarification_response", { answers: [{ question_id: "c1.q1", text: "One." }] }, PERSON, "user"),
    record(
      "approval_request",
      { subject: "permission", ask_id: "p1", about: { role_id: "claude", action: "run", details: "npm test" } },
      { turn_id: "t5", ticket_id: "tests" },
    ),
    record("approval", { decision: "approved", scope: "ticket", ask_id: "p1" }, PERSON, "user"),
    record("approval_request", { subject: "plan", ask_id: "a1" }, {}, "scheduler", "user"),
  ]);
  const told = asked.map(({ kind, text, answer }) => [kind, text, answer?.by, answer?.text]);
  expect(told).toEqual([
    ["questions", "Per-role time-out, or one for all?", "ada", "One."],
    ["command", "limits usd=30", "ada", ""],
    ["permission", "run: npm test", "ada", "approved, ticket"],
    ["approval", "The plan needs your approval.", undefined, undefined],
  ]);
});

it("warns of a log that is not closed, and shows a truncated one as damaged", () => {
  const out: Output = { ...screen(80), style: (style, text) => `${style}:${text}` };
  const shown = (proof: Proof) => terminalReport(gathered(SESSION, proof), out).join("\n");
  expect(shown(proofOf(SESSION))).toContain("yellow:completeness");
  expect(shown(proofOf(SESSION, { completeness: "truncated" }))).toContain("red:completeness");
});

it("says what is damaged, and shows what is readable", () => {
  const report = gathered(SESSION, DAMAGED);
  const markdown = [...markdownReport(report)].join("");
  expect(markdown).toContain("record 7");
  expect(markdown).toContain("Scaffold the package");
});

it("renders the report of an empty log", () => {
  const nothing = gathered([]);
  expect([...htmlReport(nothing, { script: "", style: "" })].join("")).toContain("</html>");
  expect([...markdownReport(nothing)].join("")).toContain("Verification");
  expect(terminalReport(nothing, screen(80)).length).toBeGreaterThan(0);
});

it("creates no markup from untrusted text in Markdown", () => {
  const hostile =
    "</script> | # *x* [a](javascript:alert(1)) <img src=x> `code` @octocat www.evil.com https://evil.com $x$ \u202E\u001B[31m";
  const text = [
    ...markdownReport(
      gathered([
        record("session_opened", { requirement: hostile, mode: hostile, workspace: hostile }, {}, hostile),
        record(
          "plan",
          { tasks: [{ task_id: "a", description: hostile }] },
          { effects: [effect("a", null, "pending"), effect(hostile, null, hostile, hostile)] },
        ),
        record(
          "check_result",
          { results: [{ criterion: hostile, passed: false, output: `\`\`\`\n${hostile}` }] },
          { ticket_id: "a" },
        ),
      ]),
    ),
  ].join("");
  const fences = text.split("\n").filter((line) => /^`{3,}/.test(line));
  const outside = text.replace(/^(`{3,})[^`]*\n[^]*?\n\1$/gm, "");
  expect(fences).toHaveLength(3);
  expect(outside).not.toMatch(/(?<!\\)<(?!!-- bosun report -->)|(?<!\\)\[|[@$]|www\.|:\/\/|\u202E|[^\P{Cc}\n]/u);
});
