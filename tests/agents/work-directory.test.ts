import { lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { makeWorkDirectory } from "../../src/agents/work-directory.ts";
import { failureOf, value } from "../results.ts";
import { scratchDirectory } from "./scratch.ts";

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

test("makes the artifacts directory and its parents, and keeps an existing one", () => {
  const place = join(directory, "work", "T-1");
  value(makeWorkDirectory(place));
  writeFileSync(join(place, "kept"), "");
  value(makeWorkDirectory(place));
  expect(readdirSync(place)).toEqual(["kept"]);
});

test.each([
  ["a file", (place: string) => writeFileSync(place, "mine")],
  ["a link to a directory", (place: string) => symlinkSync(join(place, "../elsewhere"), place)],
  ["a link to nothing", (place: string) => symlinkSync("nowhere", place)],
])("replaces %s in its place, and does not follow links", (_, put) => {
  const elsewhere = join(directory, "elsewhere");
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, "another's"), "");
  const place = join(directory, "T-1");
  put(place);
  value(makeWorkDirectory(place));
  expect(lstatSync(place).isDirectory()).toBe(true);
  expect(readdirSync(place)).toEqual([]);
  expect(readdirSync(elsewhere)).toEqual(["another's"]);
});

test("names the path of a directory that cannot be made", () => {
  const place = join(directory, "x".repeat(300), "T-1");
  const failure = failureOf(makeWorkDirectory(place));
  expect(failure).toMatchObject({ code: "environment", message: expect.stringContaining("ENAMETOOLONG") as string });
  expect(failure.hint).toContain(place);
});
