import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filled, from, historyOf, type Lookup, type Recorded, resolve } from "../../src/kernel/references.ts";

const plan = {
  payload_type: "plan",
  payload: { summary: "s", tasks: [{ "a/b": { "~": 1 } }] },
  record: { received_at: "2026-01-01T00:00:00Z" },
};
const report = {
  payload_type: "report",
  payload: { status: "completed" },
  record: {
    received_at: "2026-01-01T00:00:01Z",
    ticket_id: "t",
    attempt: 2,
    effects: [
      { ticket_id: "other", event: "approved" },
      { ticket_id: "t", event: "report_completed" },
    ],
  },
};
const lookup: Lookup = {
  record: (sequence) => (sequence === 1 ? plan : report),
  bytes: () => 1_000,
  file: (sequence, pointer) => `/files/${sequence}${pointer}.json`,
};

describe("resolve", () => {
  it("replaces a reference by a recorded value, by JSON pointer with escapes", () => {
    expect(resolve({ task: { ...from(1, "/tasks/0/a~1b/~0") } }, lookup)).toEqual({ task: 1 });
    expect(resolve({ ...from(1) }, lookup)).toEqual(plan.payload);
  });

  it("allocates next to nothing for a value without references", () => {
    const script = `
      import { resolve } from ${JSON.stringify(join(import.meta.dirname, "../../src/kernel/references.ts"))};
      const texts = Object.fromEntries(Array.from({ length: 10_000 }, (_, place) => ["key" + place, "text"]));
      const allocated = () => {
        const before = process.memoryUsage().heapUsed;
        resolve(texts, {});
        return process.memoryUsage().heapUsed - before;
      };
      allocated();
      console.log(allocated());`;
    const roomy = ["--min-semi-space-size=64", "--max-semi-space-size=64"];
    const measured = spawnSync(process.execPath, [...roomy, "--input-type=module", "--eval", script], {
      encoding: "utf8",
    });
    // Only a list of the keys.
    expect(Number(measured.stdout)).toBeGreaterThan(80_000);
    expect(Number(measured.stdout)).toBeLessThan(300_000);
  });

  it("leaves out a member that the record does not have", () => {
    expect(resolve({ kept: 1, gone: { ...from(1, "/nothing/here") } }, lookup)).toEqual({ kept: 1 });
  });

  it("fills texts into a text, once, and leaves other braces as they are", () => {
    const text = '{a}, {b}, {a} {"c": {}} {__proto__}';
    expect(resolve(filled(text, { a: "{b}", b: { ...from(1, "/summary") } }), lookup)).toBe(
      '{b}, s, {b} {"c": {}} {__proto__}',
    );
  });

  it("takes the first reference that leads to a value", () => {
    expect(resolve([{ $first: [{ ...from(1, "/text") }, { ...from(1, "/summary") }] }], lookup)).toEqual(["s"]);
  });

  it("makes history entries with the event of the record's ticket", () => {
    expect(resolve(historyOf([2]), lookup)).toEqual([
      {
        sequence: 2,
        at: "2026-01-01T00:00:01Z",
        event: "report_completed",
        payload_type: "report",
        attempt: 2,
        payload: { status: "completed" },
      },
    ]);
  });

  it("makes history entries for records about no ticket", () => {
    const record = { ...plan.record, effects: [{ ticket_id: "t", event: "created" }] };
    const told = (recorded: Recorded) => resolve(historyOf([1]), { ...lookup, record: () => recorded });
    const entry = { sequence: 1, at: plan.record.received_at, payload_type: "plan", attempt: 0, payload: plan.payload };
    expect(told(plan)).toEqual([{ ...entry, event: "plan" }]);
    expect(told({ ...plan, record })).toEqual([{ ...entry, event: "created" }]);
  });

  it("gives the path of a file", () => {
    expect(resolve({ plan_file: { $file: [1, "/plan"] } }, lookup)).toEqual({ plan_file: "/files/1/plan.json" });
  });

  it("does not copy a value without references, nor resolve one with other members", () => {
    const plain = { limits: { timeout_s: 1 }, said: { $from: [1, ""], more: true }, price: { $from: "1 EUR" } };
    expect(resolve(plain, lookup)).toBe(plain);
    const mixed = { plain, quoted: { ...from(1, "/summary") } };
    const resolved = resolve(mixed, lookup);
    expect(resolved).toEqual({ plain, quoted: "s" });
    expect((resolved as typeof mixed).plain).toBe(plain);
  });
});
