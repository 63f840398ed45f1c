import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { shown } from "../../src/crew/survey/finding.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { Bench, lines, places } from "./bench.ts";
import { cleanUp, directory, turnLine } from "./programs.ts";

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});
afterEach(cleanUp);

describe("every survey", () => {
  const kinds = ["hot-spots", "licences", "lockfile", "links"];

  it.each(kinds)("%s finds nothing in a repository without a commit", async (kind) => {
    expect(await bench.items(kind)).toEqual([]);
    expect((await bench.survey(["digest"])).code).toBe(0);
  });

  it("changes no file and starts no program that the repository's configuration names", async () => {
    bench.repository.write({
      "a.ts": lines(3),
      "a b.md": "[x](gone.md)\n",
      "package.json": { name: "x" },
      ".gitattributes": "*.ts diff=evil\n",
    });
    const signer = join(directory(), "signer");
    const signature = "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n";
    // git fails if the signer does not read its input.
    const signs = `cat >/dev/null\ntouch started\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\nprintf -- '${signature}'\n`;
    writeFileSync(signer, `#!/bin/sh\n${signs}`, { mode: 0o755 });
    bench.repository.git("config", "gpg.program", signer);
    bench.repository.git("add", "--all");
    bench.repository.git("commit", "--quiet", "-S", "-m", "signed");
    rmSync(join(bench.repository.root, "started"));
    bench.repository.git("config", "core.fsmonitor", "touch started; false");
    bench.repository.git("config", "diff.evil.textconv", "touch started; cat");
    bench.repository.git("config", "diff.external", "touch started");
    bench.repository.git("config", "log.showSignature", "true");
    // With a changed time, git wants to refresh its index.
    bench.repository.write({ "a.ts": lines(3) });
    const state = () => ({
      files: ["", ".git"].flatMap((folder) => readdirSync(join(bench.repository.root, folder))),
      index: readFileSync(join(bench.repository.root, ".git/index")),
    });
    const before = state();
    for (const kind of [...kinds, "untested", "digest"]) await bench.items(kind);
    expect(state()).toEqual(before);
  });

  it("finds files whose names begin with a dash or hold blanks, newlines and brackets", async () => {
    const names = [
      "-rf.ts",
      "a b.ts",
      "new\nline.ts",
      ":(top)x.ts",
      "[a].ts",
      "日本.ts",
      "back\\slash.ts",
      '"q.ts',
      "*.ts",
    ];
    for (const [index, name] of names.entries()) {
      bench.repository.write({ [name]: lines(index + 2) });
      bench.repository.commit(`name ${index}`);
    }
    bench.repository.write({
      "-n.md": "[a](<a b.ts>) [b](a%20b.ts) [c](日本.ts) [d](./-rf.ts) [e](<gone file.md>) [f](<a*.ts>)\n",
    });
    bench.repository.commit("links");
    expect(places(await bench.items("hot-spots")).toSorted()).toEqual(names.toSorted());
    expect(places(await bench.items("links"))).toEqual(["-n.md:1", "-n.md:1"]);
    expect((await bench.survey(["hot-spots"])).stdout).toContain('`"new\\nline.ts"`');
  });

  it("names what is missing: a kind, a directory, a work tree, a finding", async () => {
    expect(await bench.survey(["nonsense"])).toMatchObject({ code: 2, stderr: expect.stringContaining("nonsense") });
    const nowhere = await bench.survey(["links"], { BOSUN_ARTIFACTS_DIR: "" });
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining("BOSUN_ARTIFACTS_DIR") });
    const outside = await bench.survey(["links"], {}, directory());
    expect(outside).toMatchObject({ code: 1, stderr: expect.stringContaining("git work tree") });
    const unmade = await bench.survey(["verify", "links"]);
    expect(unmade).toMatchObject({ code: 1, stderr: expect.stringContaining("links.json") });
    const alone = await bench.survey(["untested"]);
    expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining("hot-spots.json") });
  });
});

