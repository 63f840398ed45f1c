import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** Where a session's things lie in its home. */
export interface SessionPaths {
  readonly log: string;
  readonly folder: string;
  readonly artifacts: string;
  readonly output: string;
  /** Where the agents of one subject (or of the session itself) put files. */
  work(subject: string | undefined): string;
}

export function sessionPaths(home: string, session_id: string): SessionPaths {
  const folder = join(home, "sessions", session_id);
  return {
    log: join(home, "logs", session_id),
    folder,
    artifacts: join(folder, "artifacts"),
    output: join(home, "logs", session_id, "output"),
    work: (subject) => join(folder, "work", subject ?? "_session"),
  };
}

/** Makes sure of a directory in which agents put files, whatever an agent has put in its place. `environment` if that cannot be done. */
export function makeWorkDirectory(path: string): Result<void, Failure> {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      rmSync(path, { force: true });
      mkdirSync(path, { recursive: true });
    }
    return ok(undefined);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return err(
      failure("environment", `The directory for artifacts cannot be made: ${reason}`, {
        hint: `See what stands at ${path}, and move it away.`,
      }),
    );
  }
}
