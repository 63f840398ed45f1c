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
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const where = path ?? directory;
    if (code === "ENOSPC" || code === "EDQUOT") {
      return err(
        failure("storage_full", `There is no space left: ${what} cannot be written in ${directory}.`, {
          hint: "Make space and resume the session: what is missing is written from the database.",
        }),
      );
    }
    return err(
      failure("storage", `${what} cannot be written: ${where} (${code}).`, {
        hint: "Check that the directory exists and that you may write to it, then resume the session.",
      }),
    );
  }
}
