import type { Failure } from "../protocol/failure.ts";

/** How those who work for a session tell it that it cannot go on. */
export interface TroubleDoor {
  /** An expected failure: the session ends with it, and can be resumed. */
  fail(failure: Failure): void;
  /** Something threw: what the store could not read is such a failure, and anything else a bug of our own. */
  broken(error: unknown): void;
}
