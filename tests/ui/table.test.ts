import { describe, expect, it } from "vitest";
import { tableLines } from "../../src/ui/table.ts";

it("lays out more rows than a function takes arguments", () => {
  const rows = Array.from({ length: 150_000 }, (_, n) => [`t${n}`, "done"]);
  const lines = tableLines([{ heading: "ticket" }, { heading: "status" }], rows, 80);
  expect(lines[0]).toBe("TICKET   STATUS");
  expect(lines.at(-1)).toBe("t149999  done");
});

describe("a table", () => {
  const COLUMNS = [
    { heading: "TICKET", width: 24 },
    { heading: "STATE", width: 36 },
    { heading: "OWNER", width: 16 },
    { heading: "TRY" },
    { heading: "WHAT" },
  ];
  const ROWS = [
    ["write-changelog", "awaiting_review", "shell", "1", "Write what has changed since the last release"],
    ["publish", "blocked (waits for write-changelog)", "-", "0", ""],
  ];
  const shown = (width: number) => tableLines(COLUMNS, ROWS, width).join("\n").split("\n");

  it("has a line for each row if that fits, and cuts the last column", () => {
    expect(shown(100)).toEqual([
      "TICKET           STATE                                OWNER  TRY  WHAT",
      "write-changelog  awaiting_review                      shell  1    Write what has changed since the…",
      "publish          blocked (waits for write-changelog)  -      0",
    ]);
  });

  it("continues on indented lines, all within the width", () => {
    expect(shown(40)).toEqual([
      "TICKET           STATE",
      "  OWNER  TRY  WHAT",
      "write-changelog  awaiting_review",
      "  shell  1    Write what has changed si…",
      "publish          blocked (waits for wri…",
      "  -      0",
    ]);
    for (let width = 12; width < 120; width += 1)
      for (const line of shown(width)) expect(line.length).toBeLessThanOrEqual(width);
  });

  it("is not cut without a terminal", () => {
    const columns = [{ heading: "ID", width: 6 }, { heading: "WHAT" }];
    const lines = tableLines(columns, [["a-long-name", "x".repeat(500)]], Number.POSITIVE_INFINITY);
    expect(lines[1]).toBe(`a-long-name  ${"x".repeat(500)}`);
  });

  it("aligns columns of wide characters, and cuts the last to the width", () => {
    const lines = tableLines(
      [{ heading: "ID", width: 6 }, { heading: "WHAT" }],
      [
        ["漢字", "x".repeat(50)],
        ["toolongid", "\u001b[31my\n z"],
      ],
      24,
    );
    expect(lines).toEqual(["ID      WHAT", `漢字    ${"x".repeat(15)}…`, "toolo…  y z"]);
  });
});
