import { expect, it } from "vitest";
import type { Output } from "../../src/ui/terminal.ts";
import { localTime, timelineLines } from "../../src/ui/timeline.ts";

const AT = new Date("2026-01-02T03:04:05Z");
const TOLD = {
  ticket: "write-changelog",
  text: "in_progress -> awaiting_review attempt=1 by=shell",
  style: "dim",
} as const;
const on = (width: number) =>
  ({ program: "bosun", width, style: (style: string, text: string) => `<${style}>${text}` }) as unknown as Output;

it("an event has columns if they leave enough width for its text", () => {
  const line = `${localTime(AT)} s-1 write-changelog  <dim>in_progress -> awaiting_review attempt=1 by=shell`;
  for (const width of [85, 110, Number.POSITIVE_INFINITY])
    expect(timelineLines(on(width), AT, TOLD, "s-1")).toEqual([line]);
  expect(timelineLines(on(80), AT, TOLD)).toEqual([line.replace(" s-1", "")]);
});

it("its text continues below where it began, broken between words", () => {
  const told = { ...TOLD, text: `${TOLD.text} "All that has changed since the last release is written down"` };
  expect(timelineLines(on(90), AT, told, "s-1")).toEqual([
    `${localTime(AT)} s-1 write-changelog  <dim>in_progress -> awaiting_review attempt=1 by=shell "All`,
    `<dim>${" ".repeat(34)}that has changed since the last release is written down"`,
  ]);
  expect(timelineLines(on(Number.POSITIVE_INFINITY), AT, told, "s-1")).toHaveLength(1);
});

it("its command is never broken", () => {
  const command = "bosun resume s-1 --release builder-of-the-whole";
  const told = { ...TOLD, text: "HELD builder-of-the-whole, at once:", command };
  expect(timelineLines(on(120), AT, told)[0]).toMatch(new RegExp(`, at once: ${command}$`));
  for (const width of [40, 80, 110]) expect(timelineLines(on(width), AT, told).at(-1)).toBe(`<dim>  ${command}`);
});

it("on a narrow terminal it has no columns and no session", () => {
  const time = localTime(AT).slice(0, 8);
  expect(timelineLines(on(40), AT, TOLD, "s-1")).toEqual([
    `<dim>${time} write-changelog in_progress`,
    "<dim>  -> awaiting_review attempt=1 by=shell",
  ]);
  expect(timelineLines(on(80), AT, TOLD, "s-1")).toEqual([
    `<dim>${time} write-changelog in_progress -> awaiting_review attempt=1 by=shell`,
  ]);
});
