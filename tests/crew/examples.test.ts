import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadPlanFile } from "../../src/crew/playbook/plan-file.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import { drive, made } from "./drive.ts";
import type { Scratch } from "./programs.ts";
import { cleanUp, programFile, scratchRepository } from "./programs.ts";

const folder = join(import.meta.dirname, "../../examples");
const plans = readdirSync(folder).filter((name) => name.endsWith(".yaml"));

/** Put together here, lest this very file be found to hold it. */
const marked = ["//", "TODO(release) say goodbye"].join(" ");

let repository: Scratch;

beforeEach(() => {
  repository = scratchRepository();
});
afterEach(cleanUp);

it.each(plans)("examples/%s is a plan file by its schema, and to the playbook", async (name) => {
  const path = join(folder, name);
  const fits = validators.plan_file(parse(readFileSync(path, "utf8")));
  expect({ fits, errors: validators.plan_file.errors }).toEqual({ fits: true, errors: null });
  expect(await loadPlanFile(path, programFile("playbook"))).toMatchObject({ ok: true });
});

describe("examples/survey.yaml", () => {
  const answers = { window: "all", hot_files: "10" };
  const survey = join(folder, "survey.yaml");

  it("finds what is wrong, is sent back where names misled it, and puts all in one report, worst first", async () => {
    repository.write({
      "package.json": { name: "x", dependencies: { a: "^2.0.0" } },
      "package-lock.json": {
        lockfileVersion: 3,
        packages: { "": { dependencies: { a: "^1.0.0" } }, "node_modules/a": { version: "1.0.0" } },
      },
      "README.md": "[gone](gone.md)\n",
      "src/hot.ts": "x\n".repeat(40),
      "src/cold.ts": "x\n".repeat(20),
      "tests/all.test.ts": 'import "../src/hot.ts";\n',
    });
    repository.commit("one");
    repository.write({ "src/cold.ts": "x\n".repeat(21) });
    repository.commit("two");
    const driven = await drive(survey, repository.root, answers);
    expect(
      driven.map(({ task_id, decision, discussed, rounds }) => [task_id, decision, discussed, rounds.length]),
    ).toEqual([
      ["hot-spots", "approved", false, 1],
      ["untested", "approved", true, 2],
      ["licences", "approved", false, 1],
      ["lockfile", "approved", false, 1],
      ["links", "approved", false, 1],
      ["digest", "approved", false, 1],
    ]);
    expect(driven[1]?.rounds[0]?.failed).toEqual([
      "false claim: src/hot.ts is imported or named by tests/all.test.ts:1\n",
    ]);
    const report = made(driven, "digest", "report.md");
    expect(report.split("\n").filter((line) => line.startsWith("- `"))).toEqual([
      "- `src/cold.ts`: 2 commits × 21 lines (+21 −0), and no test imports or names it",
      "- `package-lock.json:9`: a@1.0.0 (shipped with the product): its licence is not stated",
      "- `package.json:4`: a is declared as ^2.0.0, the lock file was made for ^1.0.0",
      "- `README.md:1`: links to gone.md, and there is no gone.md",
      "- `src/cold.ts`: 2 commits × 21 lines (+21 −0)",
      "- `src/hot.ts`: 1 commit × 40 lines (+40 −0)",
    ]);
  });

  it("is not sent back where names tell the truth, and has a report for an empty repository", async () => {
    repository.write({ "src/hot.ts": "x\n", "tests/hot.test.ts": 'import "../src/hot.ts";\n' });
    repository.commit("one");
    const driven = await drive(survey, repository.root, answers);
    expect(driven.every(({ decision, rounds }) => decision === "approved" && rounds.length === 1)).toBe(true);
    expect(repository.git("status", "--porcelain")).toBe("");
  });
});

describe("examples/release-check.yaml", () => {
  const check = join(folder, "release-check.yaml");
  const answers = { test_script: "test", marker: "release" };
  const lock = { name: "x", version: "1.2.0", lockfileVersion: 3, packages: { "": { name: "x", version: "1.2.0" } } };

  it("says yes to a package that is ready, and leaves no scratch copy", async () => {
    repository.write({
      "package.json": { name: "x", version: "1.2.0", main: "index.js", scripts: { test: "node index.js" } },
      "package-lock.json": lock,
      "index.js": "console.log('tested');\n",
      "CHANGELOG.md": "# Changes\n\n## [1.2.0] - 2026-01-01\n",
    });
    repository.commit("ready");
    const driven = await drive(check, repository.root, answers);
    expect(driven.map(({ task_id, decision }) => [task_id, decision])).toEqual(
      ["uncommitted", "lockfile", "changelog", "markers", "install", "tests", "lint", "contents", "verdict"].map(
        (id) => [id, "approved"],
      ),
    );
    expect(made(driven, "verdict", "report.md")).toContain("Nothing found.");
    expect(made(driven, "tests", "tests.log")).toContain("tested");
    expect(readdirSync(join(driven[0]?.artifacts ?? "", "..")).filter((name) => name.startsWith("bosun-"))).toEqual([]);
  }, 120_000);

  it("names everything that stands in the way at once, and the verdict is an error", async () => {
    repository.write({
      "package.json": {
        name: "x",
        version: "1.2.0",
        main: "dist/index.js",
        scripts: { test: "echo broken; exit 1", lint: "exit 2" },
      },
      "package-lock.json": lock,
      "index.js": `${marked}\n`,
      ".env": "SECRET=1\n",
      "CHANGELOG.md": "# Changes\n\n## 1.1.0\n\nUntil 1.2.0 nothing.\n",
    });
    repository.commit("not ready");
    repository.git("tag", "v1.2.0");
    repository.write({ "left over.txt": "x" });
    const driven = await drive(check, repository.root, answers);
    expect(driven.at(-1)?.rounds[0]?.report["status"]).toBe("error");
    const report = made(driven, "verdict", "report.md");
    const said = report.split("\n").filter((line) => line.startsWith("- `"));
    expect(said).toEqual([
      '- `package.json`: `git --no-optional-locks status --porcelain` prints what should be empty: "?? \\"left over.txt\\""; all of it is in uncommitted.log',
      "- `CHANGELOG.md:1`: has no heading for version 1.2.0",
      "- `package.json:3`: version 1.2.0 is already tagged v1.2.0",
      `- \`index.js:1\`: ${marked}`,
      expect.stringMatching(/^- `package\.json`: `npm run test` ended with exit code 1: .*broken/),
      expect.stringMatching(/^- `package\.json`: `npm run --if-present lint` ended with exit code 2/),
      "- `package.json`: main names dist/index.js, and the package would not hold it",
      "- `package.json`: .env would be published; it looks like something private",
    ]);
  }, 120_000);
});
