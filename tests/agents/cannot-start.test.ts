import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Failure } from "../../src/protocol/failure.ts";
import { scratchDirectory } from "./scratch.ts";

const REFUSED = join(import.meta.dirname, "children/refused.ts");

/** Failures with EACCES. Root never gets it, so a child drops its rights. */
describe("a program without permission to start", () => {
  let directory: string;

  beforeEach(async () => {
    directory = scratchDirectory();
    await chmod(directory, 0o755);
    await mkdir(join(directory, "closed", "inner"), { recursive: true });
    await chmod(join(directory, "closed"), 0);
    onTestFinished(() => chmod(join(directory, "closed"), 0o700));
  });

  function failureOf(where: string, ...command: readonly string[]): Failure | null {
    return JSON.parse(
      execFileSync(process.execPath, [REFUSED, where, ...command], { encoding: "utf8" }),
    ) as Failure | null;
  }

  test.each(["closed", join("closed", "inner")])("in the directory %s: the failure names the directory", (name) => {
    const where = join(directory, name);
    expect(failureOf(where, "true")).toEqual({
      code: "environment",
      message: expect.stringContaining(JSON.stringify(where)) as string,
      hint: expect.stringContaining("chmod u+x") as string,
      details: { program: "true", directory: where, errno: "EACCES" },
    });
  });

  test("because of its file: the failure names the file", async () => {
    const program = join(directory, "program");
    await writeFile(program, "#!/bin/sh\n");
    expect(failureOf(directory, program)).toMatchObject({
      hint: expect.stringContaining(`chmod +x ${program}`) as string,
    });
    expect(failureOf(directory, "true")).toBeNull();
  });
});
