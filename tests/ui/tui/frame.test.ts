import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUnsafe } from "../../../src/lib/terminal-text.ts";
import { readerOf } from "../../../src/kernel/kit/descriptor.ts";
import { debate } from "../../../src/modes/debate/debate.ts";
import { fieldOf } from "../../../src/ui/keyboard/field.ts";
import { dashboardFrame, pageRows, selectable } from "../../../src/ui/tui/frame.ts";
import { keysFor } from "../../../src/ui/tui/keys.ts";
import { widthOfLine } from "../../../src/ui/tui/line.ts";
import type { Scene } from "../../../src/ui/tui/scene.ts";
import { handleKey, INITIAL_VIEW, type View } from "../../../src/ui/tui/view.ts";
import { DebateSession } from "../../modes/debate/session.ts";
import { SESSION } from "../model/session.ts";
import { effect, record } from "../records.ts";
import { HOSTILE, sceneOf, textOf } from "./scenes.ts";

const PAGES = ["list", "ticket", "graph", "help"] as const;

describe("the dashboard", () => {
  it.each([
    ["80x24", 80, 24],
    ["140x40", 140, 40],
    ["60x15", 60, 15],
    ["40x10", 40, 10],
  ])("renders at %s", (_, columns, rows) => {
    expect(textOf(dashboardFrame(sceneOf(SESSION), INITIAL_VIEW, columns, rows))).toMatchSnapshot();
  });

  it.each(["ticket", "graph", "help"] as const)("has a %s page", (page) => {
    const view: View = { ...INITIAL_VIEW, page, selected: "tests" };
    expect(textOf(dashboardFrame(sceneOf(SESSION), view, 80, 24))).toMatchSnapshot();
  });

  it("shows what failed with its title and its cause, on 80 columns too", () => {
    const created = ["a", "b"].map((id) => effect(id, null, "in_progress"));
    const failed = record(
      "turn_failed",
      {
        code: "agent_failed",
        message: "Role w exited with code 3.",
        details: { exit_code: 3, stderr_tail: "Error: no foo\n" },
      },
      { ticket_id: "a", effects: [effect("a", "in_progress", "blocked", "agent_failed")] },
    );
    const scene = sceneOf([record("plan", {}, { effects: created }, "boss"), failed]);
    for (const columns of [80, 120]) {
      const lines = textOf(dashboardFrame(scene, INITIAL_VIEW, columns, 24));
      expect(lines).toContain("  a: Error: no foo");
      expect(lines).not.toContain("agent_failed");
    }
  });

  it("offers retry and cancel only where they can do something", () => {
    const created = ["bad", "good", "busy"].map((id) => effect(id, null, "in_progress"));
    const ended = [effect("bad", "in_progress", "error"), effect("good", "in_progress", "done")];
    const scene = sceneOf([record("plan", {}, { effects: created }), record("report", {}, { effects: ended })]);
    expect(["bad", "good", "busy", undefined].map((id) => keysFor(scene, id))).toEqual([
      { retries: true, cancels: false },
      { retries: false, cancels: false },
      { retries: false, cancels: true },
      { retries: false, cancels: false },
    ]);
    const foot = (selected: string) =>
      textOf(dashboardFrame(scene, { ...INITIAL_VIEW, selected }, 140, 24))
        .split("\n")
        .at(-1);
    expect(foot("good")).not.toMatch(/retry|cancel/);
    expect(foot("bad")).toContain("r retry");
    expect(foot("busy")).toContain("x cancel");
  });

  it("says how a paused session goes on", () => {
    const scene = sceneOf([record("plan", {}, { state: "paused", effects: [effect("a", null, "pending")] })]);
    const lines = textOf(dashboardFrame(scene, INITIAL_VIEW, 140, 24));
    expect(lines).toContain("paused: [p] goes on");
    expect(lines).toContain("p go on");
  });

  it("has a row more while something is away, and the same number of rows", () => {
    const outages = ["claude is unavailable since 21:04:10; next try 21:09:12"];
    const lines = textOf(dashboardFrame(sceneOf(SESSION, { outages }), INITIAL_VIEW, 80, 24)).split("\n");
    expect([lines.length, lines.filter((line) => line.includes("claude is unavailable since"))]).toEqual([
      24,
      [expect.stringContaining("next try")],
    ]);
  });

  it("counts the debaters that have answered, and offers no retry in a debate", () => {
    const session = new DebateSession().admit("python").admit("go").opinion("go", "Yes.");
    const scene = sceneOf(session.records, { presentation: readerOf(debate).presentation });
    const [, progress = "", ...rest] = textOf(dashboardFrame(scene, INITIAL_VIEW, 120, 15)).split("\n");
    expect(progress).toMatch(/^ █+▓+ 1\/3 /);
    expect(rest.join("\n")).toContain("x cancel");
    expect(rest.join("\n")).not.toContain("r retry");
  });

  it('shows unknown states such as "constructor" by name', () => {
    const created = [effect("a", null, "constructor"), effect("b", null, "answering")];
    const odd = record("plan", {}, { state: "running", effects: created });
    const moved = record("report", {}, { effects: [effect("b", "answering", "toString")] });
    for (const page of ["list", "graph"] as const) {
      const shown = textOf(dashboardFrame(sceneOf([odd, moved]), { ...INITIAL_VIEW, page }, 80, 24));
      for (const text of [/ 1 constructor 1 toString /, /- a +constructor/, /- b +toString/])
        expect(shown).toMatch(text);
    }
  });

  it("fills every screen size exactly, whatever the agents write", () => {
    const scenes = HOSTILE.map((text) => hostileScene(text));
    const views = fc.record({
      page: fc.constantFrom(...PAGES),
      selected: fc.constantFrom("docs", "tests", undefined),
      scroll: fc.nat(5_000),
      filter: fc.constantFrom("", "t", "nothing has this", HOSTILE[2] ?? ""),
      typing: fc.constantFrom(undefined, { what: "tell" as const, field: fieldOf(HOSTILE[1] ?? "") }),
      draft: fc.constantFrom("", HOSTILE[1] ?? ""),
      confirm: fc.constantFrom(undefined, { do: "cancel" as const, ticket_id: HOSTILE[0] ?? "" }),
    });
    const sizes = fc.tuple(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 5, max: 100 }));
    fc.assert(
      fc.property(fc.constantFrom(...scenes), views, sizes, (scene, view, [columns, rows]) => {
        const lines = dashboardFrame(scene, view, columns, rows);
        expect(lines).toHaveLength(rows);
        for (const line of lines) {
          expect(widthOfLine(line)).toBe(columns);
          expect(isUnsafe(line.map(({ text }) => text).join(""))).toBe(false);
        }
      }),
      { numRuns: 400 },
    );
  });

  it("tells tickets apart whose ids begin alike", () => {
    const ids = [1, 2].map((end) => `fix-the-very-long-identifier-of-this-ticket-which-has-sixty-${end}`);
    const tasks = ids.map((task_id) => ({ task_id, description: "Do it" }));
    const planned = record("plan", { tasks }, { effects: ids.map((id) => effect(id, null, "pending")) }, "boss");
    expect(textOf(dashboardFrame(sceneOf([planned]), INITIAL_VIEW, 80, 24))).toMatch(
      /fix-t\S*…\S*-1 [^]*fix-t\S*…\S*-2 /,
    );
  });

  it("shows ten thousand tickets on one screen", () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `T-${index}`);
    const tasks = ids.map((task_id) => ({ task_id, description: `Do ${task_id}` }));
    const planned = record("plan", { tasks }, { effects: ids.map((id) => effect(id, null, "pending")) }, "boss");
    const lines = textOf(dashboardFrame(sceneOf([planned]), INITIAL_VIEW, 80, 24));
    expect(lines).toContain("0/10000");
    expect(lines).toContain("more");
  });

  it("shows its minimum size where it does not fit", () => {
    expect(textOf(dashboardFrame(sceneOf(SESSION), INITIAL_VIEW, 39, 9))).toContain("40×10");
  });

  it("keeps open asks visible on every page and screen size", () => {
    for (const page of PAGES)
      for (const rows of [10, 15, 24]) {
        const lines = textOf(dashboardFrame(sceneOf(SESSION), { ...INITIAL_VIEW, page }, 80, rows));
        expect(lines).toContain("Per-role time-out");
      }
  });
});

