import { expect, it } from "vitest";
import { payloadLength, payloadText } from "../../../src/ui/report/envelopes.ts";

it("keeps a short payload as it is", () => {
  expect(payloadText({ text: "x".repeat(900) }, 1_000)).toBe(JSON.stringify({ text: "x".repeat(900) }));
});

it("cuts the long texts of a payload first, so that it stays JSON", () => {
  const cut = JSON.parse(payloadText({ text: "x".repeat(5_000), short: "y" }, 1_000)) as {
    text: string;
    short: string;
  };
  expect(cut.short).toBe("y");
  expect(cut.text).toContain("4,600 more characters");
});

it("cuts the payload itself if it is still too long, and adds a note", () => {
  const cut = payloadText({ list: Array.from({ length: 5_000 }, (_, index) => index) }, 1_000);
  expect(cut.length).toBeLessThan(1_100);
  expect(cut).toContain("more characters");
});

it("cuts no character in half", () => {
  expect(payloadText({ list: Array.from({ length: 999 }, () => "😀") }, 500).isWellFormed()).toBe(true);
});

it("keeps less of each payload if there are many", () => {
  expect(payloadLength(76)).toBe(8_000);
  expect(payloadLength(20_000)).toBe(300);
  expect(payloadLength(10_000_000)).toBe(200);
});
