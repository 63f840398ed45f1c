import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import { plainReporter } from "../../src/ui/plain.ts";
import type { Opening, Reporter } from "../../src/ui/reporter.ts";
import { outputOn } from "../../src/ui/terminal.ts";

const BEFORE_NOON = "2026-01-02T11:59:30Z";

function record(source: string, payload_type: string, payload: JsonObject, meta: Partial<RecordMeta>): UnsealedRecord {
  const told = { kind: "fact", received_at: BEFORE_NOON, disposition: "applied", ...meta } as const;
  return {
    session_id: "s",
    timestamp: BEFORE_NOON,
    version: "1.0",
    source,
    target: "x",
    payload_type,
    payload,
    record: told,
  };
}

const said = (turn: string, summary: string) =>
  record("hand", "report", { status: "progress", summary }, { turn_id: `t-${turn}`, ticket_id: turn });

describe("what agents say of a turn that they are at", () => {
  let written: string[];
  let reporter: Reporter;

  beforeEach(() => {
    vi.useFakeTimers();
    written = [];
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 200 }) as unknown as NodeJS.WriteStream;
    stream.on("data", (text: Buffer) => void written.push(text.toString()));
    const out = outputOn(stream);
    reporter = plainReporter({ out, err: out });
    const now = () => ({ state: "running", counts: {}, turns: 0, waiting: 0, running: [], checking: [], held: [] });
    reporter.begin({ session_id: "s", workspace: "/w", output: "/o", now } as unknown as Opening);
  });
  afterEach(() => void vi.useRealTimers());

  const happens = (one: UnsealedRecord) => reporter.event({ kind: "record", sequence: 2, record: one });
  const told = () => written.filter((text) => text.includes("progress of"));

  it("is told every ten seconds, the latest of each turn, however often they say it", () => {
    for (let step = 1; step <= 1000; step += 1) happens(said("build", `step ${step} of 2000`));
    happens(said("docs", `\u001B[2Jpage ${"x".repeat(500)}`));
    expect(told()).toEqual([]);
    vi.advanceTimersByTime(10_000);
    expect(told()).toHaveLength(2);
    expect(told()[0]).toMatch(/^\S+:59:30\.000 s build +\S*progress of hand "step 1000 of 2000"/);
    expect(told()[1]).toMatch(/ s docs +\S*progress of hand "page x+…"/);
    vi.advanceTimersByTime(20_000);
    expect(told()).toHaveLength(2);
    happens(said("build", "step 1001 of 2000"));
    vi.advanceTimersByTime(10_000);
    expect(told().at(-1)).toContain('"step 1001 of 2000"');
  });

  it("is not told of a turn that is over by then, nor of one whose ticket was given up", () => {
    happens(said("build", "nearly there"));
    happens(said("docs", "nearly there"));
    happens(said("page", "half"));
    happens(record("hand", "artifact_ref", { label: "a", uri: "a" }, { turn_id: "t-page", ticket_id: "page" }));
    happens(record("scheduler", "error", { message: "No." }, { turn_id: "t-page", disposition: "refused" }));
    happens(record("hand", "report", { status: "completed" }, { turn_id: "t-build", ticket_id: "build" }));
    const effects = [
      {
        ticket_id: "docs",
        from: "in_progress",
        event: "withdrawn",
        to: "error",
      },
    ];
    happens(record("user", "user_command", { command: "cancel" }, { ticket_id: "docs", effects }));
    vi.advanceTimersByTime(10_000);
    expect(told()).toEqual([expect.stringContaining("page")]);
  });

  it("is told of a few turns at once and of the others soon", () => {
    for (let turn = 0; turn < 12; turn += 1) happens(said(`t${turn}`, "half"));
    vi.advanceTimersByTime(10_000);
    expect(told()).toHaveLength(8);
    vi.advanceTimersByTime(10_000);
    expect(told()).toHaveLength(12);
  });

  it("is told to whoever comes later, and to nobody once it is closed", () => {
    reporter.earlier?.(said("build", "half"));
    vi.advanceTimersByTime(10_000);
    expect(told()).toHaveLength(1);
    reporter.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
