import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Cut, cutQuoted, LEVELS, sizeOf } from "../../src/kernel/cut.ts";
import { fittingDraft } from "../../src/kernel/fitting.ts";
import { cutTo, fitting, from, historyOf, type Lookup, resolve } from "../../src/kernel/references.ts";
import { canonicalJson } from "../../src/lib/canonical.ts";
import type { Json, JsonObject } from "../../src/lib/json.ts";

const cut = (characters: number, items: number, commands = false): Cut => ({ characters, items, commands });

function lookupOf(payloads: Readonly<Record<number, JsonObject>>): Lookup {
  const payloadOf = (sequence: number) => payloads[sequence] ?? {};
  return {
    record: (sequence) => ({
      payload_type: "report",
      payload: payloadOf(sequence),
      record: { received_at: "2026-01-01T00:00:00Z" },
    }),
    bytes: (sequence) => canonicalJson(payloadOf(sequence)).length * 3 + 100,
    file: (sequence) => `/files/${sequence}`,
  };
}

const bytesOf = (value: unknown) => Buffer.byteLength(canonicalJson(value));

describe("a quoted value", () => {
  it("keeps the beginning of a long text, and says what was cut and where it is", () => {
    expect(cutQuoted({ summary: "abcdefgh", status: "done" }, cut(5, 9), 7)).toEqual({
      summary: "abcde [cut: 3 more characters in record 7]",
      status: "done",
    });
  });

  it("is never cut inside a surrogate pair", () => {
    expect(cutQuoted("ab\u{1F600}cd", cut(3, 9), 7)).toBe("ab [cut: 4 more characters in record 7]");
    expect(cutQuoted("ab\u{1F600}cd", cut(4, 9), 7)).toBe("ab\u{1F600} [cut: 2 more characters in record 7]");
  });

  it("keeps the first entries of a long list, and says so in a list of texts", () => {
    expect(cutQuoted(["a", "b", "c"], cut(5, 1), 7)).toEqual(["a", "[cut: 2 more entries in record 7]"]);
    expect(cutQuoted([{ n: 1 }, { n: 2 }], cut(5, 1), 7)).toEqual([{ n: 1 }]);
    expect(cutQuoted(["a"], cut(5, 0), 7)).toEqual(["a"]);
  });

  it("loses its metadata", () => {
    expect(cutQuoted({ text: "a", metadata: { a: { b: 1 } } }, cut(5, 1), 7)).toEqual({ text: "a" });
  });

  it("keeps executable values whole if asked to", () => {
    const steps = [{ text: "longer", shell: "echo longer" }, { command: ["a", "b", "c"] }];
    const value = { summary: "longer", steps };
    expect(cutQuoted(value, cut(3, 1, true), 7)).toEqual({
      summary: "lon [cut: 3 more characters in record 7]",
      steps,
    });
    expect(cutQuoted({ steps: [{ text: "a" }, { text: "b" }] }, cut(3, 1, true), 7)).toEqual({
      steps: [{ text: "a" }],
    });
    expect(cutQuoted(value, cut(3, 1), 7)).toEqual({
      summary: "lon [cut: 3 more characters in record 7]",
      steps: [
        {
          text: "lon [cut: 3 more characters in record 7]",
          shell: "ech [cut: 8 more characters in record 7]",
        },
      ],
    });
  });
});

describe("a list in the draft itself", () => {
  const lookup = lookupOf({ 1: { label: "log" } });
  const left = (list: readonly Json[], items: number) =>
    (resolve(cutTo({ list }, { characters: 128, items }), lookup) as { list: Json[] }).list.length;
  const quotes = Array.from({ length: 3 }, () => ({ ...from(1) }));

  it("keeps its first entries if all are references, and none at the last level", () => {
    expect([5, 2, 0].map((items) => left(quotes, items))).toEqual([3, 2, 0]);
  });

  it("keeps all entries if they contain references, and 10,000 at the last level", () => {
    const holding = Array.from({ length: 10_001 }, () => ({ task_id: "a", outputs: { ...from(1) } }));
    expect([1, 0].map((items) => left(holding, items))).toEqual([10_001, 10_000]);
    expect(left([...quotes, "told"], 1)).toBe(4);
  });
});

const json = fc.jsonValue({ maxDepth: 4 }).filter((value) => JSON.stringify(value).isWellFormed());

