import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorOf } from "../config/scratch.ts";
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
    ["1.5h", 5_400_000],
    ["90", 90_000],
    ["0.5", 500],
    ["365d", MAX_DURATION_MS],
  ])("%s is %d ms", (text, milliseconds) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: milliseconds });
  });

  test.each([
    "",
    "s",
    "-1s",
    "-1",
    "1.",
    ".5h",
    " 1s",
    "1s ",
    "1 s",
    "1S",
    "30m1h",
    "1s1s",
    "1e3s",
    "９s",
    "1y",
    "0x1s",
  ])("refuses %j", (text) => {
    expect(parseDuration(text).ok).toBe(false);
  });

  test.each(["soon", "1w"])("says of %j that it is none", (text) => {
    expect(parseDuration(text)).toMatchObject({ error: { what: expect.stringContaining("not a duration") as string } });
  });

  test.each(["366d", "31536001", "8761h", `${"9".repeat(400)}d`])("names the longest instead of %s", (text) => {
    const { what, expected } = errorOf(parseDuration(text));
    expect([what, expected]).toEqual([expect.not.stringContaining("not a duration"), expect.stringContaining("365d")]);
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
