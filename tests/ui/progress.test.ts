import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import type { Opening, Reporter } from "../../src/ui/reporter.ts";
import { outputOn } from "../../src/ui/terminal.ts";
import { effect, record } from "./records.ts";

const AT = new Date(2026, 0, 2, 11, 59, 30).toISOString();

const said = (turn: string, summary: string) =>
  record("report", { status: "progress", summary }, { turn_id: `t-${turn}`, ticket_id: turn, received_at: AT }, "hand");

const ended = (turn: string) => ({ ended: { turns: [`t-${turn}`] } });

describe("progress of an open turn", () => {
  let written: string[];
  let reporter: Reporter;

  beforeEach(() => {
    vi.useFakeTimers();
    written = [];
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 200 }) as unknown as NodeJS.WriteStream;
    stream.on("data", (text: Buffer) => void written.push(text.toString()));
    const out = outputOn(stream);
    reporter = plainReporter({ out, err: out, canRedraw: false });
  });
  afterEach(() => void vi.useRealTimers());

  const begin = (...earlier: readonly UnsealedRecord[]) => {
    const now = () => ({ state: "running", counts: {}, turns: 0, waiting: 0, running: [], checking: [], held: [] });
    const where = { session_id: "s", workspace: "/w", output: "/o" };
    const opening = { ...where, earlier, now, time: Date.now, presentation: () => undefined };
    reporter.begin(opening as unknown as Opening);
  };
  const happens = (one: UnsealedRecord) => reporter.event({ kind: "record", sequence: 2, record: one });
  const shown = () => written.filter((text) => text.includes("progress of"));

  it("is shown every ten seconds, the latest of each turn", () => {
    begin();
    for (let step = 1; step <= 1000; step += 1) happens(said("build", `step ${step} of 2000`));
    happens(said("docs", `\u001B[2Jpage ${"x".repeat(500)}`));
    expect(shown()).toEqual([]);
    vi.advanceTimersByTime(10_000);
    expect(shown()).toHaveLength(2);
    expect(shown()[0]).toMatch(/^11:59:30\.000 s build +\S*progress of hand "step 1000 of 2000"/);
    expect(shown()[1]).toMatch(/ s docs +\S*progress of hand "page x+…"/);
    vi.advanceTimersByTime(20_000);
    expect(shown()).toHaveLength(2);
    happens(said("build", "step 1001 of 2000"));
    vi.advanceTimersByTime(10_000);
    expect(shown().at(-1)).toContain('"step 1001 of 2000"');
  });

  it("is not shown once the turn is over or its ticket is taken away", () => {
    begin();
    happens(said("build", "nearly there"));
    happens(said("docs", "nearly there"));
    happens(said("page", "half"));
    happens(record("artifact_ref", { label: "a", uri: "a" }, { turn_id: "t-page", ticket_id: "page" }, "hand"));
    happens(record("error", { message: "No." }, { turn_id: "t-page", disposition: "refused" }, "scheduler"));
    happens(
      record("report", { status: "completed" }, { turn_id: "t-build", ticket_id: "build", ...ended("build") }, "hand"),
    );
    const effects = [effect("docs", "in_progress", "error", "withdrawn")];
    happens(record("user_command", { command: "cancel" }, { ticket_id: "docs", effects, ...ended("docs") }, "user"));
    vi.advanceTimersByTime(10_000);
    expect(shown()).toEqual([expect.stringContaining("page")]);
  });

  it("is shown for eight turns at once, and then for the others", () => {
    begin();
    for (let turn = 0; turn < 12; turn += 1) happens(said(`t${turn}`, "half"));
    vi.advanceTimersByTime(10_000);
    expect(shown()).toHaveLength(8);
    vi.advanceTimersByTime(10_000);
    expect(shown()).toHaveLength(12);
  });

  it("is shown to a later viewer, and not after the close", () => {
    begin(said("build", "half"));
    vi.advanceTimersByTime(10_000);
    expect(shown()).toHaveLength(1);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
