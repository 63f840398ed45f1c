import { expect, test } from "vitest";
import type { Reader } from "../../src/agents/cli/dialects/dialect.ts";
import { guarded } from "../../src/agents/cli/guarded-reader.ts";
import type { RunEnd } from "../../src/agents/cli/process.ts";

const END: RunEnd = { cause: "exited", exit: { code: 0, signal: null }, spoke: true };

function breaking(at: "read" | "end"): Reader {
  const fail = () => {
    throw new RangeError("Invalid time value");
  };
  return {
    read: at === "read" ? fail : () => "message",
    end: at === "end" ? fail : () => ({ refused: [] }),
  };
}

test.each(["read", "end"] as const)("output on which a dialect breaks in %s fails the turn and nothing else", (at) => {
  const reader = guarded(breaking(at));
  expect(reader.read(Buffer.from("{}"), false)).toBe("message");
  expect(reader.end(END, "")).toMatchObject({ failure: { code: "malformed_output" } });
});
