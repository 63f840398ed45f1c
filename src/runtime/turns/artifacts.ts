import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { TurnRequest } from "../../kernel/agent.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { OWN } from "../../lib/files.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { ArtifactRow } from "../../store/store.ts";
import { attempt, attemptLong } from "../../log/attempt.ts";
import { makeWorkDirectory } from "../../agents/work-directory.ts";
import type { SessionPaths } from "../paths.ts";
import {
  disagreement,
  isElsewhere,
  keptDirectory,
  type Opened,
  openReferenced,
  unreadable,
  wrong,
} from "./referenced-file.ts";

/** Maximum size of an artifact, in bytes. */
export const MAX_ARTIFACT_BYTES = 256 * 1024 * 1024;

/** Maximum number of bytes that one run may copy, kept or not. Without it, each of a thousand lines could name a file of the maximum size. */
export const MAX_RUN_BYTES = 1024 ** 3;

/** Maximum size of all kept files of a session, in bytes: they share a disk with the records of all sessions. */
const MAX_SESSION_BYTES = 16 * 1024 ** 3;

/** Number of bytes copied at once. */
const PIECE_BYTES = 1024 * 1024;

/** The suffix of an unfinished copy. */
const PARTIAL = ".partial";

/** The number of bytes that may still be copied. */
export interface ArtifactQuota {
  left: number;
}

/** The limits of a copy: the quotas of its run and its session, and the signal that cancels it. */
export interface CopyLimits {
  readonly run: ArtifactQuota;
  readonly session: ArtifactQuota;
  readonly signal: AbortSignal;
}

/** A kept file: the recorded payload and the stored row. */
export interface KeptArtifact {
  readonly payload: JsonObject;
  readonly row: Omit<ArtifactRow, "sequence">;
}

/**
 * Copies the file that an agent names into the session's artifacts, and computes the digest and size of the copy. Fails with
 * `validation_failed` for a path outside the turn's directories, for anything but a plain file, over the quota, and for a wrong digest or
 * size; with `cancelled` once the turn is cancelled. A reference elsewhere (https, say) is recorded as it is.
 */
export async function keepArtifact(
  payload: JsonObject,
  request: Pick<TurnRequest, "payload" | "session_id" | "stamp">,
  paths: SessionPaths,
  limits: CopyLimits,
): Promise<Fallible<KeptArtifact>> {
  const { turn_id: _turn, ticket_id: _subject, ...reference } = payload as unknown as PayloadByType["artifact_ref"];
  const { label, uri, content_type } = reference;
  if (isElsewhere(uri)) {
    return ok({
      payload: reference,
      row: { label, uri, path: "", digest: reference.digest ?? "", size_bytes: reference.size_bytes ?? 0 },
    });
  }
  if (limits.signal.aborted) return calledOff(uri);
  const { session_id } = request;
  const opened = openReferenced(uri, { ...request.payload, session_id }, MAX_ARTIFACT_BYTES);
  if (!opened.ok) return opened;
  const { turn_id, run } = request.stamp;
  const partial = join(paths.artifacts, `${turn_id}.${run}${PARTIAL}`);
  const copied = await copyIn(uri, opened.value, partial, limits);
  if (!copied.ok) return copied;
  const { hex, size_bytes } = copied.value;
  const disagrees = disagreement(reference, hex, size_bytes);
  if (disagrees) {
    remove(partial, size_bytes, limits);
    return wrong(uri, disagrees);
  }
  const digest = `sha256:${hex}`;
  const mark = `${hex.slice(0, 16)}-`;
  const { name } = opened.value;
  // A kept file that is named again keeps its name.
  const path = join(paths.artifacts, name.startsWith(mark) ? name : mark + name);
  const placed = attempt(
    paths.artifacts,
    () => {
      const there = lstatSync(path, { throwIfNoEntry: false });
      // A rename cannot replace a directory, which only an agent can have put here.
      if (there?.isDirectory()) rmSync(path, { recursive: true });
      else if (there?.isFile()) limits.session.left += size_bytes;
      return ok(renameSync(partial, path));
    },
    "The artifact",
  );
  if (!placed.ok) return placed;
  crashPoint("artifact_kept");
  const kept = join(keptDirectory(session_id), basename(path));
  return ok({
    payload: { ...(reference as unknown as JsonObject), uri: kept, digest, size_bytes },
    row: {
      label,
      uri,
      path: kept,
      digest,
      size_bytes,
      ...defined({ content_type }),
    },
  });
}

