import { describe, expect, test } from "vitest";
import { eventLines, sequenceOfEventLine } from "../../src/log/events.ts";
import type { LogRecord, UnsealedRecord } from "../../src/protocol/record.ts";
import { unsealed } from "../store/records.ts";

function lines(more: Partial<UnsealedRecord>, meta: Partial<LogRecord["record"]> = {}): string {
  const record = unsealed(12, more);
  return eventLines(12, { ...record, record: { ...record.record, ...meta } });
}

describe("events.log", () => {
  test("has a line for each transition, with its record", () => {
    const effects = [
      { ticket_id: "T-1", from: "in_progress", event: "work_stopped", to: "blocked", reason: "timeout" },
      { ticket_id: "T-2", from: null, event: "planned", to: "pending" },
    ];
    expect(lines({}, { effects })).toBe(
      "[2026-01-01T00:00:00.250Z][T-1][work_stopped] #12 in_progress -> blocked (timeout) by report worker -> scheduler: Work 12 is done.\n" +
        "[2026-01-01T00:00:00.250Z][T-2][planned] #12 new -> pending by report worker -> scheduler: Work 12 is done.\n",
    );
  });

  test("has one line, with its disposition, for a record without transitions", () => {
    expect(lines({ payload: {} }, { effects: [] })).toBe(
      "[2026-01-01T00:00:00.250Z][T-12][report] #12 worker -> scheduler\n",
    );
    const meta = { kind: "fact", received_at: "2026-01-01T00:00:00Z", disposition: "late" } as const;
    expect(lines({ payload: { status: "blocked" }, record: meta })).toBe(
      "[2026-01-01T00:00:00Z][-][report] #12 worker -> scheduler (late): blocked\n",
    );
  });

  test("keeps hostile text on one line, without control characters", () => {
    const summary = "one\ntwo\r\n\u001b[2Jthree\u2028four\u202efive\u0085\u0000six\u3164seven 👩‍👧";
    const text = lines({ payload: { summary }, source: "a\nb" }, { ticket_id: "T]\n[x", effects: [] });
    expect(text).toBe(
      "[2026-01-01T00:00:00.250Z][T) [x][report] #12 a b -> scheduler: one two [2Jthree four five six seven 👩‍👧\n",
    );
    expect(sequenceOfEventLine(text)).toBe(12);
  });

  test("cuts a long summary", () => {
    const text = lines({ payload: { summary: "\ud83d\ude00".repeat(200) } });
    expect(text.length).toBeLessThan(400);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain("…\n");
  });

  test.each([
    "",
    "plain text\n",
    "[a][b] #1 x",
    "[a][b][c] #x y",
    "x [a][b][c] #1 y",
    `[a][b][c] #${"9".repeat(20)} y`,
  ])("%j is not a line of it", (line) => {
    expect(sequenceOfEventLine(line)).toBeUndefined();
  });
});
