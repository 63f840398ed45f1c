import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { basename, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";

/** Where an agent may have put files for this turn. */
export type Places = Pick<PayloadByType["turn_request"], "artifacts_dir" | "workspace">;

/** A file that an agent named, open for reading. */
export interface Opened {
  /** To be closed by whoever got it. */
  readonly descriptor: number;
  readonly name: string;
  /** When it was opened. */
  readonly size_bytes: number;
}

/** How an agent names a file, and what it says of it. */
export type Referenced = Pick<PayloadByType["artifact_ref"], "uri" | "digest" | "size_bytes">;

/** The name of a scheme has no case (RFC 3986). */
export function isFileAddress(uri: string): boolean {
  return /^file:/i.test(uri);
}

/** Opens the plain file that an agent names, below its places and through no link. `validation_failed` with the reason. */
export function openReferenced(uri: string, places: Places, max_bytes: number): Result<Opened, Failure> {
  let path: string;
  try {
    path = isFileAddress(uri) ? fileURLToPath(uri) : uri;
  } catch {
    return wrong(uri, "it is not a file address");
  }
  for (const root of [places.artifacts_dir, places.workspace]) {
    const inside = isAbsolute(path) ? relative(root, path) : path;
    // The person may name a link as the workspace; the artifacts directory is ours, and a link in its place is an agent's.
    const descriptor = openBelow(root, inside, root === places.workspace ? 0 : constants.O_NOFOLLOW);
    if (descriptor === undefined) continue;
    const stat = fstatSync(descriptor);
    const unfit = !stat.isFile()
      ? "it is not a plain file"
      : stat.nlink > 1
        ? "it is a hard link"
        : stat.size > max_bytes
          ? `it has more than ${max_bytes} bytes`
          : undefined;
    if (unfit === undefined) return ok({ descriptor, name: safeName(path), size_bytes: stat.size });
    closeSync(descriptor);
    return wrong(uri, unfit);
  }
  return wrong(uri, "there is no such plain file in the artifacts directory or the workspace");
}

/**
 * Opens a path below a trusted directory, one component after the other, each relative to the descriptor of the one before and
 * none through a symbolic link: checking a path and opening it afterwards can be raced. Without /proc (macOS) the whole path is
 * opened at once, which a link in the middle can lead astray; `doctor` names that.
 */
function openBelow(root: string, path: string, root_flags: number): number | undefined {
  const parts = path.split("/").filter((part) => part !== ".");
  if (path.length > 1024 || path.includes("\0") || parts.some((part) => part === "" || part === "..")) return undefined;
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
  if (process.platform !== "linux")
    return openedBy(() => openSync(join(root, path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  let current = openedBy(() => openSync(root, O_RDONLY | O_DIRECTORY | root_flags));
  for (const [index, part] of parts.entries()) {
    if (current === undefined) return undefined;
    const parent: number = current;
    const flags = index < parts.length - 1 ? O_RDONLY | O_NOFOLLOW | O_DIRECTORY : O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    current = openedBy(() => openSync(`/proc/self/fd/${parent}/${part}`, flags));
    closeSync(parent);
  }
  return current;
}

function openedBy(open: () => number): number | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}

function safeName(path: string): string {
  return basename(path)
    .replaceAll(/[^A-Za-z0-9._-]/g, "_")
    .slice(-100);
}

/** A reference that cannot stand, with the reason. */
export function wrong(uri: string, why: string): Result<never, Failure> {
  return err(failure("validation_failed", `The artifact ${JSON.stringify(uri)} cannot be kept: ${why}.`));
}

/** What an agent named and the system does not give is the agent's trouble; anything else is a bug, and thrown on. */
export function unreadable(uri: string, error: unknown): Result<never, Failure> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return wrong(uri, `it cannot be read (${code})`);
}

/** In what a file is not what its reference says. */
export function disagreement({ digest, size_bytes }: Referenced, hex: string, size: number): string | undefined {
  if (digest !== undefined && digest !== `sha256:${hex}`) return `its digest is sha256:${hex}, not ${digest}`;
  if (size_bytes !== undefined && size_bytes !== size) return `it has ${size} bytes, not ${size_bytes}`;
  return undefined;
}