describe("hot-spots", () => {
  beforeEach(() => {
    bench.repository.write({
      "src/old.ts": lines(100),
      "src/big.ts": lines(50),
      "src/small.ts": lines(2),
      "src/made.ts": `// @generated\n${lines(400)}`,
      "vendor/lib.js": lines(800),
      "test/big.test.ts": lines(700),
      "package-lock.json": lines(900),
      "README.md": lines(500),
    });
    bench.repository.commit("long ago", "2001-01-01T00:00:00Z");
    for (const count of [3, 4, 5]) {
      bench.repository.write({
        "src/small.ts": lines(count),
        "vendor/lib.js": lines(900 + count),
        "src/made.ts": `// @generated\n${lines(count)}`,
      });
      bench.repository.commit(`small ${count}`);
    }
    bench.repository.write({ "src/big.ts": `${lines(49)}no newline at the end` });
    bench.repository.commit("big");
  });

  it("ranks source files by commits and lines, without tests, generated and vendored ones", async () => {
    const found = await bench.items("hot-spots", ["--since=1 year"]);
    expect(found.map(({ file, claim }) => [file, claim["commits"], claim["lines"]])).toEqual([
      ["src/big.ts", 1, 50],
      ["src/small.ts", 3, 5],
    ]);
    expect(bench.kept("hot-spots").looked_at).toMatch(/^4 source files and 4 commits .*; 2 of/);
  });

  it("reads all of the history and names as many files as it is told", async () => {
    const found = await bench.items("hot-spots", ["--since=all", "--top=2"]);
    expect(found.map(({ file, claim }) => [file, claim["commits"], claim["lines"]])).toEqual([
      ["src/big.ts", 2, 50],
      ["src/old.ts", 1, 100],
    ]);
  });

  it("is disproved by a wrong number of commits or lines", async () => {
    await bench.items("hot-spots");
    const wrong = await bench.falseClaims("hot-spots", (item) => ({ ...item, claim: { commits: 9, lines: 50 } }));
    expect(wrong).toEqual([
      "false claim: src/big.ts has 1 commits, not 9",
      "false claim: src/small.ts has 3 commits, not 9",
      "false claim: src/small.ts has 5 lines, not 50",
    ]);
  });

  it("refuses an option that it does not have", async () => {
    const ran = await bench.survey(["hot-spots", "--tpo=1"]);
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("--tpo")]);
  });

  it("notes files that it cannot read, and a shallow clone", async () => {
    bench.repository.write({ "src/data.ts": "\0", "src/gone.ts": lines(9) });
    bench.repository.commit("unread");
    rmSync(join(bench.repository.root, "src/gone.ts"));
    await bench.items("hot-spots");
    expect(bench.kept("hot-spots").notes).toEqual([expect.stringMatching(/^2 of the changed files/)]);
    const clone = directory();
    bench.repository.git("clone", "--quiet", "--depth=2", pathToFileURL(bench.repository.root).href, clone);
    await bench.survey(["hot-spots"], {}, clone);
    expect(bench.kept("hot-spots").notes[0]).toContain("lower bounds");
  });
});

describe("untested", () => {
  /** A request whose ticket has this history, and depends on the task that found the hot spots. */
  const request = (output?: string): Record<string, string> => {
    const artifact = { label: "hot-spots.json", uri: pathToFileURL(join(bench.artifacts, "hot-spots.json")).href };
    const failed = { criterion: { text: "c" }, exit_code: 1, passed: false, output };
    const context: JsonObject = {
      dependencies: [{ task_id: "hot", artifacts: [{ ...artifact, uri: "file:///gone.json" }, artifact] }],
      history: output === undefined ? [] : [{ payload_type: "check_result", payload: { results: [failed] } }],
    };
    const file = join(bench.artifacts, "request");
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

  it("goes by names until a check disproves them, then by what tests use", async () => {
    await bench.survey(["untested"], request());
    expect(places(bench.kept("untested").items)).toEqual([
      "src/imported.ts",
      "src/spawned.ts",
      "src/inner.ts",
      "src/alone.ts",
      "lib/tool.py",
      "src/door.ts",
    ]);
    const check = await bench.survey(["verify", "untested"]);
    expect(check.code).toBe(1);
    expect(check.stdout.split("\n")).toEqual([
      "false claim: src/imported.ts is used by tests/all.test.ts:2",
      "false claim: src/spawned.ts is used by tests/all.test.ts:3",
      "false claim: src/inner.ts is used by src/door.ts:1",
      "false claim: lib/tool.py is used by tests/test_things.py:1",
      "false claim: src/door.ts is used by tests/all.test.ts:4",
      "",
    ]);
    expect(places(await bench.items("untested", [], request(check.stdout)))).toEqual(["src/alone.ts"]);
    expect(bench.kept("untested").notes).toEqual([expect.stringContaining("5 files")]);
  });

  it("takes a test.js at the root for a test, also of the folder that it loads", async () => {
    bench.repository.write({ "index.js": lines(200), "test.js": 'require("./");\n', "specs.py": lines(150) });
    bench.repository.commit("plain");
    await bench.survey(["hot-spots"]);
    const used = places(await bench.items("untested", [], request("false claim: x")));
    expect(used).toContain("src/alone.ts");
    for (const file of ["index.js", "test.js", "specs.py"]) expect(used).not.toContain(file);
  });

  it("takes no name for a proof that several sources share", async () => {
    bench.repository.write({
      "packages/a/index.ts": lines(90),
      "packages/b/index.ts": lines(80),
      "packages/b/test/index.test.ts": 'import { b } from "../index.ts";\n',
    });
    bench.repository.commit("packages");
    await bench.survey(["hot-spots"]);
    await bench.survey(["untested"], request());
    const named = places(bench.kept("untested").items);
    expect(named).toEqual(expect.arrayContaining(["packages/a/index.ts", "packages/b/index.ts"]));
    expect(named).not.toContain("src/named.ts");
    const used = places(await bench.items("untested", [], request("false claim: x")));
    expect(used).toContain("packages/a/index.ts");
    expect(used).not.toContain("packages/b/index.ts");
  });

  it("still goes by names when a check failed for another reason", async () => {
    await bench.survey(["untested"], request("disk full"));
    expect(places(bench.kept("untested").items)).toContain("src/imported.ts");
  });
});

describe("a file's name in a finding", () => {
  it.each(["src/a.ts", "文档/👩‍👧.md", "naïve.txt"])("%s is shown as it is", (file) => {
    expect(shown(file)).toBe(file);
  });

  it.each(["a\nb", "a`b", 'a"b', "a\\b", "a\u202eb", "a\u3164b", "a\u{e0041}b", "a\u001b[2Jb"])(
    "%j is shown as JSON",
    (file) => {
      expect(JSON.parse(shown(file))).toBe(file);
      expect(shown(file)).toMatch(/^[ -~]+$/);
      expect(shown(file)).not.toContain("`");
    },
  );
});
