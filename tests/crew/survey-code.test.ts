import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { Bench, lines } from "./bench.ts";
import { cleanUp, crewRun, directory, turnLine } from "./programs.ts";

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});
afterEach(cleanUp);

describe("hot-spots", () => {
  beforeEach(() => {
    bench.repository.write({
      "src/old.ts": lines(100),
      "src/big.ts": lines(50),
      "src/small.ts": lines(2),
      "package-lock.json": lines(900),
      "README.md": lines(500),
    });
    bench.repository.write({
      "src/made.ts": `// @generated\n${lines(400)}`,
      "vendor/lib.js": lines(800),
      "test/big.test.ts": lines(700),
      "marked.js": lines(300),
      ".gitattributes": "marked.js linguist-generated\n",
    });
    bench.repository.commit("long ago", "2001-01-01T00:00:00Z");
    for (const count of [3, 4, 5]) {
      bench.repository.write({
        "src/small.ts": lines(count),
        "package-lock.json": lines(900 + count),
        "vendor/lib.js": lines(900 + count),
        "src/made.ts": `// @generated\n${lines(count)}`,
      });
      bench.repository.commit(`small ${count}`);
    }
    bench.repository.write({ "src/big.ts": `${lines(49)}no newline at the end` });
    bench.repository.commit("big");
  });

  it("ranks commits times lines within the window; tests, lock files, generated and vendored files do not count", async () => {
    const found = await bench.items("hot-spots", ["--since=1 year"]);
    expect(found.map(({ file, claim }) => [file, claim["commits"], claim["lines"], claim["score"]])).toEqual([
      ["src/big.ts", 1, 50, 50],
      ["src/small.ts", 3, 5, 15],
    ]);
    expect(bench.kept("hot-spots").looked_at).toBe(
      "4 source files of the repository's own (no tests, nothing generated or vendored) in 4 commits, within 1 year; 2 of them were touched.",
    );
  });

  it("reads all of the history when asked to, and names no more files than asked for", async () => {
    const found = await bench.items("hot-spots", ["--since=all", "--top=2"]);
    expect(found.map(({ file, claim }) => [file, claim["commits"], claim["lines"]])).toEqual([
      ["src/big.ts", 2, 50],
      ["src/old.ts", 1, 100],
    ]);
  });

  it("is disproved by git when a number is wrong", async () => {
    await bench.items("hot-spots");
    const ran = await bench.verdictOn("hot-spots", (item) => ({
      ...item,
      claim: { ...item.claim, commits: 9, ...(item.file === "src/big.ts" ? { lines: 51 } : {}) },
    }));
    expect(ran.code).toBe(1);
    expect(ran.stdout).toBe(
      "false claim: src/big.ts: 9 commits are claimed, git counts 1\nfalse claim: src/big.ts: 51 lines are claimed, git counts 50\nfalse claim: src/small.ts: 9 commits are claimed, git counts 3\n",
    );
  });

  it.each([
    ["--since=yesterday-ish", "no window of history"],
    ["--since=--output=x", "no window of history"],
    ["--top=0", "no number of files"],
    ["--tpo=1", "Unknown option"],
  ])("says what is wrong with %s", async (option, message) => {
    const ran = await bench.survey(["hot-spots", option]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(message);
  });

  it("says what it could not read of the files that were touched, which may be the hottest", async () => {
    bench.repository.write({ "src/data.ts": "\0", "src/gone.ts": lines(9) });
    bench.repository.commit("unread");
    rmSync(join(bench.repository.root, "src/gone.ts"));
    await bench.items("hot-spots");
    const { looked_at, notes } = bench.kept("hot-spots");
    expect(looked_at).toContain("6 source files of the repository's own");
    expect(looked_at).toMatch(/; 4 of them were touched\.$/);
    expect(notes).toEqual([
      "2 of these could not be read: missing, binary, above 1 MiB, or with a name that is not UTF-8.",
    ]);
  });

  it("says so where there is no commit yet", async () => {
    const empty = directory();
    bench.repository.git("init", "--quiet", empty);
    const env = { BOSUN_ARTIFACTS_DIR: bench.artifacts };
    const ran = await crewRun("survey", ["hot-spots"], { cwd: empty, env });
    expect(ran.stdout).toContain("> There is no commit yet, so nothing has changed.");
    expect(ran.stdout).not.toContain("window");
    const from = join(bench.artifacts, "hot-spots.json");
    expect((await crewRun("survey", ["untested", "--from", from], { cwd: empty, env })).stdout).not.toContain("every");
  });

  it("says so when the clone is shallow: its counts are lower bounds", async () => {
    const clone = directory();
    bench.repository.git("clone", "--quiet", "--depth=2", pathToFileURL(bench.repository.root).href, clone);
    const ran = await crewRun("survey", ["hot-spots"], { cwd: clone, env: { BOSUN_ARTIFACTS_DIR: bench.artifacts } });
    expect(ran.stdout).toContain("> This is a shallow clone: the counts are lower bounds.");
  });
});

describe("untested", () => {
  const request = (history: JsonObject[], finding = "hot-spots.json"): Record<string, string> => {
    const artifact = { label: "hot-spots.json", uri: pathToFileURL(join(bench.artifacts, finding)).href };
    const file = join(bench.artifacts, "request.json");
    const context = {
      dependencies: [{ task_id: "hot", artifacts: [{ ...artifact, uri: "file:///gone.json" }, artifact] }],
      history: history.map((payload) => ({ payload_type: "check_result", payload })),
    };
    writeFileSync(file, turnLine({ type: "instruction", payload: {}, expects: ["report"], context }));
    return { BOSUN_REQUEST_FILE: file };
  };

  beforeEach(async () => {
    bench.repository.write({
      "src/named.ts": lines(90),
      "src/imported.ts": lines(80),
      "src/spawned.ts": lines(70),
      "src/door.ts": 'import { inner } from "./inner.ts";\n',
      "src/inner.ts": lines(60),
      "src/alone.ts": lines(50),
      "lib/tool.py": lines(40),
      "theme.css": lines(300),
      "tests/named.test.ts": 'import { named } from "../src/named.js";\n',
      "tests/all.test.ts":
        '// see src/alone\nimport { imported } from "../src/imported";\nspawn("node", ["src/spawned.ts"]);\nawait import("../src/door.ts");\n',
      "tests/test_things.py": "from lib import tool\n",
    });
    bench.repository.commit("one");
    await bench.survey(["hot-spots"]);
  });

  it("goes by names, is disproved by imports, and goes by imports when its request shows the failed check", async () => {
    expect((await bench.survey(["untested"], request([]))).code).toBe(0);
    expect(bench.kept("untested").items.map(({ file }) => file)).toEqual([
      "src/imported.ts",
      "src/spawned.ts",
      "src/inner.ts",
      "src/alone.ts",
      "lib/tool.py",
      "src/door.ts",
    ]);
    const check = await bench.survey(["verify", "untested"]);
    expect(check).toMatchObject({
      code: 1,
      stdout: [
        "false claim: src/imported.ts is imported or named by tests/all.test.ts:2",
        "false claim: src/spawned.ts is imported or named by tests/all.test.ts:3",
        "false claim: lib/tool.py is imported or named by tests/test_things.py:1",
        "false claim: src/door.ts is imported or named by tests/all.test.ts:4",
        "",
      ].join("\n"),
    });
    const failed = { criterion: { text: "c", command: ["x"] }, exit_code: 1, passed: false, output: check.stdout };
    const found = await bench.items("untested", [], request([{ results: [failed] }]));
    expect(found.map(({ file, severity }) => [file, severity])).toEqual([
      ["src/inner.ts", "low"],
      ["src/alone.ts", "medium"],
    ]);
    expect(found[0]?.text).toContain("tests reach it only through `src/door.ts`");
    expect(bench.kept("untested").notes).toEqual([
      "The first try went by names alone and the check disproved it; by imports 4 files came out otherwise.",
    ]);
  });

  it("takes a test's name for no proof where several sources have it, as in a repository of many packages", async () => {
    bench.repository.write({
      "packages/a/index.ts": lines(90),
      "packages/b/index.ts": lines(80),
      "packages/b/test/index.test.ts": 'import { b } from "../index.ts";\n',
    });
    bench.repository.commit("packages");
    await bench.survey(["hot-spots"]);
    await bench.survey(["untested"], request([]));
    const named = bench.kept("untested").items.map(({ file }) => file);
    expect(named).toEqual(expect.arrayContaining(["packages/a/index.ts", "packages/b/index.ts"]));
    expect(named).not.toContain("src/named.ts");
    const { code, stdout } = await bench.survey(["verify", "untested"]);
    expect([code, stdout]).toEqual([1, expect.stringContaining("packages/b/index.ts is imported")]);
    const failed = { criterion: "c", exit_code: 1, passed: false, output: stdout };
    const found = await bench.items("untested", [], request([{ results: [failed] }]));
    expect(found.map(({ file }) => file)).toContain("packages/a/index.ts");
    expect(found.map(({ file }) => file)).not.toContain("packages/b/index.ts");
  });

  it("is not sent back without a reason: a check that failed on something else changes nothing", async () => {
    const other = { criterion: "c", exit_code: 1, passed: false, output: "disk full" };
    expect((await bench.survey(["untested"], request([{ results: [other] }]))).code).toBe(0);
    expect(bench.kept("untested").details["method"]).toBe("names");
  });

  it("says where to get the hot spots when it was given none", async () => {
    const ran = await bench.survey(["untested"]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      "there is no hot-spots.json to start from; make the task depend on the one that finds it",
    );
    expect((await bench.survey(["untested", "--from", join(bench.artifacts, "hot-spots.json")])).code).toBe(0);
  });
});
