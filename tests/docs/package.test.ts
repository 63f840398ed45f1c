import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

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

test("CI runs every part of the check once", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(scripts["check"]).toBe("npm run check:static && npm test");
  expect(read(".ci/run").match(/^npm (?:cit|test|run check\S*)$/gm)).toEqual(["npm cit", "npm run check:static"]);
});
