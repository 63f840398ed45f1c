import { lstatSync, rmSync } from "node:fs";
import { makeDirectory } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { diskFailure } from "../protocol/disk-failure.ts";
import { fails, type Fallible } from "../protocol/failure.ts";

const OF_THE_DISK = /^(?:ENOSPC|EDQUOT|EFBIG|EIO|EROFS)$/;

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
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (OF_THE_DISK.test(code)) return err(diskFailure("The directory for artifacts cannot be made", path, code));
    return fails("environment", `The directory for artifacts cannot be made: ${message}`, {
      hint: `Check what is at ${path}, and move it away.`,
    });
  }
}
