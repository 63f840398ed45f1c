import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { importsOf } from "../imports.ts";
import { SOURCES } from "../sources.ts";

const HARNESS = SOURCES.filter(({ name }) => name.startsWith("harness/"));

/** Touches neither disk nor terminal nor processes. */
const BUILT_INS = ["node:crypto"];
const WORLD = /\bprocess\b|\bconsole\b|\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bfetch\(|\brequire\(/;

/** What a source imports when it is loaded: no types, and nothing that `import()` loads later. */
function loadedBy(code: string): string[] {
  return importsOf(code.replace(/\b(?:import|export) type\b[^;]*;/g, "").replace(/\bimport\s*\([^)]*\)/g, ""));
}

/** The files of `src/` that are loaded with one of them. */
function filesLoadedWith(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const code = SOURCES.find((source) => source.name === name)?.code ?? "";
  for (const needed of loadedBy(code)) if (needed.startsWith(".")) filesLoadedWith(join(dirname(name), needed), found);
  return found;
}

it("the harness imports only itself, lib and built-in modules that touch neither disk nor terminal", () => {
  const imported = HARNESS.flatMap(({ name, code }) =>
    importsOf(code)
      .filter((specifier) => specifier.startsWith(".") || specifier.startsWith("node:"))
      .map((specifier) => (specifier.startsWith(".") ? join(dirname(name), specifier) : specifier)),
  );
  const allowed = (one: string) => /^(?:harness|lib)\//.test(one) || BUILT_INS.includes(one);
  expect(imported.filter((one) => !allowed(one))).toEqual([]);
  expect(HARNESS.length).toBeGreaterThan(10);
});

it("loading the harness loads no package, no file of lib that touches the world, and no provider", () => {
  const loaded = [...filesLoadedWith("harness/index.ts")].map((name) => SOURCES.find((source) => source.name === name));
  expect(loaded).not.toContain(undefined);
  const outside = loaded.flatMap((source) =>
    loadedBy(source?.code ?? "").filter((specifier) => !specifier.startsWith(".") && !BUILT_INS.includes(specifier)),
  );
  expect(outside).toEqual([]);
  expect(loaded.filter((source) => WORLD.test(source?.code ?? "")).map((source) => source?.name)).toEqual([]);
});

it("packages are loaded in the harness only where they are used, by import()", () => {
  const early = HARNESS.flatMap(({ name, code }) =>
    loadedBy(code)
      .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
      .map((specifier) => `${name}: ${specifier}`),
  );
  expect(early).toEqual([]);
  const code = 'import type { A } from "a"; import { b } from "b"; const c = await import("c"); export { d } from "d";';
  expect(loadedBy(code)).toEqual(["b", "d"]);
});

it("the harness has at most 1,800 lines", () => {
  const lines = HARNESS.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
  expect(lines).toBeLessThanOrEqual(1_800);
});