/**
 * Copies an open file to a partial name, in pieces so that the event loop stays free. Digest and size are those of the copy, since the
 * original may change meanwhile. A refused copy is removed.
 */
async function copyIn(
  uri: string,
  opened: Opened,
  path: string,
  limits: CopyLimits,
): Promise<Fallible<{ readonly hex: string; readonly size_bytes: number }>> {
  const hash = createHash("sha256");
  const directory = dirname(path);
  let size_bytes = 0;
  const source = createReadStream("", { fd: opened.descriptor, highWaterMark: PIECE_BYTES });
  let unread: Error | undefined;
  // The pipeline's write errors also arrive here.
  source.once("error", (error: NodeJS.ErrnoException) => {
    if (error.syscall === "read") unread = error;
  });
  let unfit = overQuota(opened.size_bytes, limits);
  const copied = await attemptLong(
    directory,
    async () => {
      if (unfit !== undefined) return ok(undefined);
      const made = makeWorkDirectory(directory);
      if (!made.ok) return made;
      rmSync(path, { force: true, recursive: true });
      await pipeline(
        source,
        async function* (pieces: AsyncIterable<Buffer>) {
          for await (const piece of pieces) {
            unfit = overQuota(piece.length, limits);
            if (size_bytes + piece.length > MAX_ARTIFACT_BYTES) unfit = "it grew while it was copied";
            if (unfit !== undefined || limits.signal.aborted) return;
            hash.update(piece);
            size_bytes += piece.length;
            limits.run.left -= piece.length;
            limits.session.left -= piece.length;
            yield piece;
          }
        },
        createWriteStream(path, { flags: "wx", ...OWN }),
      );
      return ok(undefined);
    },
    "The artifact",
  );
  source.destroy();
  const refused = unread
    ? unreadable(uri, unread)
    : copied.ok && limits.signal.aborted
      ? calledOff(uri)
      : copied.ok && unfit !== undefined
        ? wrong(uri, unfit)
        : copied;
  if (!refused.ok) {
    remove(path, size_bytes, limits);
    return refused;
  }
  crashPoint("artifact_copied");
  return ok({ hex: hash.digest("hex"), size_bytes });
}

/** Removes a partial copy. One that cannot be removed stays until the next resume, and counts against the quota until then. */
function remove(path: string, size_bytes: number, { session }: CopyLimits): void {
  const removed = attempt(dirname(path), () => ok(rmSync(path, { force: true })), "The artifact");
  if (removed.ok) session.left += size_bytes;
}

function calledOff(uri: string): Fallible<never> {
  return fails("cancelled", `The artifact ${JSON.stringify(uri)} is not kept: its turn was called off.`);
}

/** The quota minus the files that the session has already kept. Fails with `storage`. */
export function sessionQuota(directory: string): Fallible<ArtifactQuota> {
  return attempt(
    directory,
    () => {
      const kept = namesIn(directory).reduce((bytes, name) => bytes + lstatSync(join(directory, name)).size, 0);
      return ok({ left: MAX_SESSION_BYTES - kept });
    },
    "The artifacts",
  );
}

/** What is in a directory of artifacts. An agent may have put anything here, or in place of the directory. */
function namesIn(directory: string): string[] {
  return lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(directory) : [];
}

/** Why these bytes cannot be copied; undefined if they can. */
function overQuota(bytes: number, { run, session }: Pick<CopyLimits, "run" | "session">): string | undefined {
  if (bytes > run.left) return `the files of this run would exceed ${MAX_RUN_BYTES} bytes`;
  if (bytes > session.left) return `the files of this session would exceed ${MAX_SESSION_BYTES} bytes`;
  return undefined;
}

/** Removes the partial copies of a dead scheduler. */
export function removePartialCopies(directory: string): Fallible<void> {
  return attempt(
    directory,
    () => {
      for (const name of namesIn(directory))
        if (name.endsWith(PARTIAL)) rmSync(join(directory, name), { force: true, recursive: true });
      return ok(undefined);
    },
    "The artifacts",
  );
}
