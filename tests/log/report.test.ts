import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { canonicalJson } from "../../src/lib/canonical.ts";
import { writeReport } from "../../src/log/report.ts";
import { readerOf } from "../../src/kernel/kit/descriptor.ts";
import { debate } from "../../src/modes/debate/debate.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bosun-report-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const report = (tickets: readonly object[]) => ({
  session_id: "s",
  mode: "schedule",
  outcome: "done",
  requirement: "Mend it",
  tickets: tickets as never,
  started_at: "2026-01-01T00:00:00Z",
  finished_at: "2026-01-01T00:00:01Z",
  usage: { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: null },
  recoveries: 0,
  next_steps: [],
  log: { records: 1, head: "h" },
});

it("has its members in the order of the log, at every depth", () => {
  const ticket = { ticket_id: "t", status: "done", "10": 1, "9": [{ b: 1, a: 2 }] };
  expect(writeReport(folder, report([ticket]), schedulePresentation).ok).toBe(true);
  const text = readFileSync(join(folder, "final_report.json"), "utf8");
  expect([...text.matchAll(/^ {2}"(\w+)"/gm)].map(([, name]) => name)).toEqual(Object.keys(report([])).toSorted());
  expect(text).toContain('"a": 2,\n          "b": 1');
});

it("replaces a folder or a link that an agent has put there", () => {
  const paths = ["final_report.json", "final_report.md"].map((name) => join(folder, name));
  const other = join(folder, "other");
  writeFileSync(other, "untouched");
  for (const path of paths) {
    mkdirSync(join(path, "inside"), { recursive: true });
    symlinkSync(other, `${path}.tmp`);
  }
  expect(writeReport(folder, report([]), schedulePresentation)).toEqual({ ok: true, value: undefined });
  for (const path of paths) {
    rmSync(path);
    symlinkSync(other, path);
    mkdirSync(join(`${path}.tmp`, "inside"), { recursive: true });
  }
  expect(writeReport(folder, report([]), schedulePresentation)).toEqual({ ok: true, value: undefined });
  expect(paths.map((path) => lstatSync(path).isFile())).toEqual([true, true]);
  expect(readFileSync(other, "utf8")).toBe("untouched");
  expect(readdirSync(folder).toSorted()).toEqual(["final_report.json", "final_report.md", "other"]);
});

it("is JSON indented by two columns", () => {
  const hostile = 'a "quote",\n  "id": [\u2028]\\n';
  const tickets = [
    { ticket_id: "t", outputs: [], issues: [hostile, { text: hostile }] },
    {},
    { ticket_id: "u", figures: {} },
  ];
  const whole = { ...report(tickets), reason: hostile, result: { points: [hostile, [], [[1]]] }, parent: undefined };
  expect(writeReport(folder, whole, schedulePresentation).ok).toBe(true);
  const text = readFileSync(join(folder, "final_report.json"), "utf8");
  const inOrder = JSON.parse(canonicalJson(whole)) as object;
  expect(text).toBe(`${JSON.stringify(inOrder, null, 2)}\n`);
});

it("is written in little memory with many tickets", () => {
  const script = `
    import { writeReport } from ${JSON.stringify(join(import.meta.dirname, "../../src/log/report.ts"))};
    const report = ${JSON.stringify(report([]))};
    const ticket = { ticket_id: "t", status: "done", outputs: ["one line of output"], artifacts: [] };
    const tickets = new Array(300_000).fill(ticket);
    console.log(writeReport(${JSON.stringify(folder)}, { ...report, tickets }, { subjectName: "ticket", parts: () => [] }).ok);`;
  const written = spawnSync(process.execPath, ["--max-old-space-size=48", "--input-type=module", "--eval", script], {
    encoding: "utf8",
  });
  expect(written.stdout).toBe("true\n");
  expect(statSync(join(folder, "final_report.json")).size).toBeGreaterThan(40_000_000);
});

it("lists more tickets than a call takes arguments", () => {
  const tickets = Array.from({ length: 200_000 }, (_, number) => ({ ticket_id: `t${number}`, status: "done" }));
  expect(writeReport(folder, report(tickets), schedulePresentation).ok).toBe(true);
  expect(readFileSync(join(folder, "final_report.md"), "utf8")).toContain("| t199999 | done |");
});

