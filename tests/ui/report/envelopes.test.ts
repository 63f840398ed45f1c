import { expect, it } from "vitest";
import { cutText, payloadLength } from "../../../src/ui/report/envelopes.ts";

it("cuts a text that is too long, with a note, but no character in half", () => {
  expect(cutText("short", 500)).toBe("short");
  const cut = cutText(`x${"😀".repeat(999)}`, 500);
  expect(cut.isWellFormed()).toBe(true);
  expect(cut).toContain("1,499 more characters");
});

it("keeps less of each payload if there are many", () => {
  expect(payloadLength(76)).toBe(8_000);
  expect(payloadLength(20_000)).toBe(300);
  expect(payloadLength(10_000_000)).toBe(200);
});
