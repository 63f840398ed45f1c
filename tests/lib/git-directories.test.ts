import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const MODULE = resolve(import.meta.dirname, "../../src/lib/git-directories.ts");

test("the git directories of a workspace are found without waiting for a pipe that an agent put at .git", () => {
  const workspace = mkdtempSync(join(tmpdir(), "bosun-lib-"));
  onTestFinished(() => rmSync(workspace, { recursive: true }));
  execFileSync("mkfifo", [join(workspace, ".git")]);
  const script = `import { gitDirectories } from ${JSON.stringify(MODULE)}; console.log(gitDirectories(process.argv[1]).own)`;
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", script, workspace], { timeout: 20_000 });
  expect([child.status, child.stdout.toString().trim()]).toEqual([0, join(workspace, ".git")]);
});