it("has no control characters of an agent, and no line that an agent began", () => {
  const hostile = "one\u001b]0;mine\u0007\n# two\r\u009b2J\u2028three\u202e four";
  const ticket = {
    ticket_id: "t",
    status: "done",
    description: hostile,
    summary: hostile,
    outputs: [hostile],
    issues: [{ text: hostile }],
  };
  const clarifications = [{ question: hostile, answer: hostile, ticket_id: "t" }];
  const result = { verdict: { conclusion: hostile, reasons: [hostile] }, judge: "j", rounds: { held: 1, of: 1 } };
  expect(
    writeReport(
      folder,
      { ...report([ticket]), requirement: hostile, clarifications, result },
      readerOf(debate).presentation,
    ).ok,
  ).toBe(true);
  const text = readFileSync(join(folder, "final_report.md"), "utf8");
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  expect(text.match(/^#.*$/gm)).toEqual([
    "# one &#93;0;mine &#35; two 2J three four",
    "## t: one &#93;0;mine &#35; two 2J three four",
    "## Asked and answered",
    "## Verdict of j",
  ]);
  expect(text).toContain("> one &#93;0;mine\n> &#35; two 2J three  four\n");
});

it("shows summaries, reviews, checks and answers", () => {
  const tickets = [
    { ticket_id: "a", status: "done", attempts: 2, reviews: 2, checks_passed: true, summary: "Tight.\nI tried it." },
    { ticket_id: "b", status: "error", reviews: 1, checks_passed: false },
  ];
  const clarifications = [
    { question: "Slate?", answer: "No, tiles" },
    { question: "Red?", answer: "yes", ticket_id: "a" },
  ];
  expect(writeReport(folder, { ...report(tickets), clarifications }, schedulePresentation).ok).toBe(true);
  const text = readFileSync(join(folder, "final_report.md"), "utf8");
  expect(text).toContain(
    "| a | done | - | 2 | 2 | passed |  |\n| b | error | - | 0 | 1 | failed |  |\n\n## a: \n\n> Tight.\n> I tried it.\n",
  );
  expect(text).toContain("\n## Asked and answered\n\n- Slate? **No, tiles**\n- a: Red? **yes**\n");
  expect(text).toContain("\n- 1s, from 2026-01-01T00:00:00Z to 2026-01-01T00:00:01Z, recoveries: 0\n");
});

it("lists each output once, with its place if it was kept", () => {
  const artifacts = [
    { label: "a.md", uri: "file:///a.md" },
    { label: "b.txt", uri: "sessions/s/artifacts/1-b.txt" },
  ];
  const ticket = { ticket_id: "t", status: "done", outputs: ["a.md", { label: "b.md" }, "a note"], artifacts };
  expect(writeReport(folder, report([ticket]), schedulePresentation).ok).toBe(true);
  const text = readFileSync(join(folder, "final_report.md"), "utf8");
  expect(text.match(/^- (?:a|b).*$/gm)).toEqual([
    "- b.md",
    "- a note",
    "- a.md: file&#58;///a.md",
    `- b.txt: ${join(folder, "../../sessions/s/artifacts/1-b.txt")}`,
  ]);
});

it("shows the uri of an output that was not kept", () => {
  const outputs = [
    { label: "list", uri: "out/list.md" },
    { label: "same", uri: "same" },
    { text: "a remark" },
    { label: "list", text: "of 3" },
  ];
  expect(writeReport(folder, report([{ ticket_id: "t", status: "done", outputs }]), schedulePresentation).ok).toBe(
    true,
  );
  const text = readFileSync(join(folder, "final_report.md"), "utf8");
  expect(text.match(/^- (?:list|same|a ).*$/gm)).toEqual([
    "- list: out/list.md",
    "- same",
    "- a remark",
    "- list: of 3",
  ]);
});

it("lists what a worker suggests to do next", () => {
  const ticket = { ticket_id: "t", status: "done", next_actions: ["deploy it", { text: "tell\nthem" }] };
  expect(writeReport(folder, report([ticket]), schedulePresentation).ok).toBe(true);
  expect(readFileSync(join(folder, "final_report.md"), "utf8")).toContain(
    "- suggested: deploy it\n- suggested: tell them\n",
  );
});

it("escapes a reason in its table cell", () => {
  const ticket = { ticket_id: "t", status: "error", reason: "a|b" };
  expect(writeReport(folder, report([ticket]), schedulePresentation).ok).toBe(true);
  expect(readFileSync(join(folder, "final_report.md"), "utf8")).toContain("| t | error | - | 0 | 0 | - | a&#124;b |\n");
});
