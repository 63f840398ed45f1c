import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/lib/canonical.ts";
import type { Json } from "../../src/lib/json.ts";
import { expectedHash, seal } from "../../src/log/chain.ts";
import { MAX_RECORD_BYTES } from "../../src/protocol/limits.ts";
import { GENESIS, type LogRecord } from "../../src/protocol/record.ts";
import { chain, unsealed } from "../store/records.ts";

/** The hash as SPEC.md defines it: SHA-256 over the domain and the canonical record without its hash. */
function specified(record: LogRecord): string {
  const { hash: _, ...link } = record.integrity;
  const text = canonicalJson({ ...record, integrity: link });
  return `sha256:${createHash("sha256").update(`bosun-log-v1\0${text}`).digest("hex")}`;
}

describe("a sealed record", () => {
  test("is the canonical line of the record with its place in the chain", () => {
    const sealed = seal(unsealed(7), { sequence: 7, previous: GENESIS });
    const record = JSON.parse(sealed.line) as LogRecord;
    expect(record).toEqual({ ...unsealed(7), integrity: { sequence: 7, previous: GENESIS, hash: sealed.hash } });
    expect(sealed.line).toBe(`${canonicalJson(record)}\n`);
    expect(sealed).toMatchObject({ sequence: 7, payload_type: "report", subject: "T-7", hash: specified(record) });
  });

  test("without a ticket has no subject", () => {
    const record = unsealed(1, {
      record: { kind: "fact", received_at: "2026-01-01T00:00:00Z", disposition: "applied" },
    });
    expect(seal(record, { sequence: 1, previous: GENESIS })).not.toHaveProperty("subject");
  });

  test("has the specified hash and the canonical bytes for every payload", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue() as fc.Arbitrary<Json>),
        fc.integer({ min: 1 }),
        (payload, sequence) => {
          const sealed = seal(unsealed(sequence, { payload }), { sequence, previous: GENESIS });
          const record = JSON.parse(sealed.line) as LogRecord;
          expect(sealed.line).toBe(`${canonicalJson(record)}\n`);
          expect(sealed.hash).toBe(specified(record));
          expect(expectedHash(sealed.line)).toBe(sealed.hash);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("has the hash of the record before it", () => {
    const [first, second] = chain(2).map((each) => JSON.parse(each.line) as LogRecord);
    expect(first?.integrity.previous).toBe(`sha256:${"0".repeat(64)}`);
    expect(second?.integrity.previous).toBe(first?.integrity.hash);
  });

  test("throws for a record larger than readers accept", () => {
    const link = { sequence: 1, previous: GENESIS };
    const around = Buffer.byteLength(seal(unsealed(1, { payload: { text: "" } }), link).line);
    const sealed = (bytes: number) => seal(unsealed(1, { payload: { text: "a".repeat(bytes - around) } }), link);
    expect(sealed(MAX_RECORD_BYTES).line).toHaveLength(MAX_RECORD_BYTES);
    expect(() => sealed(MAX_RECORD_BYTES + 1)).toThrow(RangeError);
  });

  test("throws for a payload without a canonical form", () => {
    const record = unsealed(1, { payload: { text: "\ud800" } });
    expect(() => seal(record, { sequence: 1, previous: GENESIS })).toThrow(TypeError);
  });
});

test("a line without a hash member has no expected hash", () => {
  expect(expectedHash('{"a":1}\n')).toBeUndefined();
  expect(expectedHash('{"integrity":{"hash":"sha256:00","previous":""}}')).toBeUndefined();
});
