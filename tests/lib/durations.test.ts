import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration, MAX_DURATION_MS, parseDuration } from "../../src/lib/durations.ts";

describe("parsing a duration", () => {
  test.each([
    ["250ms", 250],
    ["90s", 90_000],
    ["15m", 900_000],
    ["4h", 14_400_000],
    ["1d", 86_400_000],
    ["1h30m", 5_400_000],
    ["1d2h3m4s5ms", 93_784_005],
    ["0s", 0],
    ["365d", MAX_DURATION_MS],
  ])("%s is %d ms", (text, milliseconds) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: milliseconds });
  });

  test.each(["", "s", "1", "-1s", "1.5h", " 1s", "1s ", "1 s", "1S", "30m1h", "1s1s", "1e3s", "９s", "1y", "0x1s"])(
    "refuses %j",
    (text) => {
      expect(parseDuration(text).ok).toBe(false);
    },
  );

  test("says what to write", () => {
    expect(
      [parseDuration("90"), parseDuration("soon"), parseDuration("9999d")].map((result) => !result.ok && result.error),
    ).toMatchInlineSnapshot(`
        [
          ""90": it has no unit (90s? 90m?); write a whole number with d, h, m, s or ms, such as 90s, 15m or 1h30m",
          ""soon": it is not a duration; write a whole number with d, h, m, s or ms, such as 90s, 15m or 1h30m",
          ""9999d": it is longer than the longest duration allowed, 365d",
        ]
      `);
  });
});

describe("formatting a duration", () => {
  test.each([
    [0, "0s"],
    [-5, "0s"],
    [0.4, "0s"],
    [250, "250ms"],
    [999.9, "999ms"],
    [1_999, "1s"],
    [48_000, "48s"],
    [131_000, "2m11s"],
    [168_000, "2m48s"],
    [900_000, "15m"],
    [14_400_000, "4h"],
    [14_700_000, "4h05m"],
    [14_759_999, "4h05m"],
    [259_200_000, "3d"],
    [270_000_000, "3d03h"],
  ])("%d ms is %s", (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  test("gives a duration that is never longer than the input", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (milliseconds) => {
        const back = parseDuration(formatDuration(milliseconds));
        expect(back.ok && back.value).toBeLessThanOrEqual(milliseconds);
      }),
    );
  });
});
