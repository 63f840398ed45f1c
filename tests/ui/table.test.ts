import { expect, it } from "vitest";
import { tableLines } from "../../src/ui/table.ts";

it("a table may have more rows than a function takes arguments", () => {
  const rows = Array.from({ length: 150_000 }, (_, n) => [`t${n}`, "done"]);
  const lines = tableLines([{ heading: "ticket" }, { heading: "status" }], rows, 80);
  expect(lines[0]).toBe("ticket   status");
  expect(lines.at(-1)).toBe("t149999  done");
});
