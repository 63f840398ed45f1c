import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, type Rig, rig } from "../commands/rig.ts";

const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** The first block of code in a language after some words. */
function blockAfter(words: string, language: string): string {
  const [, block = ""] = README.slice(README.indexOf(words)).split(`\n\`\`\`${language}\n`);
  return block.split("\n```", 1)[0] ?? "";
}

/** Types lines in the workspace, without a terminal. This repository is what npm has installed. */
function typedAt(here: Rig, lines: string): { status: number | null; stdout: string; stderr: string } {
  const env = { ...here.environment, BOSUN_HOME: here.home };
  const typed = lines.replaceAll('"$(npm root -g)/bosun/', `"${ROOT}/`);
  return spawnSync("sh", ["-ec", typed], { cwd: here.workspace, env, input: "", encoding: "utf8" });
}

test("the README's plan runs, and its output is in the log", () => {
  const here = rig();
  here.write("workspace/plan.yaml", blockAfter("no ticket is done against", "yaml"));
  expect(typedAt(here, "bosun run --plan plan.yaml")).toMatchObject({ status: 0, stderr: "" });
  expect(typedAt(here, "bosun log look").stdout).toContain("| 1 hello.txt");
});

test("the README's agent passes every case of conformance", () => {
  const here = rig();
  here.write("workspace/worker.py", blockAfter("## Put your own agent in a seat", "python"));
  const tried = typedAt(here, "bosun conformance --role worker -- python3 worker.py");
  expect(tried).toMatchObject({ status: 0, stdout: expect.stringMatching(/all 40 cases|40 of 40/i) });
});

test("the README's agent asks one question and makes all four files", () => {
  const here = rig();
  here.write("workspace/worker.py", blockAfter("## Put your own agent in a seat", "python"));
  const asked = typedAt(here, blockAfter("## Put your own agent in a seat", "sh"));
  expect(asked).toMatchObject({ status: 4, stderr: expect.stringContaining("manager.py, which manager runs") });
  expect(asked.stdout).toContain("? c1.reader: Who will read the result?");
  expect(typedAt(here, "bosun answer --defaults; bosun resume")).toMatchObject({ status: 0, stderr: "" });
  const made = execFileSync("ls", { cwd: here.workspace, encoding: "utf8" }).trim().split("\n");
  expect(made).toEqual(["figures.txt", "manager.py", "outline.txt", "page.txt", "words.txt", "worker.py"]);
});
