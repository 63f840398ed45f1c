import { err } from "../lib/result.ts";
import type { Failure, Fallible } from "../protocol/failure.ts";

/**
 * Thrown by reads of the store when the disk or the database fails. Reads are many and happen deep inside pure code, whose callers can only
 * give up. The error is therefore caught where a command or a session ends, and becomes a failure again.
 */
export class StorageError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/** Runs `work` and converts a `StorageError` that it throws to its failure: `storage`, `storage_full`. */
export async function catchStorage<T>(work: () => Promise<Fallible<T>>): Promise<Fallible<T>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageError) return err(error.failure);
    throw error;
  }
}
