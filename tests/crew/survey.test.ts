import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Bench, lines, places } from "./bench.ts";
import { cleanUp, crewRun, directory } from "./programs.ts";

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});
afterEach(cleanUp);

describe("any survey", () => {
  const kinds = ["hot-spots", "licences", "lockfile", "links", "markers"];

  it.each(kinds)("%s has something true to say of a repository without a commit", async (kind) => {
    expect(await bench.items(kind)).toEqual([]);
  });

  it("never writes into the work tree or its .git, and starts nothing that the repository's configuration names", async () => {
    bench.repository.write({
      "a.ts": lines(3),
      "a b.md": "[x](gone.md)\n",
      "package.json": { name: "x" },
      ".gitattributes": "*.ts diff=evil\n",
    });
    const signer = join(directory(), "signer");
    const signature = "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n";
    // It reads what it signs: git fails where it cannot write that.
    writeFileSync(
      signer,
      `#!/bin/sh\ncat >/dev/null\ntouch started\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\nprintf -- '${signature}'\n`,
      { mode: 0o755 },
    );
    bench.repository.git("config", "gpg.program", signer);
    bench.repository.git("add", "--all");
    bench.repository.git("commit", "--quiet", "-S", "-m", "signed");
    rmSync(join(bench.repository.root, "started"));
    bench.repository.git("config", "core.fsmonitor", "touch started; false");
    bench.repository.git("config", "diff.evil.textconv", "touch started; cat");
    bench.repository.git("config", "diff.external", "touch started");
    bench.repository.git("config", "log.showSignature", "true");
    // A changed time makes git want to refresh its index.
    bench.repository.write({ "a.ts": lines(3) });
    const state = (): Record<string, string> =>
      Object.fromEntries(
        ["", ".git"].flatMap((folder) =>
          readdirSync(join(bench.repository.root, folder)).map((name) => [`${folder}/${name}`, ""]),
        ),
      );
    const before = { files: state(), index: readFileSync(join(bench.repository.root, ".git/index")) };
    for (const kind of kinds) await bench.items(kind);
    await bench.items("untested", ["--from", join(bench.artifacts, "hot-spots.json")]);
    expect({ files: state(), index: readFileSync(join(bench.repository.root, ".git/index")) }).toEqual(before);
  });

  it("lives with names that begin with a dash, hold blanks, newlines, colons, brackets and other scripts", async () => {
    const names = [
      "-rf.ts",
      "a b.ts",
      "new\nline.ts",
      ":(top)x.ts",
      "[a].ts",
      "日本.ts",
      "back\\slash.ts",
      'quo"te.ts',
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
    expect((await bench.items("hot-spots")).map(({ file }) => file).toSorted()).toEqual(names.toSorted());
    expect(places(await bench.items("links"))).toEqual(["-n.md:1", "-n.md:1"]);
    const { stdout } = await bench.survey(["hot-spots"]);
    expect(stdout).toContain('`"new\\nline.ts"`');
  });

  it("says what is missing: a work tree, a kind, a directory", async () => {
    const outside = await crewRun("survey", ["links"], {
      cwd: directory(),
      env: { BOSUN_ARTIFACTS_DIR: bench.artifacts },
    });
    expect(outside).toMatchObject({ code: 1, stderr: expect.stringContaining("is not in a git work tree") });
    expect(await bench.survey(["nonsense"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no survey "nonsense"'),
    });
    expect(await bench.survey(["links"], { BOSUN_ARTIFACTS_DIR: "" })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("BOSUN_ARTIFACTS_DIR is not set"),
    });
    expect(await bench.survey(["verify", "links"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("links.json cannot be read as a finding"),
    });
  });
});

describe("outcome", () => {
  it.each([
    ["exit 0", [], []],
    ["exit 3", [], ["`sh -c exit 3` ended with exit code 3; all of it is in x.log"]],
    // As a shell has it: whoever was killed gave no exit code of its own.
    ["kill -9 $$", [], ["`sh -c kill -9 $$` ended with exit code 137; all of it is in x.log"]],
    ["echo hm", ["--expect-empty"], ["`sh -c echo hm` prints what should be empty: hm; all of it is in x.log"]],
  ])("tells how `%s` ended", async (script, options, texts) => {
    await bench.survey(["outcome", "--name", "x", ...options, "--", "sh", "-c", script]);
    expect(bench.kept("x").items.map(({ text }) => text)).toEqual(texts);
    expect((await bench.survey(["verify", "outcome", "x"])).code).toBe(0);
  });
});