describe("keys", () => {
  const scene = sceneOf(SESSION);
  const press = (view: View, ...names: string[]) => {
    let last = handleKey(view, { name: "" }, shown(scene, view));
    for (const name of names) last = handleKey(last.view, { name }, shown(scene, last.view));
    return last;
  };

  it("select, open and leave a ticket", () => {
    expect(press(INITIAL_VIEW, "down", "return").view).toMatchObject({ page: "ticket", selected: "tests" });
    expect(press(INITIAL_VIEW, "down", "return", "escape").view).toMatchObject({ page: "list", selected: "tests" });
    expect(press(INITIAL_VIEW, "end").view.selected).toBe("build");
    expect(press(INITIAL_VIEW, "up", "up").view.selected).toBe("docs");
  });

  it("cancel a ticket only after confirmation", () => {
    expect(press(INITIAL_VIEW, "x").action).toBeUndefined();
    expect(press(INITIAL_VIEW, "x", "n").action).toBeUndefined();
    expect(press(INITIAL_VIEW, "x", "y").action).toEqual({ do: "cancel", ticket_id: "docs" });
  });

  it("filter the list; Escape clears the filter", () => {
    expect(selectable(scene, press(INITIAL_VIEW, "/", "s", "h", "i", "p").view)).toEqual(["ship"]);
    expect(selectable(scene, press(INITIAL_VIEW, "/", "s", "h", "i", "p", "return", "escape").view)).toHaveLength(4);
  });

  it("send typed text to the open ticket's agents", () => {
    const typed = press(INITIAL_VIEW, "return", "m", "h", "i", "backspace", "o", "return");
    expect(typed.action).toEqual({ do: "tell", ticket_id: "docs", text: "ho" });
    expect(press(INITIAL_VIEW, "m", "h", "escape").action).toBeUndefined();
  });

  it("do nothing to the session on a read-only screen", () => {
    const view = { ...INITIAL_VIEW };
    for (const name of ["a", "p", "r", "x", "m", "R", "L", "d", "e", "n", "M"]) {
      expect(handleKey(view, { name }, { ...shown(scene, view), steers: false })).toEqual({ view });
    }
  });

  it("show report, log, diff, editor and next session, of the open ticket, and the diff only where git is", () => {
    const keys = { R: "report", L: "log", d: "diff", e: "edit", n: "next" };
    for (const [key, what] of Object.entries(keys)) {
      const ticket_id = what === "diff" ? "docs" : undefined;
      expect(press(INITIAL_VIEW, key).action).toEqual({ do: what, ticket_id });
      expect(press(INITIAL_VIEW, "down", "return", key).action).toEqual({ do: what, ticket_id: "tests" });
    }
    const bare = { ...shown(scene, INITIAL_VIEW), diffs: false };
    expect(handleKey(INITIAL_VIEW, { name: "d" }, bare)).toEqual({ view: INITIAL_VIEW });
    const help = (diffs: boolean) =>
      textOf(dashboardFrame(sceneOf(SESSION, { diffs }), { ...INITIAL_VIEW, page: "help" }, 80, 24));
    expect([help(true), help(false)]).toEqual([
      expect.stringContaining("changes in git"),
      expect.not.stringContaining("git"),
    ]);
  });

  it("merge only what waits to be accepted, and only after confirmation", () => {
    const asking = { ...shown(scene, INITIAL_VIEW), merges: true };
    const asked = handleKey(INITIAL_VIEW, { name: "M" }, asking);
    expect(asked.action).toBeUndefined();
    const lines = textOf(dashboardFrame(sceneOf(SESSION, { merges: true }), asked.view, 80, 24));
    expect(lines).toContain("[a] answer [M] accept and merge");
    expect(lines).toMatch(/ accept the result, and merge it\? y yes, any other key no *$/);
    expect(handleKey(asked.view, { name: "y" }, asking).action).toEqual({ do: "merge" });
    expect(handleKey(asked.view, { name: "n" }, asking)).toEqual({ view: INITIAL_VIEW });
    expect(press(INITIAL_VIEW, "M")).toEqual({ view: INITIAL_VIEW });
  });

  it("retry a ticket, except in a mode without retries", () => {
    expect(press(INITIAL_VIEW, "r").action).toEqual({ do: "retry", ticket_id: "docs" });
    expect(
      handleKey(INITIAL_VIEW, { name: "r" }, { ...shown(scene, INITIAL_VIEW), retries: false }).action,
    ).toBeUndefined();
  });

  it("leave on q, stop on Ctrl-C and suspend on Ctrl-Z, which works while typing too", () => {
    expect(press(INITIAL_VIEW, "q").action).toEqual({ do: "leave" });
    expect(press(INITIAL_VIEW, "ctrl-c").action).toEqual({ do: "stop" });
    for (const keys of [[], ["m"], ["x"]])
      expect(press(INITIAL_VIEW, ...keys, "ctrl-z").action).toEqual({ do: "suspend" });
  });

  it.each(["escape", "ctrl-c"])("leave a field and a confirmation, and nothing else: %s", (key) => {
    expect(press(INITIAL_VIEW, "m", "h", "i", key)).toEqual({ view: { ...INITIAL_VIEW, draft: "hi" } });
    expect(press(INITIAL_VIEW, "/", "s", key)).toEqual({ view: INITIAL_VIEW });
    expect(press(INITIAL_VIEW, "x", key)).toEqual({ view: INITIAL_VIEW });
  });

  it("ask before Ctrl-C cuts turns off; y and another Ctrl-C stop", () => {
    const cuts = { ...shown(scene, INITIAL_VIEW), cuts: true };
    const asked = handleKey(INITIAL_VIEW, { name: "ctrl-c" }, cuts);
    expect(asked.action).toBeUndefined();
    expect(textOf(dashboardFrame(scene, asked.view, 60, 24))).toMatch(
      / stop and cut off 1 turn\? \^C yes, any .* no *$/,
    );
    expect(textOf(dashboardFrame(scene, asked.view, 40, 24))).toMatch(/ stop .*\? \^C yes, any other key no *$/);
    for (const name of ["y", "ctrl-c"])
      expect(handleKey(asked.view, { name }, cuts)).toEqual({ view: INITIAL_VIEW, action: { do: "stop" } });
    for (const name of ["escape", "n", "return"])
      expect(handleKey(asked.view, { name }, cuts)).toEqual({ view: INITIAL_VIEW });
  });

  it("with Alt or Ctrl, and pastes, are not their letters", () => {
    for (const name of ["a", "p", "r", "x", "m", "q", "g", "/", "down"])
      for (const chord of ["alt-", "ctrl-"]) expect(press(INITIAL_VIEW, chord + name)).toEqual({ view: INITIAL_VIEW });
    expect(press(INITIAL_VIEW, "x", "alt-y").action).toBeUndefined();
    const pasted = handleKey(INITIAL_VIEW, { name: "paste", text: "xy" }, shown(scene, INITIAL_VIEW));
    expect(pasted).toEqual({ view: INITIAL_VIEW });
  });

  it("keep the lines of a paste, and bring back a text that Escape left", () => {
    const typing = press(INITIAL_VIEW, "m").view;
    const { view } = handleKey(typing, { name: "paste", text: "one\ntwo" }, shown(scene, typing));
    expect(textOf(dashboardFrame(scene, view, 80, 24))).toMatch(/ tell the session: one⏎two▏ +⏎ ok {2}Esc back *$/);
    const again = press(view, "escape", "m");
    expect(textOf(dashboardFrame(scene, again.view, 80, 24))).toMatch(/session: ▏ .*↑ last text *$/);
    expect(press(again.view, "up", "return").action).toMatchObject({ do: "tell", text: "one\ntwo" });
  });

  it("are named at the end of a field and of a confirmation, however long the text and the id", () => {
    const long = "fix-the-very-long-identifier-of-this-ticket-which-has-sixty-1";
    for (const columns of [40, 60, 80]) {
      const typing = { what: "tell" as const, field: fieldOf("word ".repeat(40) + "end") };
      const typed: View = { ...INITIAL_VIEW, page: "ticket", selected: long, typing };
      expect(textOf(dashboardFrame(scene, typed, columns, 24))).toMatch(/… ?.*end▏ +⏎ ok {2}Esc back *$/);
      const confirmed: View = { ...INITIAL_VIEW, confirm: { do: "cancel", ticket_id: long } };
      expect(textOf(dashboardFrame(scene, confirmed, columns, 24))).toMatch(
        / cancel .*-1\? y yes, any other key no *$/,
      );
    }
  });
});

