import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isDirectory, realPath } from "../../lib/files.ts";
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

const NO_PATHS: SandboxPaths = { writable: [], hidden: [], readable: [], unwritable: [] };

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
  const mounts = [...mountsFor(allowed)];
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
    ...mounts.flatMap(([path, kind]) => {
      if (kind === "writable") return ["--bind", path, path];
      // An agent that may change it may have just removed it.
      if (kind !== "hidden") return ["--ro-bind-try", path, path];
      return isDirectory(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
    }),
    ...mounts.flatMap(([path, kind]) => (kind === "hidden" && isDirectory(path) ? ["--remount-ro", path] : [])),
  ];
}

/**
 * The mounts of these paths, outer ones first, so that an inner one counts. The folders between a writable path and a closed one inside it are mounts,
 * too, because a mount point cannot be moved: otherwise an agent could replace the folder that outside programs use. Nothing can be added beside a
 * hidden file: a journal beside a database would be played back into it.
 */
function mountsFor(allowed: SandboxPaths): Map<string, keyof SandboxPaths> {
  const hidden = existing(allowed.hidden);
  const beside = hidden.filter((path) => !isDirectory(path)).map((path) => dirname(path));
  const all = { ...allowed, hidden, unwritable: [...allowed.unwritable, ...beside] };
  // Of two kinds of one path, the first counts. A folder is shorter than what is in it.
  const wanted = (["hidden", "writable", "readable", "unwritable"] as const)
    .flatMap((kind) => existing(all[kind]).map((path) => [path, kind] as const))
    .toSorted(([one], [other]) => one.length - other.length);
  const mounts = new Map<string, keyof SandboxPaths>();
  for (const [path, kind] of wanted) {
    const [outer = "", around] = [...mounts].findLast(([other]) => isBelow(path, other)) ?? [];
    // A path inside a closed one is closed as that one is.
    if (path === outer || kind === around || (kind === "unwritable" && around !== "writable")) continue;
    const between = around === "writable" ? relative(outer, path).split(sep).slice(0, -1) : [];
    for (const index of between.keys()) mounts.set(join(outer, ...between.slice(0, index + 1)), "writable");
    mounts.set(path, kind);
  }
  return mounts;
}

/** World-writable, so each agent gets its own. */
const TEMPORARY = ["/tmp", "/var/tmp"];

/** The top-level folders of /tmp and /var/tmp that hold one of these programs, scripts or program folders, and must stay visible. */
function temporaryFoldersOf(words: readonly string[]): string[] {
  const named = words.filter((word) => isAbsolute(word) && existsSync(word)).map((word) => resolve(word));
  return [...new Set([...named, ...existing(named)].flatMap((path) => /^(?:\/var)?\/tmp\/[^/]+/.exec(path) ?? []))];
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
  return [...new Set(paths.filter((path) => existsSync(path)).map(realPath))];
}

export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
