import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { widthOf } from "../../../src/lib/text-layout.ts";
import { stampOf } from "../../../src/kernel/ledger.ts";
import { readerOf } from "../../../src/kernel/kit/descriptor.ts";
import { debate as debateDescriptor } from "../../../src/modes/debate/debate.ts";
import type { Proof } from "../../../src/runtime/proof.ts";
import { factsOf } from "../../../src/ui/report/figures.ts";
import { htmlReport } from "../../../src/ui/report/html/html-report.ts";
import { listsOf } from "../../../src/ui/report/lists.ts";
import { markdownReport } from "../../../src/ui/report/markdown.ts";
import { reportObject } from "../../../src/ui/report/report-object.ts";
import { terminalReport } from "../../../src/ui/report/terminal.ts";
import { type Output, outputOn } from "../../../src/ui/terminal.ts";
import { DebateSession } from "../../modes/debate/session.ts";
import { schedule, task } from "../../modes/schedule/session.ts";
import { running, SESSION } from "../model/session.ts";
import { effect, record } from "../records.ts";
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
  const { records } = new DebateSession({ rounds: 1 }, { max_retries: 0 })
    .admit("python")
    .admit("go")
    .admit("architect")
    .opinion("python")
    .fail("architect")
    .command("tell", undefined, { text: "Hurry." });
  const debate = gathered(records, proofOf(records), readerOf(debateDescriptor).presentation);
  expect(factsOf(debate)).toContainEqual(["debaters", "1 of 3 answered"]);
  const [{ columns, rows } = { columns: [], rows: [] }] = listsOf(debate);
  const time = columns.findIndex(({ heading }) => heading === "time");
  expect(rows.map(({ cells }) => [cells[0], cells[time]])).toEqual([
    ["python", "3s"],
    ["go", "4s"],
    ["architect", "2s"],
  ]);

  expect(factsOf(gathered(records, proofOf(records), null))).toContainEqual(["subjects", "3"]);
  expect(factsOf(gathered(records))).toContainEqual(["tickets", "0 of 3 done"]);
  expect(factsOf(gathered([])).map(([label]) => label)).not.toContain("tickets");
});

it("renders an object for programs", () => {
  expect(reportObject(gathered(SESSION))).toMatchSnapshot();
});

it("has each turn from its request to its end, including turns that were cut off", () => {
  const session = running().recover(false).fail("tests", "timeout").fireTimer("retry:tests").admit("tests");
  const { turns } = gathered(session.records);
  expect(
    turns.map(({ role_id, ticket_id, run, failed, to }) => [role_id, ticket_id, run, failed, to !== undefined]),
  ).toEqual([
    ["codex", undefined, 1, undefined, true],
    ["codex", "build", 1, undefined, true],
    ["claude", "build", 1, undefined, true],
    ["codex", "build", 1, undefined, true],
    ["codex", "tests", 1, undefined, true],
    ["claude", "tests", 1, undefined, true],
    ["codex", "docs", 1, undefined, true],
    ["claude", "tests", 1, "cut_off", true],
    ["claude", "tests", 2, "timeout", true],
    ["claude", "tests", 1, undefined, false],
  ]);
});

it("pairs questions with answers and permissions with decisions, and keeps a person's commands", () => {
  const session = running().answerQuestions({ "c1.q1": "One." });
  const about = { role_id: "claude", action: "run", details: "npm test", digest: "d" };
  const channel = { subject: "tests", turn: stampOf(session.turn("tests")) };
  session
    .submit("scheduler", "approval_request", { subject: "permission", ask_id: "p1", about }, channel)
    .send("approval", { decision: "approved", scope: "ticket", ask_id: "p1" });
  const told = gathered(session.records).asked.map(({ kind, text, answer }) => [kind, text, answer?.by, answer?.text]);
  expect(told).toEqual([
    ["questions", "Per-role time-out, or one for all?", "ada", "One."],
    ["command", "limits usd=30", "ada", ""],
    ["permission", "run: npm test", "ada", "approved, ticket"],
  ]);
});

it("has an approval that waits, and none that was decided", () => {
  const session = schedule({ config: { plan_approval: "ask" } }).plan(task("a"));
  const asked = () => gathered(session.records).asked.map(({ kind, text, answer }) => [kind, text, answer?.text]);
  expect(asked()).toEqual([["approval", "The plan needs your approval.", undefined]]);
  session.send("approval", { decision: "approved" });
  expect(asked()).toEqual([["approval", "The plan needs your approval.", "approved"]]);
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
        record(
          "session_opened",
          { requirement: hostile, mode: hostile, workspace: hostile },
          { state: hostile },
          hostile,
        ),
        record(
          "plan",
          { tasks: [{ task_id: "a", description: hostile }] },
          {
            effects: [effect("a", null, "pending"), effect(hostile, null, hostile, hostile)],
            changed: [
              { ticket_id: "a", title_at: "/tasks/0/description", depends_on: [hostile] },
              { ticket_id: hostile, title: hostile, owner: hostile, depends_on: ["a"] },
            ],
          },
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
  const outside = text.replace(/^(`{3,})[^`\n]*\n[^]*?\n\1$/gm, "");
  expect(fences).toHaveLength(5);
  expect(outside).not.toMatch(/(?<!\\)<(?!!-- bosun report -->)|(?<!\\)\[|[@$]|www\.|:\/\/|\u202E|[^\P{Cc}\n]/u);
});
