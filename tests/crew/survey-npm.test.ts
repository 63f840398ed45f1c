import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { Bench, places } from "./bench.ts";
import { cleanUp } from "./programs.ts";

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});
afterEach(cleanUp);

describe("licences", () => {
  const lock = (packages: Record<string, JsonObject>): void => {
    bench.repository.write({
      "package.json": { name: "x" },
      "package-lock.json": { name: "x", lockfileVersion: 3, packages: { "": { name: "x" }, ...packages } },
    });
    bench.repository.commit("lock");
  };

  it("names unknown, copyleft and restricted ones with their line, shipped ones first in weight", async () => {
    lock({
      "node_modules/ok": { version: "1.0.0", license: "MIT" },
      "node_modules/either": { version: "1.0.0", license: "(GPL-3.0-only OR MIT)" },
      "node_modules/both": { version: "1.0.0", license: "MIT AND GPL-2.0-or-later", dev: true },
      "node_modules/with": { version: "1.0.0", license: "Apache-2.0 WITH LLVM-exception" },
      "node_modules/weak": { version: "1.0.0", license: "MPL-2.0" },
      "node_modules/weak-dev": { version: "1.0.0", license: "MPL-2.0", dev: true },
      "node_modules/none": { version: "2.0.0" },
      "node_modules/@a/b/node_modules/odd": { version: "3.0.0", license: "SEE LICENSE IN FILE" },
      "node_modules/linked": { resolved: "packages/linked", link: true },
    });
    const found = await bench.items("licences");
    expect(found.map(({ severity, file, line, text }) => `${severity} ${file}:${line} ${text}`)).toEqual([
      "medium package-lock.json:16 both@1.0.0 (used for development only): its licence MIT AND GPL-2.0-or-later is copyleft or restricts use",
      "low package-lock.json:25 weak@1.0.0 (shipped with the product): its licence MPL-2.0 asks to publish changes to it",
      "high package-lock.json:34 none@2.0.0 (shipped with the product): its licence is not stated",
      "high package-lock.json:37 odd@3.0.0 (shipped with the product): its licence SEE LICENSE IN FILE is not known",
    ]);
    expect(bench.kept("licences").looked_at).toMatch(/^8 packages in package-lock\.json: 2 MPL-2\.0, 1 MIT/);
    const ran = await bench.verdictOn("licences", (item) => ({ ...item, claim: { ...item.claim, licence: "WTFPL" } }));
    expect(ran.stdout.split("\n")).toHaveLength(5);
    expect(ran.stdout).toContain('false claim: node_modules/none states "", claimed was "WTFPL"');
  });

  it("asks the installed packages when the lock file does not say, or is not there", async () => {
    bench.repository.write({
      ".gitignore": "node_modules\n",
      "node_modules/a/package.json": { name: "a", version: "1.0.0", license: "MIT" },
      "node_modules/@s/b/package.json": { name: "@s/b", version: "1.0.0", licenses: [{ type: "AGPL-3.0" }] },
    });
    bench.repository.commit("no lock");
    expect(places(await bench.items("licences"))).toEqual(["node_modules/@s/b/package.json"]);
    lock({ "node_modules/a": { version: "1.0.0" }, "node_modules/@s/b": { version: "1.0.0" } });
    expect(places(await bench.items("licences"))).toEqual(["package-lock.json:11"]);
  });

  it("is not brought down by an expression that nests without end", async () => {
    lock({ "node_modules/deep": { version: "1.0.0", license: "(".repeat(500_000) } });
    expect(await bench.items("licences")).toMatchObject([{ severity: "high" }]);
  });
});

describe("lockfile", () => {
  it("names every drift with file and line", async () => {
    bench.repository.write({
      "package.json": {
        name: "x",
        version: "2.0.0",
        dependencies: { same: "^1.0.0", changed: "^2.0.0", added: "^3.0.0", hollow: "^1.0.0" },
        peerDependencies: { peer: "*" },
      },
      "package-lock.json": {
        name: "x",
        version: "1.0.0",
        lockfileVersion: 3,
        packages: {
          "": {
            name: "x",
            version: "1.0.0",
            dependencies: { same: "^1.0.0", changed: "^1.0.0", removed: "^1.0.0", hollow: "^1.0.0" },
            peerDependencies: { peer: "*" },
          },
          "node_modules/same": { version: "1.0.0" },
          "node_modules/changed": { version: "1.0.0" },
          "node_modules/removed": { version: "1.0.0", dependencies: { added: "^3.0.0" } },
        },
      },
    });
    bench.repository.commit("drift");
    const found = await bench.items("lockfile");
    expect(found.map(({ severity, file, line, text }) => `${severity} ${file}:${line} ${text}`)).toEqual([
      "high package.json:6 changed is declared as ^2.0.0, the lock file was made for ^1.0.0",
      "high package.json:7 added@^3.0.0 is in dependencies but not in the lock file",
      "high package.json:8 hollow is declared, but the lock file holds no package for it",
      "high package-lock.json:12 removed is still in the lock file's dependencies, and no longer in package.json",
      "medium package.json:3 is version 2.0.0, the lock file says 1.0.0; run npm install --package-lock-only",
    ]);
    const ran = await bench.verdictOn("lockfile", (item) => ({
      ...item,
      claim: { ...item.claim, name: "same", declared: "^1.0.0" },
    }));
    expect(ran.code).toBe(1);
    expect(ran.stdout.match(/^false claim: /gm)).toHaveLength(4);
  });

  it("finds nothing where npm would find nothing, workspaces included", async () => {
    bench.repository.write({
      "package.json": { name: "x", workspaces: ["packages/*"], dependencies: { a: "^1.0.0" } },
      "packages/w/package.json": { name: "w", devDependencies: { b: "~1.0.0" } },
      "package-lock.json": {
        lockfileVersion: 3,
        packages: {
          "": { name: "x", workspaces: ["packages/*"], dependencies: { a: "^1.0.0" } },
          "node_modules/a": { version: "1.0.0" },
          "node_modules/w": { resolved: "packages/w", link: true },
          "packages/w": { devDependencies: { b: "~1.0.0" } },
          "packages/w/node_modules/b": { version: "1.0.0" },
        },
      },
    });
    bench.repository.commit("fine");
    expect(await bench.items("lockfile")).toEqual([]);
    bench.repository.write({ "packages/w/package.json": { name: "w", devDependencies: { b: "~2.0.0" } } });
    expect(places(await bench.items("lockfile"))).toEqual(["packages/w/package.json:4"]);
  });

  it("names a missing lock file, and one with an unresolved conflict", async () => {
    bench.repository.write({ "package.json": { name: "x", dependencies: { a: "1" } } });
    bench.repository.commit("none");
    expect(await bench.items("lockfile")).toMatchObject([
      { file: "package.json", text: "declares 1 dependencies and there is no lock file" },
    ]);
    bench.repository.write({ "package-lock.json": '{\n<<<<<<< ours\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}\n' });
    expect(await bench.items("lockfile")).toMatchObject([
      { file: "package-lock.json", line: 2, text: "is not JSON: it has an unresolved merge conflict" },
    ]);
  });
});
