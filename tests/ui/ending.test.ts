import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Presentation } from "../../src/kernel/presentation.ts";
import { endingLines, headline, ticketTable } from "../../src/ui/ending.ts";
import type { Ending } from "../../src/ui/reporter.ts";
import type { Output } from "../../src/ui/terminal.ts";

const OUTPUT: Output = {
  stream: new PassThrough() as unknown as NodeJS.WriteStream,
  program: "bosun",
  line: () => {},
  lost: undefined,
  ended: new AbortController().signal,
  bell: () => {},
  keepBelow: () => () => {},
  style: (_style, text) => text,
  width: 100,
};

/** The last lines about so many tickets, of which those named are not done. */
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
    presentation: { subjectName: "ticket", parts: () => [] } satisfies Presentation,
    free: true,
    waiting: [],
    unheard: [],
    children: [],
    next: [],
    log: "/log",
  };
  return endingLines(OUTPUT, { session_id: "s-1", tickets, ...figures, ...more } as unknown as Ending);
}

const rows = (lines: readonly string[]) => lines.filter((line) => /^t\d/.test(line)).map((line) => line.split(" ")[0]);

describe("subjects that say something", () => {
  const presentation: Presentation = { subjectName: "juror", statementName: "verdict", parts: () => [] };
  const jurors = Array.from({ length: 41 }, (_, number) => ({
    ticket_id: `j${number}`,
    title: number === 0 ? "Guilty" : `j${number}`,
    status: "answered",
    attempt: 1,
    owner: `j${number}`,
    outputs: [],
  }));

  it("are told in their mode's words, with what they said and nothing about work", () => {
    const [heading, first, second] = ticketTable(presentation, jurors, OUTPUT);
    expect([heading, first, second]).toEqual([
      "JUROR  STATE     TRY  VERDICT",
      "j0     answered  1    Guilty",
      "j1     answered  1    -",
    ]);
  });

  it("are counted by their mode's name for them, and not as done", () => {
    const lines = ending(41, [], { tickets: jurors, presentation });
    expect(lines).toContain("and 1 more juror: bosun status s-1");
    expect(lines).toContain("s-1 is closed: 1 turn");
  });
});

describe("the end of a session", () => {
  it("tells of each of forty tickets", () => {
    const lines = ending(40);
    expect(rows(lines)).toHaveLength(40);
    expect(lines.join("\n")).not.toContain("more ticket");
  });

  it("counts one turn as one, and says nothing about cost where nobody costs anything", () => {
    expect(ending(1)).toContain("s-1 is closed: 1 of 1 ticket done, 1 turn");
  });

  it("says of a session that was resumed what the time counts from, since turns and tickets are those of all of it", () => {
    const one = { session_id: "s-1", state: "closed", outcome: "done", tickets: [], usage: { turns: 7 }, free: true };
    const of = {
      ...one,
      presentation: { subjectName: "ticket", parts: () => [] },
      elapsed_ms: 76_000,
    } as unknown as Ending;
    expect(headline(of)).toBe("s-1 is done: 7 turns, 1m16s");
    expect(headline(of, true)).toBe("s-1 is done: 7 turns, 1m16s since it was taken up");
  });

  it("of more tells those first that are not done, in the plan's order, and where the others are", () => {
    const lines = ending(500, [3, 499]);
    const told = rows(lines);
    expect([told.length, told[3], told.at(-2), told.at(-1)]).toEqual([40, "t3", "t38", "t499"]);
    expect(lines).toContain("and 460 more tickets: bosun status s-1");
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
