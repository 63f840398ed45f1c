import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readerOf } from "../../src/kernel/kit/descriptor.ts";
import { debate } from "../../src/modes/debate/debate.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import type { Standing } from "../../src/runtime/feed/standing.ts";
import { widthOf } from "../../src/lib/text-layout.ts";
import { LiveLine } from "../../src/ui/live-line.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import type { Opening } from "../../src/ui/reporter.ts";
import { summaryWords } from "../../src/ui/plain.ts";
import { localTime } from "../../src/ui/timeline.ts";
import { outputOn } from "../../src/ui/terminal.ts";

const STANDING: Standing = {
  state: "running",
  counts: { done: 7, in_progress: 6, pending: 6, error: 1 },
  turns: 30,
  usage: { turns: 30, input_tokens: 1, output_tokens: 1, cost_usd: 1.2 },
  waiting: 1,
  running: Array.from({ length: 6 }, (_, number) => ({ turn_id: `t${number}`, role_id: "hand" })),
  checking: [],
  held: [],
};

describe("the live line", () => {
  it.each<[Partial<Standing>, string]>([
    [{}, "7/20 done · 6 at work · 1 needs you · 1 failed · $1.20"],
    [
      { counts: { done: 2 }, running: [], waiting: 2, held: [{ hold_id: "a", role_id: "a", reason: "trust" }] },
      "2/2 done · 2 need you · 1 held · $1.20",
    ],
    [
      {
        counts: { done: 2 },
        running: [],
        waiting: 0,
        held: ["a", "b"].map((role_id) => ({
          hold_id: role_id,
          role_id,
          reason: "unavailable",
          account: "acme",
          since: "2026-01-02T03:04:05Z",
          until: "2026-01-02T03:04:10Z",
          trying: true,
        })),
        usage: undefined,
      },
      `2/2 done · acme is unavailable since ${localTime(new Date("2026-01-02T03:04:05Z")).slice(0, 8)}; trying again`,
    ],
    [{ state: "paused", counts: {}, waiting: 0, usage: undefined, checking: ["a"] }, "paused · 7 at work"],
    [
      {
        usage: { turns: 1, input_tokens: 41_000, output_tokens: 0, cost_usd: null },
        counts: {},
        running: [],
        waiting: 0,
      },
      "41k tokens",
    ],
    ...(
      [
        [{ input_tokens: 41_000, cost_usd: null, told_usd: 1.06, untold_turns: 1 }, "at least $1.06"],
        [{ input_tokens: 41_000, cost_usd: null, untold_turns: 1 }, "at least 41k tokens"],
        [{ input_tokens: null, output_tokens: null, cost_usd: null, untold_turns: 2 }, ""],
      ] as const
    ).map(([usage, words]): [Partial<Standing>, string] => [
      { usage: { turns: 2, output_tokens: 0, ...usage }, counts: {}, running: [], waiting: 0 },
      words,
    ]),
  ])("says what is done, under way and needed, and what it cost: %o", (more, words) => {
    expect(summaryWords({ ...STANDING, ...more }, schedulePresentation)).toBe(words);
  });

  it.each([
    ["states something", readerOf(debate).presentation],
    ["is not known", undefined],
  ])("counts each state in a mode that %s", (_, presentation) => {
    const counts = { answering: 2, answered: 1 };
    const standing = { ...STANDING, counts, waiting: 0, running: [], usage: undefined };
    expect(summaryWords(standing, presentation)).toBe("2 answering · 1 answered");
  });

  describe("on a terminal", () => {
    let written: string[];
    let texts: number;
    let text: () => string;
    let stream: NodeJS.WriteStream;
    const open = () => {
      const line = new LiveLine(outputOn(stream), () => {
        texts += 1;
        return text();
      });
      return line;
    };
    const lines = () => written.map(stripVTControlCharacters).filter((one) => one.trim() !== "");

    beforeEach(() => {
      vi.useFakeTimers();
      written = [];
      texts = 0;
      text = () => `7/20 done · ${texts}`;
      stream = Object.assign(new PassThrough(), { isTTY: true, columns: 20 }) as unknown as NodeJS.WriteStream;
      stream.on("data", (chunk: Buffer) => void written.push(chunk.toString()));
    });
    afterEach(() => void vi.useRealTimers());

    it("changes ten times a second at most, however often something happens, and not if nothing does", () => {
      const line = open();
      for (let ms = 0; ms < 1000; ms += 1) {
        line.touch();
        vi.advanceTimersByTime(1);
      }
      expect(lines().length).toBeGreaterThan(5);
      expect(lines().length).toBeLessThanOrEqual(10);
      const before = written.length;
      vi.advanceTimersByTime(150);
      vi.advanceTimersByTime(10_000);
      expect(written.length - before).toBeLessThanOrEqual(4);
      line.close();
      expect(vi.getTimerCount()).toBe(0);
    });

    it("takes little time of a session whose standing takes long to count", () => {
      let spent = 0;
      vi.spyOn(performance, "now").mockImplementation(() => Date.now() + spent);
      onTestFinished(() => void vi.restoreAllMocks());
      text = () => String((spent += 50));
      const line = open();
      for (let step = 0; step < 100; step += 1) {
        line.touch();
        vi.advanceTimersByTime(100);
      }
      expect(texts).toBeGreaterThan(2);
      expect(texts).toBeLessThanOrEqual(5);
      line.close();
    });

    it.each([true, false])("is there only where rows can be drawn again: %s", (canRedraw) => {
      const out = outputOn(stream);
      const reporter = plainReporter({ out, err: out, canRedraw });
      const opening = { session_id: "s-1", workspace: "/w", now: () => STANDING, time: Date.now, earlier: [] };
      reporter.begin({ ...opening, presentation: () => schedulePresentation } as unknown as Opening);
      vi.advanceTimersByTime(500);
      expect(lines().some((line) => line.includes("7/20 done"))).toBe(canRedraw);
      reporter.close();
      expect(vi.getTimerCount()).toBe(0);
    });

    it("is cut to the terminal's width and never wraps", () => {
      text = () => "発表の文章を書き、変更をすべて一覧にまとめて確認する";
      const line = open();
      vi.advanceTimersByTime(200);
      expect(widthOf(lines().at(-1) ?? "")).toBeLessThan(20);
      line.close();
    });
  });
});
