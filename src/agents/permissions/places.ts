import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, relative, resolve } from "node:path";
import { gitDirectories, repositoryRoot } from "../../lib/git-directories.ts";

/** A path with more parts and links is not followed: no file is named so. */
const MAX_PARTS = 200;

/** Begins in a home directory, with a variable, or as an address: programs resolve these themselves. */
const ELSEWHERE = /^(?:~|\$\{?\w|file:|[a-z][\w+.-]*:\/)/i;

/** What lies here runs programs when a person uses git or Bosun. Disks may ignore case. */
const PROTECTED = /(?:^|\/)\.(?:git|bosun)(?:\/|$)/i;

type Paths = readonly string[];
type Holds = (inner: string, place: string) => boolean;

/** Whether every path leads into one of the folders. Relative paths begin in the workspace. */
export function areWithin(paths: Paths, folders: Paths, workspace: string): boolean {
  return everyPlace(paths, folders, workspace, () => true);
}

/** Whether every path leads into one of the folders, but not to what is below `.git` or `.bosun` there, nor to the git directories themselves. */
export function mayBeWritten(paths: Paths, folders: Paths, workspace: string): boolean {
  const root = repositoryRoot(workspace);
  const closed = root === undefined ? [] : Object.values(gitDirectories(root));
  const isOpen: Holds = (inner, place) => !PROTECTED.test(inner) && !closed.some((folder) => isWithin(folder, place));
  return everyPlace(paths, folders, workspace, isOpen);
}

/** Whether a path leads to the workspace itself. */
export function isWorkspace(path: string, workspace: string): boolean {
  return everyPlace([path], [workspace], workspace, (inner) => inner === "");
}

/** The paths that links take elsewhere, each with its real path. */
export function detours(paths: Paths, workspace: string): Record<string, string> {
  const from = placeOf(workspace) ?? workspace;
  const led = paths.flatMap((path): [string, string][] => {
    const said = resolve(workspace, path);
    const place = ELSEWHERE.test(path) ? undefined : placeOf(path, from);
    const expected = isWithin(workspace, said) ? join(from, relative(workspace, said)) : said;
    return place === undefined || place === expected ? [] : [[path, place]];
  });
  return Object.fromEntries(led);
}

function everyPlace(paths: Paths, folders: Paths, workspace: string, holds: Holds): boolean {
  const from = placeOf(workspace);
  const real = folders.flatMap((folder) => placeOf(folder) ?? []);
  return paths.every((path) => {
    if (ELSEWHERE.test(path)) return false;
    // As the operating system follows it, and with `a/..` left out first, as many programs do.
    return [...new Set([path, normalize(path)])].every((form) => {
      const place = placeOf(form, from);
      const folder = place && real.find((one) => isWithin(one, place));
      return place !== undefined && folder !== undefined && holds(relative(folder, place), place);
    });
  });
}

/** Where the operating system goes for a path: links are followed one by one, as far as it exists. Undefined if that cannot be told. */
function placeOf(path: string, from = "/"): string | undefined {
  const parts = path.split("/");
  let here = isAbsolute(path) ? "/" : from;
  for (let step = 0; parts.length > 0; step++) {
    const part = parts.shift() ?? "";
    const next = part === ".." ? dirname(here) : join(here, part);
    const target = next === here || part === ".." ? "" : linkAt(next);
    // The links below /proc lead each process elsewhere.
    if (target === undefined || next === "/proc" || step > MAX_PARTS) return undefined;
    here = target === "" ? next : isAbsolute(target) ? "/" : here;
    if (target !== "") parts.unshift(...target.split("/"));
  }
  return here;
}

/** The target of a link, empty if it is none. Undefined if that cannot be told. */
function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    return /^(?:EINVAL|ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "") ? "" : undefined;
  }
}

function isWithin(folder: string, place: string): boolean {
  const inner = relative(folder, place);
  return inner !== ".." && !inner.startsWith("../");
}
