import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { safeJson } from "../../src/ui/display.ts";
import { annotation, annotationsFor, beginGroup, summaryMarkdown } from "../../src/ui/github.ts";
import { inert } from "../../src/lib/workflow-commands.ts";
import { markdownCell, markdownCode, markdownText } from "../../src/ui/markdown.ts";
import { mermaidLines } from "../../src/ui/mermaid.ts";
import type { Ending, TicketLine } from "../../src/ui/reporter.ts";
import { commandsIn } from "./runner.ts";

const NAMING = { program: "bosun" };

const HOSTILE = '::error::mine | <img src=x> `code` [link](http://evil) @octocat www.evil.com %0A ##[group]x "]:::done';

const ENDING: Ending = {
  session_id: "s-1",
  presentation: schedulePresentation,
  free: false,
  exit_code: 4,
  state: "stopped",
  message: "The session waited for a person. Resume it with bosun resume s-1.",
  cause: undefined,
  failure: undefined,
  outcome: undefined,
  tickets: [
    {
      ticket_id: "collect",
      status: "done",
      title: "Collect what has changed, 変更をすべて一覧にまとめる",
      attempt: 1,
      owner: "claude",
      outputs: ["changes.md"],
      usage: { turns: 2, input_tokens: 41_000, output_tokens: 900, cost_usd: 0.31 },
    },
    {
      ticket_id: "notes",
      status: "awaiting_review",
      title: "Write",
      attempt: 2,
      owner: "claude",
      outputs: [],
      interrupted: true,
    },
    {
      ticket_id: HOSTILE,
      status: "error",
      title: HOSTILE,
      attempt: 3,
      reason: "agent_failed",
      cause: { words: HOSTILE, printed: `${HOSTILE}\n${HOSTILE}` },
      owner: "shell",
      outputs: [],
      dependencies: ["collect"],
    },
    {
      ticket_id: "publish",
      status: "blocked",
      title: "Publish",
      attempt: 0,
      blocked_by: HOSTILE,
      outputs: [],
      dependencies: [HOSTILE, "notes"],
    },
  ],
  interrupted_turns: 1,
  usage: { turns: 7, cost_usd: 0.5 },
  elapsed_ms: 3_723_000,
  result: undefined,
  roles: [],
  waiting: [
    { kind: "question", ask_id: "c1", question_id: "c1.q1", text: HOSTILE, options: ["main", "next"], default: "main" },
    { kind: "approval", ask_id: "r", about: "result" },
  ],
  unheard: [],
  children: [{ session_id: "s-2", waiting: [{ kind: "approval", ask_id: "p", about: "plan" }], holds: [] }],
  report: undefined,
  kept: [],
  log: "/home/ada/.local/state/bosun/logs/s-1",
  next: ["bosun answer s-1 c1.q1 main", "bosun resume s-1"],
};

function nodeOf({ ticket_id: id, status, dependencies: depends_on = [] }: TicketLine) {
  return { id, status, depends_on };
}

describe("the end of a session in a GitHub job", () => {
  it("writes a summary in Markdown", async () => {
    await expect(summaryMarkdown(NAMING, ENDING)).toMatchFileSnapshot("__snapshots__/github-summary.txt");
  });

  it("annotates each ticket in error and each unanswered question", async () => {
    const lines = annotationsFor(NAMING, ENDING);
    await expect(lines.join("\n")).toMatchFileSnapshot("__snapshots__/github-annotations.txt");
    expect(commandsIn(lines.join("\n"))).toEqual(lines);
  });

  it("writes no more annotations of a level than GitHub shows, and no graph that is too large to read", () => {
    const tickets = Array.from({ length: 300 }, (_, number) => ({
      ...{ ticket_id: `t${number}`, title: "Do it", status: "error", attempt: 1, outputs: [] },
      dependencies: number === 0 ? [] : ["t0"],
    }));
    expect(annotationsFor(NAMING, { ...ENDING, tickets, waiting: [], children: [] })).toHaveLength(11);
    expect(mermaidLines(schedulePresentation, tickets.map(nodeOf))).toEqual([]);
    expect(mermaidLines(schedulePresentation, tickets.slice(0, 60).map(nodeOf))).not.toEqual([]);
    const summary = summaryMarkdown(NAMING, { ...ENDING, tickets });
    expect(summary).toContain("and 100 more tickets");
    expect(Buffer.byteLength(summary)).toBeLessThan(200_000);
  });
});

const pieces = [
  "::",
  ":",
  "#",
  "##[",
  "[",
  "]",
  " ",
  "\n",
  "\r",
  "\t",
  "\u{fe0f}",
  "\u{200b}",
  "\u{301}",
  "\u{1b}",
  "error",
  "group",
  "%",
  ",",
];
const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(""));

describe("untrusted text", () => {
  it.each([
    ["::error::mine", ": :error::mine"],
    ["  ::stop-commands::x", "  : :stop-commands::x"],
    ["a ##[group]b", "a # #[group]b"],
    ["ok\n:\u{fe0f}:error::x", "ok\n: \u{fe0f}:error::x"],
    ["a::b #1 ##", "a::b #1 ##"],
  ])("is no workflow command: %j", (text, shown) => {
    expect(inert(text)).toBe(shown);
  });

  it("never becomes a workflow command, even if escaped twice or as JSON, and reads the same", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(commandsIn(inert(text))).toEqual([]);
        expect(inert(inert(text))).toBe(inert(text));
        const json = safeJson({ text });
        expect(inert(json)).toBe(json);
        expect(JSON.parse(json)).toEqual({ text });
      }),
      { numRuns: 2000 },
    );
  });

  it("stays one value of a workflow command", () => {
    fc.assert(
      fc.property(texts, texts, (title, text) => {
        expect(annotation("error", title, text)).toMatch(/^::error title=[^:,\n\r]*::[^\n\r]*$/);
        expect(beginGroup(title)).toMatch(/^::group::[^\n\r]*$/);
      }),
    );
  });

  it.each([
    ["- a", "&#45; a"],
    ["+ a", "&#43; a"],
    ["===", "&#61;=="],
    ["-", "&#45;"],
    ["a - b", "a - b"],
  ])("begins neither a list nor a heading in Markdown: %j", (text, shown) => {
    expect(markdownText(text)).toBe(shown);
  });

  it("is escaped in a cell of a table, but a dash alone stays", () => {
    expect(["-", "- a", "a|b"].map((text) => markdownCell(text))).toEqual(["-", "&#45; a", "a&#124;b"]);
  });

  it("keeps its letters in the label of a graph, and cannot end the label", () => {
    const graph = mermaidLines(schedulePresentation, [
      { id: "変更", status: "done", depends_on: [] },
      { id: 'a"]:::good', status: "constructor", depends_on: ["変更"] },
    ]);
    expect(graph).toContain('  t0["変更<br/>done"]:::good');
    expect(graph).toContain('  t1["a#34;#93;#58;#58;#58;good<br/>constructor"]');
  });

  it("becomes neither markup nor a link nor a mention in Markdown", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const shown = [markdownText(text, 200), markdownCode(text, 200).slice("<code>".length, -"</code>".length)];
        for (const one of shown) {
          expect(one.replace(/&#\d+;/g, "")).not.toMatch(/[\\`*[\]<>&#|~@!\n\r]|\$(?!\d)|:\/\/|www\./i);
          expect(one.replace(/&#\d+;/g, "!")).not.toMatch(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|(?<!\d):[\w+-]+:/iu);
        }
      }),
    );
  });
});
