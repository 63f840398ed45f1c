import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { folded, widthOf } from "../../src/lib/text-layout.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { hanging } from "../../src/ui/display.ts";
import { shortTicketTable, ticketTable } from "../../src/ui/ending.ts";
import { firstLines, fittedScreen, type Part, partOf, wholeScreen } from "../../src/ui/parts.ts";
import type { TicketLine } from "../../src/ui/reporter.ts";
import { Screen } from "../../src/ui/screen.ts";
import { type Output, outputOn } from "../../src/ui/terminal.ts";
import { showWaiting } from "../../src/ui/waiting.ts";

/** A terminal of this size without colours, and what was written to it since the last call. */
function terminal(columns: number, rows: number) {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns, rows });
  const out: Output = {
    ...outputOn(stream as unknown as NodeJS.WriteStream),
    style: (_, text) => text,
    width: columns,
  };
  return { stream, out, written: () => String(stream.read() ?? "") };
}

const STATES = ["done", "pending", "in_progress", "blocked", "error", "awaiting_review"];

function ticket(number: number, status: string, title: string): TicketLine {
  return { ticket_id: `t${number}`, status, title, attempt: 1, outputs: [], owner: "hand" };
}

/** A status: a headline, tickets, questions, figures. */
function status(out: Output, tickets: readonly TicketLine[], questions: readonly string[]): Part[] {
  return [
    partOf(out, 0, (paper) => {
      for (const line of hanging("s-1 is running (pid 4711)", out.width, 2)) paper.line(line);
    }),
    partOf(
      out,
      3,
      (paper) => {
        for (const line of ticketTable(schedulePresentation, tickets, paper)) paper.line(line);
      },
      { shorter: (rows) => shortTicketTable(schedulePresentation, tickets, out, rows) },
    ),
    partOf(
      out,
      1,
      (paper) => {
        for (const [index, text] of questions.entries())
          showWaiting(paper, "s-1", { kind: "question", ask_id: "c1", question_id: `c1.q${index}`, text, options: [] });
      },
      { shorter: (rows, lines) => firstLines(lines, rows, out.width, "  … bosun inbox") },
    ),
    partOf(out, 2, (paper) => paper.line("12 turns"), { joined: true }),
  ];
}

describe("a status on a screen of any size", () => {
  const text = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 80 }),
    fc.constantFrom(
      "日本語の題名がここにあります",
      "👩‍👩‍👧 family",
      "\u001b[2J\u001b[31mred",
      "x".repeat(300),
      "\u202eabc",
      "",
    ),
  );

  it("is not higher, no row is wider, and the most important part is there", () => {
    const sizes = fc.record({ columns: fc.integer({ min: 20, max: 300 }), rows: fc.integer({ min: 4, max: 100 }) });
    const tickets = fc.array(fc.tuple(fc.constantFrom(...STATES), text), { maxLength: 60 });
    fc.assert(
      fc.property(sizes, tickets, fc.array(text, { maxLength: 8 }), ({ columns, rows }, listed, questions) => {
        const { out } = terminal(columns, rows);
        const lines = listed.map(([state, title], number) => ticket(number, state, title));
        const shown = fittedScreen(status(out, lines, questions), rows, columns);
        const onScreen = shown.flatMap((line) => folded(line, columns));
        expect(onScreen.length).toBeLessThanOrEqual(rows);
        expect(Math.max(...onScreen.map(widthOf))).toBeLessThanOrEqual(columns);
        expect(shown[0]).toMatch(/^s-1 is /);
      }),
    );
  });

  const listed = Array.from({ length: 30 }, (_, number) =>
    ticket(number, STATES[number % STATES.length] ?? "", `Do ${number}, 日本語の題名がここにあります`),
  );

  it.each([
    [60, 15],
    [80, 24],
    [140, 40],
  ])("has on %i columns and %i rows the tickets that matter most", async (columns, rows) => {
    const { out } = terminal(columns, rows);
    const shown = fittedScreen(status(out, listed, ["Which branch?"]), rows, columns);
    await expect(`${shown.join("\n")}\n`).toMatchFileSnapshot(`__snapshots__/status-${columns}x${rows}.txt`);
  });

  it("is the same as without a limit where everything fits", () => {
    const parts = status(terminal(140, 60).out, listed, ["Which branch?"]);
    expect(fittedScreen(parts, 60, 140)).toEqual(wholeScreen(parts));
  });
});

describe("a painted screen", () => {
  it("is written over in one piece, and only when it changes or the terminal has another size", () => {
    const { stream, out, written } = terminal(10, 5);
    const screen = new Screen(out);
    expect(written()).toBe("\n\n\n\n\n");
    screen.paint(["one", "", "0123456789", "a long command"]);
    const [home, clear, below] = ["\u001b[H", "\u001b[K", "\u001b[J"];
    expect(written()).toBe(`${home}one${clear}\n${clear}\n0123456789\na long command${clear}\n${below}`);
    screen.paint(["one", "", "0123456789", "a long command"]);
    expect(written()).toBe("");
    stream.rows = 6;
    expect(screen.isStale).toBe(true);
    for (let times = 0; times < 2; times += 1) screen.paint(["one"]);
    expect(written()).toBe(`${home}one${clear}\n${below}`);
    stream.rows = 5;
    screen.paint(["one"]);
    expect(written()).toBe(`${home}one${clear}\n${below}`);
    process.emit("SIGCONT");
    screen.paint(["one"]);
    expect(written()).toBe(`${home}one${clear}\n${below}`);
    screen.close();
    expect(screen.isStale).toBe(false);
  });
});
