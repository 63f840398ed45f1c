import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { SandboxLevel, LaunchSpec, SandboxPaths } from "../launcher.ts";

/** How this machine sandboxes processes, with the absolute paths of the programs. */
export type SandboxMechanism =
  | {
      readonly by: "unshare";
      readonly unshare: string;
      readonly setpriv: string;
      readonly sh: string;
      /** Whether a user namespace is needed to create a process namespace. Root does not need one, and keeps its rights without it. */
      readonly user: boolean;
    }
  | { readonly by: "bubblewrap"; readonly bwrap: string };

const NO_PATHS: SandboxPaths = { writable: [], hidden: [], readable: [] };

/** The command that starts the given one in a sandbox. */
export function sandboxCommand(
  mechanism: SandboxMechanism,
  { command, directory, environment, isolation }: LaunchSpec,
): string[] {
  const { level = "processes", paths = NO_PATHS } = isolation ?? {};
  if (mechanism.by === "unshare") return throughUnshare(mechanism, command);
  const inside =
    level === "processes"
      ? ["--dev-bind", "/", "/", "--proc", "/proc"]
      : fileSystemOptions(level, paths, [...command, ...(environment["PATH"] ?? "").split(":")]);
  return [
    mechanism.bwrap,
    // Its own first process would be left to an init: bubblewrap does not wait for it.
    ...["--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent"],
    ...inside,
    ...["--chdir", directory, "--", "/bin/sh", "-c", FIRST, "sh"],
    ...command,
  ];
}

/**
 * The shell script of a namespace's first process: it starts the program and reaps everything else. Its own words, such as "Terminated", would appear
 * in the program's stderr. `exec` takes no builtin of the shell for the program.
 */
const FIRST = 'exec 3>&2 2>/dev/null; (exec "$@") 2>&3 3>&-; exit $?';

/**
 * `unshare` waits for the first process of the new process namespace, a shell, which waits for the program: each process has a parent that reaps it,
 * so nothing is left to an init, which in a container may reap nothing. Both die with their parent; the kernel then kills everything in the namespace.
 * The program is not the first process, so signals work as usual.
 */
function throughUnshare(mechanism: Extract<SandboxMechanism, { by: "unshare" }>, command: readonly string[]): string[] {
  const { setpriv, unshare, sh, user } = mechanism;
  return [
    ...[setpriv, "--pdeathsig", "KILL", unshare, ...(user ? ["--user", "--map-current-user"] : [])],
    ...["--pid", "--fork", "--kill-child", "--mount-proc", "--", sh, "-c", FIRST, "sh"],
    ...command,
  ];
}

/** Bubblewrap options for a file system read-only but for a few paths, with its own `/tmp` and `/dev`, without terminal, disks or shared memory. */
function fileSystemOptions(
  level: Exclude<SandboxLevel, "processes">,
  allowed: SandboxPaths,
  programs: readonly string[],
): string[] {
  const [writable, hidden, readable] = [allowed.writable, allowed.hidden, allowed.readable].map(existing) as [
    string[],
    string[],
    string[],
  ];
  const bind = (path: string) => ["--bind", path, path];
  const isDirectory = (path: string) => statSync(path).isDirectory();
  const aroundHidden = writable.filter((path) => hidden.some((other) => isBelow(other, path)));
  const otherWritable = writable.filter((path) => !aroundHidden.includes(path));
  // /run has sockets of daemons that could act for the agent.
  const emptied = existing(level === "offline" ? [...TEMPORARY, "/run"] : TEMPORARY);
  const folders = temporaryFoldersOf(programs);
  // `resolve` drops a trailing slash, which would look like a link.
  const paths = [...folders, ...programs.filter(isAbsolute), ...allowed.writable, ...allowed.readable];
  const named = paths.map((path) => resolve(path)).filter(isThroughLink);
  const plain = folders.filter((path) => !named.includes(path));
  return [
    // Root's capabilities would undo what follows. bubblewrap leaves /proc/sys writable for root, where a setting names a program to run.
    ...["--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...(process.getuid?.() === 0 ? ["--ro-bind", "/proc/sys", "/proc/sys"] : []),
    ...emptied.flatMap((path) => ["--tmpfs", path]),
    ...plain.flatMap((path) => ["--ro-bind", path, path]),
    ...linksTo(named, emptied, plain).flatMap((path) => ["--symlink", realpathSync(path), path]),
    ...["--unsetenv", "TMPDIR"],
    ...(level === "offline" ? ["--unshare-net"] : []),
    ...aroundHidden.flatMap(bind),
    ...[...new Set(hidden.map((path) => dirname(path)))].flatMap((folder) => pinned(aroundHidden, folder)),
    ...hidden.flatMap((path) => (isDirectory(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path])),
    ...readable.flatMap((path) => ["--ro-bind", path, path]),
    ...otherWritable.flatMap(bind),
    ...hidden.filter(isDirectory).flatMap((path) => ["--remount-ro", path]),
  ];
}

/**
 * Options that pin a folder inside a writable path: a mount point cannot be moved. Otherwise an agent could replace the folder that outside programs
 * use, or put a journal beside a database to be played back into it.
 */
function pinned(paths: readonly string[], folder: string): string[] {
  const parent = paths.find((path) => path !== folder && isBelow(folder, path));
  if (parent === undefined) return [];
  const names = relative(parent, folder).split(sep);
  const above = names.slice(1).map((_, index) => join(parent, ...names.slice(0, index + 1)));
  return [...above.flatMap((path) => ["--bind", path, path]), "--ro-bind", folder, folder];
}

/** World-writable, so each agent gets its own. */
const TEMPORARY = ["/tmp", "/var/tmp"];

/** The top-level folders of /tmp and /var/tmp that hold one of these programs, scripts or program folders, and must stay visible. */
function temporaryFoldersOf(words: readonly string[]): string[] {
  const named = words.filter((word) => isAbsolute(word) && existsSync(word));
  const below = [...named, ...existing(named)].flatMap((path) =>
    TEMPORARY.filter((folder) => isBelow(path, folder) && path !== folder).map((folder) =>
      join(folder, relative(folder, path).split(sep, 1)[0] ?? ""),
    ),
  );
  return [...new Set(below)];
}

/** The paths through links that are missing in an emptied folder and must be recreated as links there; only the outermost of nested ones. */
function linksTo(named: readonly string[], emptied: readonly string[], folders: readonly string[]): string[] {
  const missing = [...new Set(named)].filter(
    (path) => emptied.some((folder) => isBelow(path, folder)) && !folders.some((folder) => isBelow(path, folder)),
  );
  return missing.filter((path) => !missing.some((other) => other !== path && isBelow(path, other)));
}

function isThroughLink(path: string): boolean {
  return existsSync(path) && realpathSync(path) !== path;
}

/** The real paths of the existing ones, because mounts are made on real paths. */
function existing(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
