import { err, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";

/**
 * What a read of the store throws when storage refuses it. Reads are small, many and deep inside of what is pure, and no caller of
 * one has anything better to do than to leave: so it is caught where a command or a session ends, and is a failure again there.
 */
export class StorageError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/** Does the work, and gives what a read in it was refused as the failure that it is: `storage`, `storage_full`. Anything else that is thrown is a bug. */
export async function catchStorage<T>(work: () => Promise<Result<T, Failure>>): Promise<Result<T, Failure>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageError) return err(error.failure);
    throw error;
  }
}
