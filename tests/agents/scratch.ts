import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A temporary directory that is removed when the test finishes. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-agents-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
