import { expect, it } from "vitest";
import type { SessionEvent } from "../../src/runtime/bus.ts";
import { TurnLines } from "../../src/ui/turn-lines.ts";

const TURN = { turn_id: "t1", run: 1, role_id: "hand", subject: "build" };
const STARTED: SessionEvent = { kind: "turn_started", ...TURN };
const ENDED: SessionEvent = { kind: "turn_ended", ...TURN };
const printed = (text: string): SessionEvent => ({ kind: "console", ...TURN, stream: "stdout", text });

/** Tells events, each at its second, and gives the lines. */
function told(...events: readonly (readonly [second: number, event: SessionEvent])[]): string[] {
  const lines = new TurnLines();
  return events.flatMap(([second, event]) => {
    if (!("turn_id" in event)) return [];
    const now = second * 1_000;
    const all = lines.tell(event, { session_id: "s", now, since: undefined, width: 80 });
    return all.map(({ text, command }) => [text, command].filter((part) => part !== undefined).join(" "));
  });
}

it("tells when a turn begins, what its agent prints, and when it ends", () => {
  expect(told([0, STARTED], [1, printed("compiling")], [62, ENDED])).toEqual([
    "hand started",
    "hand | compiling",
    "hand ended after 1m02s",
  ]);
});

it("shows three lines of an agent at once and then one a second, and how many more there are", () => {
  const flood = Array.from({ length: 100 }, (_, index) => [1 + index / 50, printed(`${index}`)] as const);
  expect(told([0, STARTED], ...flood, [3, ENDED])).toEqual([
    "hand started",
    "hand | 0",
    "hand | 1",
    "hand | 2",
    "hand | 50",
    "hand | … 96 more lines: bosun log s build",
    "hand ended after 3s",
  ]);
});

it("cuts a line to one row, makes it safe, and leaves out an empty one", () => {
  const [line = "", ...more] = told([0, printed(`\u001B[2J${"x".repeat(100)}`)], [0, printed("  ")]);
  expect(line).toMatch(/^hand \| x+…$/);
  expect(line.length).toBeLessThanOrEqual(48);
  expect(more).toEqual([]);
});

it("tells of the manager's own short turns only what is printed", () => {
  const { subject: _, ...turn } = TURN;
  expect(told([0, { kind: "turn_started", ...turn }], [0.5, { kind: "turn_ended", ...turn }])).toEqual([]);
});
