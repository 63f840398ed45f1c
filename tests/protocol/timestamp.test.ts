import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { instant, later, milliseconds, parseInstant } from "../../src/protocol/timestamp.ts";

describe("a time with a zone is converted to UTC", () => {
  test.each([
    ["2025-12-06T12:34:56Z", "2025-12-06T12:34:56Z"],
    ["2025-12-06T20:34:56+08:00", "2025-12-06T12:34:56Z"],
    ["2025-12-06T12:34:56+00:00", "2025-12-06T12:34:56Z"],
    ["2025-12-06T12:34:56-00:00", "2025-12-06T12:34:56Z"],
    ["2025-12-31T23:30:00-01:00", "2026-01-01T00:30:00Z"],
    ["2025-01-01T00:15:00+05:45", "2024-12-31T18:30:00Z"],
    ["2025-12-06T12:34:56.5Z", "2025-12-06T12:34:56.500Z"],
    ["2025-12-06T12:34:56.007Z", "2025-12-06T12:34:56.007Z"],
    ["2025-12-06T12:34:56.123456789+08:00", "2025-12-06T04:34:56.123Z"],
    ["2025-12-06T12:34:56.000Z", "2025-12-06T12:34:56Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
    ["0099-06-30T00:00:00Z", "0099-06-30T00:00:00Z"],
    ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"],
  ])("%s is %s", (text, utc) => {
    expect(parseInstant(text)).toEqual({ ok: true, value: utc });
  });
});

describe("what is no time, or leaves its zone open, is refused", () => {
  test.each([
    ["2025-12-06T12:34:56", "has no time zone"],
    ["2025-12-06", "is not an RFC 3339 time"],
    ["", "is not an RFC 3339 time"],
    ["now", "is not an RFC 3339 time"],
    ["2025-12-06 12:34:56Z", "is not an RFC 3339 time"],
    ["2025-12-06t12:34:56z", "is not an RFC 3339 time"],
    ["2025-12-06T12:34Z", "is not an RFC 3339 time"],
    ["2025-12-06T12:34:56+0100", "is not an RFC 3339 time"],
    ["2025-12-06T12:34:56+01", "is not an RFC 3339 time"],
    ["2025-12-06T12:34:56.Z", "is not an RFC 3339 time"],
    ["2025-12-06T12:34:56,5Z", "is not an RFC 3339 time"],
    ["2025-12-06T12:34:56Z\n", "is not an RFC 3339 time"],
    [" 2025-12-06T12:34:56Z", "is not an RFC 3339 time"],
    ["+02025-12-06T12:34:56Z", "is not an RFC 3339 time"],
    ["-2025-12-06T12:34:56Z", "is not an RFC 3339 time"],
    ["20251206T123456Z", "is not an RFC 3339 time"],
    ["2025-W49-6T12:34:56Z", "is not an RFC 3339 time"],
    ["２025-12-06T12:34:56Z", "is not an RFC 3339 time"],
    [`2025-12-06T12:34:56.${"1".repeat(60)}Z`, "is not an RFC 3339 time"],
    ["0000-01-01T00:00:00Z", "no calendar has"],
    ["2025-00-06T12:34:56Z", "no calendar has"],
    ["2025-13-06T12:34:56Z", "no calendar has"],
    ["2025-12-00T12:34:56Z", "no calendar has"],
    ["2025-12-32T12:34:56Z", "no calendar has"],
    ["2025-04-31T12:34:56Z", "no calendar has"],
    ["2025-02-30T12:34:56Z", "no calendar has"],
    ["2025-02-29T12:34:56Z", "no calendar has"],
    ["1900-02-29T12:34:56Z", "no calendar has"],
    ["2025-12-06T24:00:00Z", "no calendar has"],
    ["2025-12-06T12:60:00Z", "no calendar has"],
    ["2025-12-06T23:59:60Z", "no calendar has"],
    ["2025-12-06T12:34:56+24:00", "no time zone"],
    ["2025-12-06T12:34:56+01:60", "no time zone"],
    ["0001-01-01T00:00:00+01:00", "outside the years"],
    ["9999-12-31T23:59:59-01:00", "outside the years"],
  ])("%j", (text, why) => {
    const refused = parseInstant(text);
    expect(refused).toMatchObject({
      ok: false,
      error: { code: "validation_failed", hint: expect.stringContaining("Z") },
    });
    expect(refused.ok || refused.error.message).toContain(why);
  });

  it("has a message of bounded length on one line, however long the text", () => {
    const refused = parseInstant(`\n\u001b[2J${"9".repeat(1_000_000)}`);
    expect(refused.ok || refused.error.message).toMatch(/^[ -~]{1,120}$/);
  });
});

describe("instants", () => {
  it("keep every millisecond through text and back", () => {
    fc.assert(
      fc.property(fc.integer({ min: milliseconds("0001-01-01T00:00:00Z"), max: 253402300799999 }), (ms) => {
        expect(milliseconds(instant(ms))).toBe(ms);
        expect(parseInstant(instant(ms))).toEqual({ ok: true, value: instant(ms) });
      }),
    );
  });

  it("mean the same moment with whatever offset they are written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: -1439, max: 1439 }), (ms, offset) => {
        const local = instant(ms + offset * 60_000).slice(0, -1);
        const minutes = Math.abs(offset);
        const pair = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
        expect(parseInstant(`${local}${offset < 0 ? "-" : "+"}${pair}`)).toEqual({ ok: true, value: instant(ms) });
      }),
    );
  });

  it("move by milliseconds", () => {
    expect(later("2025-12-31T23:59:59.500Z", 500)).toBe("2026-01-01T00:00:00Z");
    expect(later("2025-12-06T12:34:56Z", 1)).toBe("2025-12-06T12:34:56.001Z");
  });

  test.each([1e12, 1e15, 1e16, 1e300, Number.POSITIVE_INFINITY])("end with the year 9999, %d ms later", (ms) => {
    expect(later("9990-12-31T00:00:00Z", ms)).toBe("9999-12-31T23:59:59.999Z");
  });
});
