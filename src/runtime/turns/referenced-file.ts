import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { basename, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { TurnRequest } from "../../kernel/agent.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";

/** The directories of a turn in which its agent may name files, and the session whose kept artifacts it may name. */
export type Places = Pick<PayloadByType["turn_request"], "artifacts_dir" | "workspace" | "home"> &
  Pick<TurnRequest, "session_id">;

/** A file that an agent named, open for reading. */
export interface Opened {
  /** The caller must close it. */
  readonly descriptor: number;
  readonly name: string;
  /** The size at the time of opening. */
  readonly size_bytes: number;
}

/** An agent's reference to a file. */
export type Referenced = Pick<PayloadByType["artifact_ref"], "uri" | "digest" | "size_bytes">;

/** Whether a reference does not lead to a local file. URI schemes are case-insensitive (RFC 3986). */
export function isElsewhere(uri: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(uri) && !isFileAddress(uri);
}

function isFileAddress(uri: string): boolean {
  return /^file:/i.test(uri);
}

/** The directory of a session's kept artifacts, relative to the home. */
export function keptDirectory(session_id: string): string {
  return join("sessions", session_id, "artifacts");
}

/** Opens a plain file below `places`, following no links. Fails with `validation_failed` and the reason. */
export function openReferenced(uri: string, places: Places, max_bytes: number): Fallible<Opened> {
  let path: string;
  try {
    path = isFileAddress(uri) ? fileURLToPath(uri) : uri;
  } catch {
    return wrong(uri, "it is not a file address");
  }
  for (const { root, below, flags } of rootsOf(places)) {
    const inside = isAbsolute(path) ? relative(root, path) : path;
    const descriptor = inside.startsWith(below) ? openBelow(root, inside, flags) : undefined;
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
  return wrong(uri, "there is no such plain file in the artifacts directory, the workspace or the kept artifacts");
}

/**
 * Where paths that begin with `below` are opened. The workspace and the home may be links. The artifacts directories are Bosun's own: a link
 * there comes from an agent.
 */
function rootsOf({ artifacts_dir, workspace, home, session_id }: Places) {
  return [
    { root: artifacts_dir, below: "", flags: constants.O_NOFOLLOW },
    { root: workspace, below: "", flags: 0 },
    ...(home === undefined ? [] : [{ root: home, below: `${keptDirectory(session_id)}/`, flags: 0 }]),
  ];
}

/**
 * Opens a path below a trusted directory component by component, each relative to the previous descriptor and none through a symbolic link.
 * Checking a path before opening it would be a race. Without /proc (macOS) the whole path is opened at once, so a link in the middle is
 * followed; `doctor` warns of that.
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

/** The failure for a reference that cannot be kept. */
export function wrong(uri: string, why: string): Fallible<never> {
  return fails("validation_failed", `The artifact ${JSON.stringify(uri)} cannot be kept: ${why}.`);
}

/** The failure for a file that the system does not let us read. Errors without a system code are bugs and are rethrown. */
export function unreadable(uri: string, error: unknown): Fallible<never> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return wrong(uri, `it cannot be read (${code})`);
}

/** How a file differs from its reference; undefined if it does not. */
export function disagreement({ digest, size_bytes }: Referenced, hex: string, size: number): string | undefined {
  if (digest !== undefined && digest !== `sha256:${hex}`) return `its digest is sha256:${hex}, not ${digest}`;
  if (size_bytes !== undefined && size_bytes !== size) return `it has ${size} bytes, not ${size_bytes}`;
  return undefined;
}
