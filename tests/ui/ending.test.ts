import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { endingLines, ticketTable } from "../../src/ui/ending.ts";
import type { Ending } from "../../src/ui/reporter.ts";
import type { Output } from "../../src/ui/terminal.ts";

const OUTPUT: Output = {
  stream: new PassThrough() as unknown as NodeJS.WriteStream,
  program: "bosun",
  line: () => {},
  lost: undefined,
  ended: new AbortController().signal,
  command: () => {},
  alert: () => {},
  keepBelow: () => () => {},
  style: (_style, text) => text,
  width: 100,
};

/** The ending of a session with so many tickets, the given ones failed. */
function ending(count: number, failed: readonly number[] = [], more: Partial<Ending> = {}): string[] {
  const tickets = Array.from({ length: count }, (_, number) => ({
    ticket_id: `t${number}`,
    title: "Do it",
    status: failed.includes(number) ? "error" : "done",
    attempt: 1,
    outputs: [],
  }));
  const figures = {
    exit_code: 0,
    state: "closed",
    usage: { turns: 1, cost_usd: null },
    presentation: schedulePresentation,
    free: true,
    waiting: [],
    unheard: [],
    children: [],
    next: [],
    kept: [],
    log: "/log",
  };
  return endingLines(OUTPUT, { session_id: "s-1", tickets, ...figures, ...more } as unknown as Ending);
}

const rows = (lines: readonly string[]) => lines.filter((line) => /^t\d/.test(line)).map((line) => line.split(" ")[0]);

describe("subjects of a mode that are no tickets", () => {
  const presentation = { ...schedulePresentation, subjectName: "juror", statementName: "verdict" };
  const jurors = Array.from({ length: 41 }, (_, number) => ({
    ticket_id: `j${number}`,
    title: number === 0 ? "Guilty" : `j${number}`,
    status: "answered",
    attempt: 1,
    owner: `j${number}`,
    outputs: [],
  }));

  it("are shown with the words of their mode", () => {
    const [heading, first, second] = ticketTable(presentation, jurors, OUTPUT);
    expect([heading, first, second]).toEqual([
      "JUROR  STATE     TRY  VERDICT",
      "j0     answered  1    Guilty",
      "j1     answered  1    -",
    ]);
  });

  it("are counted by the name of their mode, and not as done", () => {
    const lines = ending(41, [], { tickets: jurors, presentation });
    expect(lines).toContain("and 1 answered");
    expect(lines).toContain("s-1 is closed: 1 turn");
  });
});

describe("the end of a session", () => {
  it("shows each of forty tickets", () => {
    const lines = ending(40);
    expect(rows(lines)).toHaveLength(40);
    expect(lines.join("\n")).not.toContain("and ");
  });

  it("gives a path that does not fit a line of its own", () => {
    const [home, far] = ["/home/ada/.local/state/bosun", `/${"x".repeat(92)}`];
    expect(ending(1, [], { report: `${home}/final_report.md`, log: far }).slice(-3)).toEqual([
      `report  ${home}/final_report.md`,
      "log",
      `  ${far}`,
    ]);
  });

  it("counts one turn as one, and shows no cost of free agents", () => {
    expect(ending(1)).toContain("s-1 is closed: 1 of 1 ticket done, 1 turn");
  });

  it("shows of more tickets the most urgent, in the plan's order", () => {
    const lines = ending(500, [3, 499]);
    const told = rows(lines);
    expect([told.length, told[3], told.at(-2), told.at(-1)]).toEqual([40, "t3", "t38", "t499"]);
    expect(lines).toContain("and 460 done");
    expect(lines.join("\n")).toContain("498 of 500 tickets done");
    expect(
      rows(
        ending(
          500,
          Array.from({ length: 60 }, (_, number) => 440 + number),
        ),
      )[0],
    ).toBe("t440");
  });
});
