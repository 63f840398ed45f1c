import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contents, inSession, type Rig, rig } from "./rig.ts";

const SESSION = join(import.meta.dirname, "children/session.ts");

/** The tickets between are like the first: all calls take twice as long. */
const ALL = process.env["BOSUN_COPIES_KILLS"] === "all";
const UNLIKE = "^(?!T-[2-5])";

/** A person's repository with a stash, staged and other changes, and hooks that tell when they run. */
function person(): Rig {
  const at = rig();
  at.write("src/x.js", "stashed\n");
  at.run("stash", "-q");
  at.write("src/x.js", "not committed\n");
  at.write("b.txt", "staged\n");
  at.run("add", "b.txt");
  at.write(".env", "SECRET=1\n");
  for (const hook of ["pre-commit", "post-checkout", "post-merge", "reference-transaction", "pre-push"])
    at.write(`.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> "$HOME/hooks-ran"\n`);
  at.run("config", "core.hooksPath", ".git/hooks");
  spawnSync("chmod", ["-R", "+x", join(at.root, ".git/hooks")]);
  return at;
}

/** Runs a part of the session until it ends by itself; returns how often it was killed. */
function ended(at: Rig, phase: "work" | "land", kill: boolean): number {
  for (let kills = 0; ; kills++) {
    const env = { ...process.env, ...(kill && { BOSUN_KILL: ALL ? "." : UNLIKE }) };
    const ran = spawnSync(process.execPath, [SESSION, at.folder, phase], { env, encoding: "utf8", timeout: 60_000 });
    if (ran.status === 0) return kills;
    if (ran.signal !== "SIGKILL") throw new Error(`${phase} after ${kills} kills: ${ran.stderr}`);
  }
}

test("a session that is killed at each of its git calls ends like one that is not, and touches nothing of the person's", () => {
  const [calm, struck] = [person(), person()];
  const before = contents(struck.root);
  ended(calm, "work", false);
  const kills = ended(struck, "work", true);
  expect(kills).toBeGreaterThan(40);
  expect(contents(struck.root)).toEqual(before);
  const results = [calm, struck].map((at) => [
    inSession(at, "rev-parse", "refs/bosun/session^{tree}"),
    inSession(at, "log", "--first-parent", "--format=%s", "refs/bosun/base..refs/bosun/session"),
  ]);
  expect(results[1]).toEqual(results[0]);
  inSession(struck, "fsck", "--no-dangling", "--strict");

  ended(calm, "land", false);
  expect(ended(struck, "land", true)).toBeGreaterThan(8);
  const mine = ([name]: [string, string]) => !/^\.git\/(?:index|logs|refs)/.test(name);
  expect(Object.entries(contents(struck.root)).filter(mine)).toEqual(Object.entries(contents(calm.root)).filter(mine));
  for (const at of [calm, struck]) {
    expect(at.run("-c", "core.hooksPath=/dev/null", "status", "--porcelain").split("\n")).toEqual([
      "M  b.txt",
      " M src/x.js",
    ]);
    expect(at.run("stash", "list")).toContain("stash@{0}");
    expect(existsSync(join(at.folder, "hooks-ran"))).toBe(false);
  }
  expect(struck.run("rev-parse", "main^{tree}")).toBe(calm.run("rev-parse", "main^{tree}"));
  const labels = readFileSync(join(struck.folder, "killed"), "utf8").trim().split("\n");
  expect(new Set(labels).size).toBe(labels.length);
}, 180_000);
