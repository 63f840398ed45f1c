import { err } from "../lib/result.ts";
import { type Failure, failure, type Fallible } from "../protocol/failure.ts";

/**
 * Runs work on files. A system error becomes a failure that names the path, `storage_full` or `storage`; bugs are rethrown. `what` begins the
 * message.
 */
export function attempt<T>(directory: string, work: () => Fallible<T>, what = "The log"): Fallible<T> {
  try {
    return work();
  } catch (error) {
    return err(systemFailure(error, directory, what));
  }
}

/** `attempt` for asynchronous work. */
export async function attemptLong<T>(
  directory: string,
  work: () => Promise<Fallible<T>>,
  what: string,
): Promise<Fallible<T>> {
  try {
    return await work();
  } catch (error) {
    return err(systemFailure(error, directory, what));
  }
}

function systemFailure(error: unknown, directory: string, what: string): Failure {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  // Node's own errors (a wrong argument) also have a code, but no system call.
  if (code === undefined || syscall === undefined) throw error;
  if (code === "EFBIG") {
    return failure("storage_full", `${what} cannot be written in ${directory}: a limit on file sizes is reached.`, {
      hint: "Lift the limit with `ulimit -f unlimited`, then resume the session: missing files are written from the database.",
    });
  }
  if (code === "ENOSPC" || code === "EDQUOT") {
    return failure("storage_full", `There is no space left: ${what} cannot be written in ${directory}.`, {
      hint: "Make space, then resume the session: missing files are written from the database.",
    });
  }
  if (code === "EROFS") {
    return failure("storage", `${what} cannot be written: ${path ?? directory} is on a disk mounted read-only.`, {
      hint: "Remount the disk for writing, then resume the session.",
    });
  }
  return failure("storage", `${what} cannot be written: ${path ?? directory} (${code}).`, {
    hint: "Check that the directory exists and that you may write to it, then resume the session.",
  });
}
