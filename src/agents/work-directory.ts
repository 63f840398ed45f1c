import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

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
