import { err } from "../lib/result.ts";
import { diskFailure } from "../protocol/disk-failure.ts";
import type { Failure, Fallible } from "../protocol/failure.ts";

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
  return diskFailure(`${what} cannot be written`, path ?? directory, code);
}
