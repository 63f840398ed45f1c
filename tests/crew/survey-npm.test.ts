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

  it("names unknown and demanding ones with their line, and counts those for development", async () => {
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
    expect(found.map(({ severity, line, text }) => `${severity} ${line} ${text.split(":")[0]}`)).toEqual([
      "low 25 weak@1.0.0",
      "high 34 none@2.0.0",
      "high 37 odd@3.0.0",
    ]);
    expect(bench.kept("licences").looked_at).toContain("; 1 for development only");
    expect(bench.kept("licences").looked_at).toMatch(/^8 dependencies .*: 2 MPL-2\.0, 1 MIT/);
    const wrong = await bench.falseClaims("licences", (item) => ({ ...item, claim: { ...item.claim, licence: "X" } }));
    expect(wrong).toHaveLength(3);
    expect(wrong).toContain('false claim: node_modules/none states "", not "X"');
  });

  it("judges alternatives in parentheses, exceptions and later versions", async () => {
    lock({
      "node_modules/a": { version: "1.0.0", license: "(LGPL-2.1+ OR (GPL-3.0-only AND MIT))" },
      "node_modules/b": { version: "1.0.0", license: "((MIT OR X) AND (ISC))" },
      "node_modules/c": { version: "1.0.0", license: "GPL-2.0-only WITH Classpath-exception-2.0" },
    });
    const found = await bench.items("licences");
    expect(found.map(({ severity, text }) => `${severity} ${text.split(":")[0]}`)).toEqual([
      "low a@1.0.0",
      "high c@1.0.0",
    ]);
  });

  it("survives an expression that nests without end", async () => {
    lock({ "node_modules/deep": { version: "1.0.0", license: "(".repeat(500_000) } });
    expect(await bench.items("licences")).toMatchObject([{ severity: "high" }]);
  });
});

describe("lockfile", () => {
  it("names every difference with file and line", async () => {
    bench.repository.write({
      "package.json": {
        name: "x",
        dependencies: { same: "^1.0.0", changed: "^2.0.0", added: "^3.0.0" },
        peerDependencies: { peer: "*" },
      },
      "package-lock.json": {
        lockfileVersion: 3,
        packages: {
          "": {
            dependencies: { same: "^1.0.0", changed: "^1.0.0", removed: "^1.0.0" },
            peerDependencies: { peer: "*" },
          },
          "node_modules/removed": { version: "1.0.0", dependencies: { added: "^3.0.0" } },
        },
      },
    });
    bench.repository.commit("drift");
    const found = await bench.items("lockfile");
    expect(found.map(({ file, line, text }) => `${file}:${line} ${text.split(/[ @]/)[0]}`)).toEqual([
      "package.json:5 changed",
      "package.json:6 added",
      "package-lock.json:8 removed",
    ]);
    const same = { name: "same", declared: "^1.0.0", locked: "^1.0.0" };
    const wrong = await bench.falseClaims("lockfile", (item) => ({ ...item, claim: { ...item.claim, ...same } }));
    expect(wrong).toHaveLength(3);
  });

  it("finds nothing where npm finds nothing, and reads workspaces", async () => {
    bench.repository.write({
      "package.json": {
        workspaces: ["packages/*"],
        dependencies: { a: "^1.0.0", o: "1" },
        optionalDependencies: { o: "1" },
      },
      "packages/w/package.json": { name: "w", devDependencies: { b: "~1.0.0" } },
      "package-lock.json": {
        lockfileVersion: 3,
        packages: {
          "": { workspaces: ["packages/*"], dependencies: { a: "^1.0.0" }, optionalDependencies: { o: "1" } },
          "node_modules/w": { resolved: "packages/w", link: true },
          "packages/w": { devDependencies: { b: "~1.0.0" } },
        },
      },
    });
    bench.repository.commit("fine");
    expect(await bench.items("lockfile")).toEqual([]);
    bench.repository.write({ "packages/w/package.json": { name: "w", devDependencies: { b: "~2.0.0" } } });
    expect(places(await bench.items("lockfile"))).toEqual(["packages/w/package.json:4"]);
  });

  it("names a file that is no JSON", async () => {
    bench.repository.write({ "package.json": { name: "x", dependencies: { a: "1" } } });
    bench.repository.commit("none");
    expect(await bench.items("lockfile")).toEqual([]);
    bench.repository.write({ "package-lock.json": '{\n<<<<<<< ours\n"a": 1\n=======\n"a": 2\n>>>>>>> theirs\n}\n' });
    expect(places(await bench.items("lockfile"))).toEqual(["package-lock.json:1"]);
    expect(bench.kept("lockfile").items[0]?.text).toContain("JSON");
  });
});
