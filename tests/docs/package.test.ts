import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("every file that the README links is in the package", () => {
  const { files } = JSON.parse(read("package.json")) as { files: string[] };
  const linked = [...read("README.md").matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = ""]) => path);
  expect(linked.length).toBeGreaterThan(0);
  expect(linked.filter((path) => !existsSync(join(ROOT, path)) || !files.includes(path.split("/")[0] ?? ""))).toEqual(
    [],
  );
});

test.each(["SECURITY.md", "docs/repository.md"])("every test that %s names is there", (page) => {
  const named = [...read(page).matchAll(/`(tests\/[^`]+)`/g)].map(([, path = ""]) => path);
  expect([named.length > 15, named.filter((path) => !existsSync(join(ROOT, path)))]).toEqual([true, []]);
});

test("CI runs every part of the check once", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(scripts["check"]).toBe("npm run check:static && npm test");
  expect(read(".ci/run").match(/^npm (?:cit|test|run check\S*)$/gm)).toEqual(["npm cit", "npm run check:static"]);
});

test("npm start before npm ci says what to run, with exit code 3", () => {
  const clone = mkdtempSync(join(tmpdir(), "bosun-clone-"));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  copyFileSync(join(ROOT, "package.json"), join(clone, "package.json"));
  const started = spawnSync("npm", ["start", "--silent"], { cwd: clone, encoding: "utf8" });
  expect([started.status, started.stderr]).toEqual([3, expect.stringContaining("npm ci")]);
});
