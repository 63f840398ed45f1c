import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWithPackage } from "../installed.ts";
import { filesBelow, ROOT } from "../sources.ts";

const PROGRAM = "tests/harness/children/examples.ts";

it("the examples run in a program of its own, which has installed the package", () => {
  const folder = folderWithPackage("examples/harness", PROGRAM);
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM], { cwd: folder, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({
    shown: "Adding.\n[add: 7]\nIt is 7.",
    debate: {
      spoken: [
        ["user", "Argue for: tea"],
        ["pro", "Tea warms."],
        ["con", "Coffee wakes."],
        ["pro", "Tea is calm. I agree that coffee is faster."],
      ],
      stoppedBy: ['contains("I agree")'],
      verdict: "pro",
    },
    judged: { scores: [{ participant: "pro", score: 8, reason: "calm" }] },
    interrogation: [
      ["witness", "I saw a fox."],
      ["interrogator", "Where?"],
      ["witness", "At the barn."],
      ["interrogator", "When?"],
      ["witness", "At noon."],
    ],
  });
});

it("an example has 20 to 40 lines", () => {
  const lengths = filesBelow(join(ROOT, "examples/harness")).map(
    (file) => readFileSync(file, "utf8").trimEnd().split("\n").length,
  );
  expect(lengths).toHaveLength(4);
  expect(lengths.filter((lines) => lines < 20 || lines > 40)).toEqual([]);
});
