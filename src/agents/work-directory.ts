import { lstatSync, rmSync } from "node:fs";
import { makeDirectory } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";

/** Error codes that concern the disk. */
const DISK: Readonly<Record<string, "storage" | "storage_full">> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EFBIG: "storage_full",
  EIO: "storage",
  EROFS: "storage",
};

/**
 * Creates a directory for agents' files, replacing a file that an agent has put in its place. Fails with `storage` or `storage_full` for disk errors,
 * with `environment` for others.
 */
export function makeWorkDirectory(path: string): Fallible<void> {
  try {
    const existing = lstatSync(path, { throwIfNoEntry: false });
    if (existing?.isDirectory()) return ok(undefined);
    if (existing) rmSync(path, { force: true });
    makeDirectory(path);
    return ok(undefined);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const code = DISK[(error as NodeJS.ErrnoException).code ?? ""];
    if (code !== undefined) {
      return fails(code, `The directory ${path} cannot be made: ${reason}`, {
        hint: "Make space on this disk, or see that it can be written to, then resume the session.",
      });
    }
    return fails("environment", `The directory for artifacts cannot be made: ${reason}`, {
      hint: `Check what is at ${path}, and move it away.`,
    });
  }
}
