import { type Failure, failure, type FailureCode } from "./failure.ts";

const FULL = ["storage_full", "there is no space left, ", "Make space on this disk"] as const;

/** What system errors say of a disk, and the remedy. */
const KNOWN: Readonly<Record<string, readonly [code: FailureCode, why: string, remedy: string]>> = {
  ENOSPC: FULL,
  EDQUOT: FULL,
  EFBIG: ["storage_full", "a limit on file sizes is reached, ", "Lift the limit with `ulimit -f unlimited`"],
  EROFS: ["storage", "the disk is mounted read-only, ", "Remount the disk for writing"],
};

const OTHER =
  "Check that the directory exists, that you may write to it, that its disk works, and that `ulimit -f` allows larger files, " +
  "or choose another home with --home";

/** The failure of an operation on a path, by the system's error code: `storage_full` or `storage`. `what` begins its message. */
export function diskFailure(what: string, path: string, systemCode: string): Failure {
  const [code, why, remedy] = KNOWN[systemCode] ?? ["storage", "", OTHER];
  return failure(code, `${what}: ${path} (${why}${systemCode}).`, {
    hint: `${remedy}, then try again; \`bosun resume\` continues a session, and writes what is missing from the database.`,
  });
}
