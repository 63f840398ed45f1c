import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { ConsoleLog } from "../../src/agents/cli/turn-output.ts";
import { scratchDirectory } from "./scratch.ts";

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

test("makes all writers wait for the same drain while the disk is behind", async () => {
  const log = new ConsoleLog(join(directory, "log"), 10_000_000);
  const line = "x".repeat(400_000);
  const first = log.write(line);
  expect(first).toBeInstanceOf(Promise);
  expect(log.write(line)).toBe(first);
  await first;
  const second = log.write(line);
  expect(second).toBeInstanceOf(Promise);
  expect(second).not.toBe(first);
  await log.close();
  expect(await readFile(join(directory, "log"), "utf8")).toBe(`${line}\n`.repeat(3));
});

test("appends to an existing file, readable by its owner only", async () => {
  for (const line of ["one", "two"]) {
    const log = new ConsoleLog(join(directory, "deep", "log"), 100);
    await log.write(line);
    await log.close();
  }
  const path = join(directory, "deep", "log");
  expect(await readFile(path, "utf8")).toBe("one\ntwo\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("gives up a file that cannot be opened", async () => {
  const log = new ConsoleLog(directory, 10_000_000);
  await log.write("x".repeat(400_000));
  expect(log.write("more")).toBeUndefined();
  await log.close();
});
