import { lstatSync, rmSync } from "node:fs";
import { makeDirectory } from "../lib/directory.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** What the disk itself says, whatever stands on it. */
const DISK: Readonly<Record<string, "storage" | "storage_full">> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EFBIG: "storage_full",
  EIO: "storage",
  EROFS: "storage",
};

/**
 * Makes sure of a directory in which agents put files, whatever an agent has put in its place. Fails with `storage` or
 * `storage_full` if the disk refuses it, with `environment` if what stands there does.
 */
export function makeWorkDirectory(path: string): Result<void, Failure> {
  try {
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there?.isDirectory()) return ok(undefined);
    if (there) rmSync(path, { force: true });
    makeDirectory(path);
    return ok(undefined);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const code = DISK[(error as NodeJS.ErrnoException).code ?? ""];
    if (code !== undefined) {
      return err(
        failure(code, `The directory ${path} cannot be made: ${reason}`, {
          hint: "Make space on this disk, or see that it can be written to, then resume the session.",
        }),
      );
    }
    return err(
      failure("environment", `The directory for artifacts cannot be made: ${reason}`, {
        hint: `See what stands at ${path}, and move it away.`,
      }),
    );
  }
}