function shown(scene: Scene, view: View) {
  const can = { steers: true, diffs: true, merges: false, retries: true, cancels: true, cuts: false };
  return { listed: selectable(scene, view), paused: false, rows: pageRows(24), ...can };
}

function hostileScene(text: string): Scene {
  const tasks = ["build", "docs", text].map((task_id) => ({ task_id, description: text }));
  const changed = tasks.map(({ task_id }, index) => ({
    ...{ ticket_id: task_id, title_at: `/tasks/${index}/description`, depends_on: ["build", text] },
    ...{ owner: text, reason: text, order: index },
  }));
  const meta = { ticket_id: "docs", turn_id: "t9", attempt: 1, run: 1 };
  const hold = { hold_id: text, role_id: text, reason: text, account: text };
  const asks = [
    { ask_id: text, kind: "questions", record: SESSION.length + 7, ticket_id: text, open: [text] },
    { ask_id: `${text}2`, kind: "permission", record: SESSION.length + 8, ticket_id: "docs" },
  ] as const;
  return sceneOf(
    [
      ...SESSION,
      record("plan", { tasks, summary: text }, { state: text, effects: [effect(text, null, text)], changed }, "codex"),
      record("turn_request", { message: { payload_type: "instruction" } }, meta, "scheduler", text),
      record("report", { status: "progress", summary: text }, meta, text),
      record(
        "turn_failed",
        { code: text, message: text },
        { ticket_id: "tests", turn_id: "t17", ended: { turns: ["t17"] }, opened: { holds: [hold] } },
        "scheduler",
      ),
      record("review", { decision: text, notes: text }, { ticket_id: "tests" }, text),
      record("artifact_ref", { label: text, uri: text }, { ticket_id: "tests" }, text),
      record(
        "clarification",
        { questions: [{ question_id: text, text }] },
        { ticket_id: "docs", opened: { asks: [asks[0]] } },
        "codex",
      ),
      record(
        "approval_request",
        { subject: "permission", ask_id: text, about: { role_id: text, action: text, details: text } },
        { ticket_id: "docs", opened: { asks: [asks[1]] } },
      ),
      record("report", { status: "error" }, { ticket_id: "tests", effects: [effect("tests", "x", "error", text)] }),
    ],
    { notice: text === "" ? undefined : text, answer: text, outages: text === "" ? [] : [text] },
  );
}
