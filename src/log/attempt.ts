import { err, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/**
 * Does work on files, and makes what the system refuses a failure: `storage_full`, else `storage`, each naming the place. What is
 * thrown otherwise is a bug and stays one. `what` begins the sentence.
 */
export function attempt<T>(directory: string, work: () => Result<T, Failure>, what = "The log"): Result<T, Failure> {
  try {
    return work();
  } catch (error) {
    return err(refusedBySystem(error, directory, what));
  }
}

/** The same for work that takes its time. */
export async function attemptLong<T>(
  directory: string,
  work: () => Promise<Result<T, Failure>>,
  what: string,
): Promise<Result<T, Failure>> {
  try {
    return await work();
  } catch (error) {
    return err(refusedBySystem(error, directory, what));
  }
}

function refusedBySystem(error: unknown, directory: string, what: string): Failure {
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  // Node's own errors, about arguments say, have codes too.
  if (code === undefined || syscall === undefined) throw error;
  if (code === "EFBIG") {
    return failure("storage_full", `${what} cannot be written: a file may not grow so far in ${directory}.`, {
      hint: "Lift the limit with `ulimit -f unlimited`, and resume the session: what is missing is written from the database.",
    });
  }
  if (code === "ENOSPC" || code === "EDQUOT") {
    return failure("storage_full", `There is no space left: ${what} cannot be written in ${directory}.`, {
      hint: "Make space and resume the session: what is missing is written from the database.",
    });
  }
  if (code === "EROFS") {
    return failure(
      "storage",
      `${what} cannot be written: ${path ?? directory} lies on a disk that is mounted read-only.`,
      {
        hint: "Mount it so that it can be written, then resume the session.",
      },
    );
  }
  return failure("storage", `${what} cannot be written: ${path ?? directory} (${code}).`, {
    hint: "Check that the directory exists and that you may write to it, then resume the session.",
  });
}
