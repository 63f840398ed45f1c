import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Failure } from "../../protocol/failure.ts";

const GIB = 1024 ** 3;

/** What the files that one run brings may have together, kept or not: each of a thousand lines could name the largest that is taken. */
const MAX_RUN_BYTES = GIB;

/** What the kept files of a session may have together: the disk that they would fill holds the records of all sessions. */
const MAX_SESSION_BYTES = 16 * GIB;

/** How many bytes of files may still be copied. */
export interface ArtifactQuota {
  left: number;
}

/** What limits a copy: the room of its run and of its session, and the signal that nobody waits for it any more. */
export interface CopyLimits {
  readonly run: ArtifactQuota;
  readonly session: ArtifactQuota;
  readonly signal: AbortSignal;
}

export function runQuota(): ArtifactQuota {
  return { left: MAX_RUN_BYTES };
}

/** What is left beside the files that the session has kept already. `storage`. */
export function sessionQuota(directory: string): Result<ArtifactQuota, Failure> {
  return attempt(
    directory,
    () => {
      // Agents can have put anything there, and in its place.
      const isThere = lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
      const names = isThere ? readdirSync(directory) : [];
      const kept = names.reduce((bytes, name) => bytes + lstatSync(join(directory, name)).size, 0);
      return ok({ left: MAX_SESSION_BYTES - kept });
    },
    "The artifacts",
  );
}

/** Why so many bytes more cannot be copied; nothing if they can. */
export function overQuota(bytes: number, { run, session }: Pick<CopyLimits, "run" | "session">): string | undefined {
  if (bytes > run.left) return `with it the files of this run would have more than ${MAX_RUN_BYTES} bytes`;
  if (bytes > session.left) return `with it the files of this session would have more than ${MAX_SESSION_BYTES} bytes`;
  return undefined;
}
