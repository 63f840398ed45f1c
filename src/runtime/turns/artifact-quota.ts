import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Failure } from "../../protocol/failure.ts";

const GIB = 1024 ** 3;

/** The bytes that one run may copy, kept or not: without it, each of a thousand lines could name the largest file. */
const MAX_RUN_BYTES = GIB;

/** The bytes of all kept files of a session: they share a disk with the records of all sessions. */
const MAX_SESSION_BYTES = 16 * GIB;

/** The bytes that may still be copied. */
export interface ArtifactQuota {
  left: number;
}

/** What limits a copy: the quotas of its run and its session, and the signal that calls it off. */
export interface CopyLimits {
  readonly run: ArtifactQuota;
  readonly session: ArtifactQuota;
  readonly signal: AbortSignal;
}

export function runQuota(): ArtifactQuota {
  return { left: MAX_RUN_BYTES };
}

/** The quota less the files that the session has kept already. Fails with `storage`. */
export function sessionQuota(directory: string): Result<ArtifactQuota, Failure> {
  return attempt(
    directory,
    () => {
      // An agent may have put anything here or in the directory's place.
      const isThere = lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
      const names = isThere ? readdirSync(directory) : [];
      const kept = names.reduce((bytes, name) => bytes + lstatSync(join(directory, name)).size, 0);
      return ok({ left: MAX_SESSION_BYTES - kept });
    },
    "The artifacts",
  );
}

/** Why these bytes cannot be copied; undefined if they can. */
export function overQuota(bytes: number, { run, session }: Pick<CopyLimits, "run" | "session">): string | undefined {
  if (bytes > run.left) return `the files of this run would exceed ${MAX_RUN_BYTES} bytes`;
  if (bytes > session.left) return `the files of this session would exceed ${MAX_SESSION_BYTES} bytes`;
  return undefined;
}