it("sizes a value as its canonical JSON, or one more for each list and object", () => {
  fc.assert(
    fc.property(json, (value) => {
      const exact = bytesOf(value);
      const nested = JSON.stringify(value).split(/[[{]/).length;
      const size = sizeOf(value);
      expect(size).toBeGreaterThanOrEqual(exact);
      expect(size).toBeLessThanOrEqual(exact + nested);
    }),
  );
});

const long = (outputs: number, length: number): JsonObject => ({ outputs: Array(outputs).fill("x".repeat(length)) });

describe("a value that must fit", () => {
  it("is unchanged if it fits", () => {
    const lookup = lookupOf({ 1: long(10, 1_000) });
    const draft = { outputs: { ...from(1, "/outputs") } };
    const whole = resolve(draft, lookup) as JsonObject;
    expect(resolve(fitting(draft, bytesOf(whole) + 20), lookup)).toEqual(whole);
    expect(resolve(fitting(draft, bytesOf(whole) - 1), lookup)).not.toEqual(whole);
  });

  it("is cut to the allowed bytes, and says so", () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 3_000 }));
    fc.assert(
      fc.property(
        fc.array(sizes, { minLength: 1, maxLength: 20, size: "max" }),
        fc.integer({ min: 16_000, max: 60_000 }),
        (all, bytes) => {
          const lookup = lookupOf(
            Object.fromEntries(all.map(([outputs, length], index) => [index, long(outputs, length)])),
          );
          const tickets = all.map((_, index) => ({ outputs: { ...from(index, "/outputs") } }));
          const report = resolve(fitting({ tickets }, bytes), lookup) as JsonObject;
          expect(bytesOf(report)).toBeLessThanOrEqual(bytes);
          expect("metadata" in report).toBe(bytesOf(resolve({ tickets }, lookup)) > bytes);
          expect(report["tickets"]).toHaveLength(all.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("is a request whose context is cut first, and whose commands stay whole", () => {
    const steps = [{ shell: `echo ${"y".repeat(20_000)}` }, { text: "z".repeat(20_000) }];
    const lookup = lookupOf({ 1: long(40, 10_000), 2: { summary: "w".repeat(20_000), steps } });
    const draft = {
      message: { payload_type: "instruction", payload: { ...from(2) } },
      context: { history: historyOf([1, 2]), notes: ["told"], plan_file: { $file: [2, ""] } } as JsonObject,
    };
    const fit = (bytes: number, runs = true) => fittingDraft(draft, lookup, bytes, { note: "It is cut.", runs });
    const sent = (bytes: number, runs = true) => resolve(fit(bytes, runs), lookup) as unknown as typeof draft;
    expect(fit(2_000_000)).toBe(draft);
    expect(fit(560_000)).toEqual(draft);
    expect(fit(200_000).message).toBe(draft.message);
    expect(sent(200_000).context["notes"]).toEqual(["told", "It is cut."]);
    expect(bytesOf(sent(200_000))).toBeLessThanOrEqual(200_000);
    expect(bytesOf(sent(60_000))).toBeLessThanOrEqual(60_000);
    expect(sent(60_000).message).toMatchObject({ payload: { steps: [steps[0], {}] } });
    // It cannot be smaller than its commands, which stay whole.
    expect(fit(1_000).context).toEqual(
      cutTo({ ...draft.context, notes: ["told", "It is cut."] }, LEVELS.at(-1) ?? cut(0, 0)),
    );
    expect(sent(1_000).message).toMatchObject({ payload: { steps: [steps[0], {}] } });
    // An agent that runs nothing gets cut commands, once nothing else is left to cut.
    expect(sent(60_000, false).message).toEqual(sent(60_000).message);
    expect(bytesOf(sent(10_000, false))).toBeLessThanOrEqual(10_000);
  });

  it("is not measured again with each context if its message alone is too long", () => {
    let read = 0;
    const records = lookupOf({ 1: long(40, 10_000), 2: { summary: "w".repeat(900_000) } });
    const counting = {
      ...records,
      record: (sequence: number) => {
        if (sequence === 2) read += 1;
        return records.record(sequence);
      },
    };
    const draft = { message: { payload: { ...from(2) } }, context: { history: historyOf([1]) } as JsonObject };
    const fit = fittingDraft(draft, counting, 600_000, { note: "It is cut.", runs: true });
    expect(bytesOf(resolve(fit as unknown as Json, records))).toBeLessThanOrEqual(600_000);
    // Once for the bound, the draft, the message, the draft with the shortest context, and the draft with a shorter message.
    expect(read).toBeLessThanOrEqual(5);
  });
});
