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

describe("an invalid time, or one without a zone, is refused", () => {
  const notRfc3339 = [
    "",
    "now",
    "2025-12-06",
    "2025-12-06 12:34:56Z",
    "2025-12-06t12:34:56z",
    "2025-12-06T12:34Z",
    "2025-12-06T12:34:56+0100",
    "2025-12-06T12:34:56+01",
    "2025-12-06T12:34:56.Z",
    "2025-12-06T12:34:56,5Z",
    "2025-12-06T12:34:56Z\n",
    " 2025-12-06T12:34:56Z",
    "+02025-12-06T12:34:56Z",
    "-2025-12-06T12:34:56Z",
    "20251206T123456Z",
    "2025-W49-6T12:34:56Z",
    "２025-12-06T12:34:56Z",
    `2025-12-06T12:34:56.${"1".repeat(60)}Z`,
  ];
  const notInCalendar = [
    "0000-01-01T00:00:00Z",
    "2025-00-06T12:34:56Z",
    "2025-13-06T12:34:56Z",
    "2025-12-00T12:34:56Z",
    "2025-12-32T12:34:56Z",
    "2025-04-31T12:34:56Z",
    "2025-02-30T12:34:56Z",
    "2025-02-29T12:34:56Z",
    "1900-02-29T12:34:56Z",
    "2025-12-06T24:00:00Z",
    "2025-12-06T12:60:00Z",
    "2025-12-06T23:59:60Z",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
  ];
  const wrongZone = ["2025-12-06T12:34:56", "2025-12-06T12:34:56+24:00", "2025-12-06T12:34:56+01:60"];
  test.each([...notRfc3339, ...notInCalendar, ...wrongZone])("%j", (text) => {
    const message = expect.stringContaining(JSON.stringify(text.slice(0, 40))) as string;
    const hint = expect.stringContaining("Z") as string;
    expect(parseInstant(text)).toEqual({ ok: false, error: { code: "validation_failed", message, hint } });
  });

  it("has a short message on one line, however long the text", () => {
    const refused = parseInstant(`\n\u001b[2J${"9".repeat(1_000_000)}`);
    expect(refused.ok || refused.error.message).toMatch(/^[ -~]{1,120}$/);
  });
});

describe("instants", () => {
  it("keep every millisecond as text", () => {
    fc.assert(
      fc.property(fc.integer({ min: milliseconds("0001-01-01T00:00:00Z"), max: 253402300799999 }), (ms) => {
        expect(milliseconds(instant(ms))).toBe(ms);
        expect(parseInstant(instant(ms))).toEqual({ ok: true, value: instant(ms) });
      }),
    );
  });

  it("are the same moment with every offset", () => {
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

  test.each([1e12, 1e15, 1e16, 1e300, Number.POSITIVE_INFINITY])("end with the year 9999: %d ms later", (ms) => {
    expect(later("9990-12-31T00:00:00Z", ms)).toBe("9999-12-31T23:59:59.999Z");
  });
});
