import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Level, LaunchSpec, Places } from "../launcher.ts";

/** The programs, by absolute path, through which this machine gives a level. */
export type SandboxMechanism =
  | {
      readonly by: "unshare";
      readonly unshare: string;
      readonly nsenter: string;
      readonly setpriv: string;
      readonly sh: string;
      readonly sleep: string;
      /** Whether it takes a user namespace to be allowed a process namespace. Whoever may have one without keeps all rights inside. */
      readonly user: boolean;
    }
  | { readonly by: "bubblewrap"; readonly bwrap: string };

const NO_PLACES: Places = { writable: [], hidden: [], shown: [] };

/** The command that starts this one, kept apart. */
export function wrapped(
  mechanism: SandboxMechanism,
  { command, directory, environment, isolation }: LaunchSpec,
): string[] {
  const { level = "processes", places = NO_PLACES } = isolation ?? {};
  if (mechanism.by === "unshare") return throughUnshare(mechanism, command);
  const inside =
    level === "processes"
      ? ["--dev-bind", "/", "/", "--proc", "/proc"]
      : filesOf(level, places, [...command, ...(environment["PATH"] ?? "").split(":")]);
  return [
    mechanism.bwrap,
    ...["--unshare-user", "--unshare-pid", "--die-with-parent"],
    ...inside,
    ...["--chdir", directory, "--"],
    ...command,
  ];
}

/** Its parent may have died before it asked to die with it; /proc is still the one outside. The program is `sleep`. */
const FIRST =
  'read -r _ _ _ parent _ </proc/self/stat && [ "$parent" = "$1" ] || exit; while :; do "$0" 2147483647 & wait; done';

/**
 * A shell outside of the new process namespace starts two processes in it. The first only lasts, reaps and dies with the shell's
 * process; then the kernel kills everything else in the namespace. The second is the program. It is no init, so signals work on
 * it as ever. `nsenter` takes the shell's place and waits for it: it exits with the program's code or dies of its signal, which
 * no shell and no bubblewrap does.
 */
function throughUnshare(mechanism: Extract<SandboxMechanism, { by: "unshare" }>, command: readonly string[]): string[] {
  const { setpriv, unshare, nsenter, sh, sleep, user } = mechanism;
  const dieWithParent = [setpriv, "--pdeathsig", "KILL"];
  const first = [...dieWithParent, sh, "-c", FIRST, sleep].map(quoted).join(" ");
  const script = `${first} "$$" </dev/null >/dev/null 2>&1 & exec "$@"`;
  // What is needed to enter and to mount /proc is given up again before the program begins.
  const namespaces = user ? ["--user", "--map-current-user", "--keep-caps", "--pid"] : ["--pid"];
  const givenUp = user ? [setpriv, "--ambient-caps", "-all", "--inh-caps", "-all", "--"] : [];
  return [
    ...dieWithParent,
    ...[unshare, ...namespaces, "--", sh, "-c", script, "sh"],
    ...[nsenter, "--pid=/proc/self/ns/pid_for_children", "--", unshare, "--mount-proc", "--", ...givenUp],
    ...command,
  ];
}

/** A file system that can only be read, but for a few places; `/tmp` and `/dev` of its own, and no terminal, disk or shared memory. */
function filesOf(level: Exclude<Level, "processes">, places: Places, programs: readonly string[]): string[] {
  const [writable, hidden, shown] = [places.writable, places.hidden, places.shown].map(there) as [
    string[],
    string[],
    string[],
  ];
  const bind = (path: string) => ["--bind", path, path];
  const isFolder = (path: string) => statSync(path).isDirectory();
  const around = writable.filter((path) => hidden.some((other) => isBelow(other, path)));
  const within = writable.filter((path) => !around.includes(path));
  // In /run are sockets of daemons that would do for the agent what it may not.
  const emptied = there(level === "offline" ? [...TEMPORARY, "/run"] : TEMPORARY);
  const folders = foldersAbove(programs);
  // A path that only ends in a slash leads through no link.
  const paths = [...folders, ...programs.filter(isAbsolute), ...places.writable, ...places.shown];
  const named = paths.map((path) => resolve(path)).filter(isThroughLink);
  const plain = folders.filter((path) => !named.includes(path));
  return [
    // Root's rights would undo what follows; and bubblewrap leaves root the settings of the kernel, one of which names a program to run.
    ...["--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    ...(process.getuid?.() === 0 ? ["--ro-bind", "/proc/sys", "/proc/sys"] : []),
    ...emptied.flatMap((path) => ["--tmpfs", path]),
    ...plain.flatMap((path) => ["--ro-bind", path, path]),
    ...linksTo(named, emptied, plain).flatMap((path) => ["--symlink", realpathSync(path), path]),
    ...["--unsetenv", "TMPDIR"],
    ...(level === "offline" ? ["--unshare-net"] : []),
    ...around.flatMap(bind),
    ...[...new Set(hidden.map((path) => dirname(path)))].flatMap((folder) => fixedIn(around, folder)),
    ...hidden.flatMap((path) => (isFolder(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path])),
    ...shown.flatMap((path) => ["--ro-bind", path, path]),
    ...within.flatMap(bind),
    ...hidden.filter(isFolder).flatMap((path) => ["--remount-ro", path]),
  ];
}

/**
 * What holds a folder, in one of these places, where and as it is: nobody moves what something is mounted on. Otherwise another could be put
 * in its place, to be taken for it outside, or a journal beside a database, to be played back into it.
 */
function fixedIn(places: readonly string[], folder: string): string[] {
  const place = places.find((path) => path !== folder && isBelow(folder, path));
  if (place === undefined) return [];
  const names = relative(place, folder).split(sep);
  const above = names.slice(1).map((_, index) => join(place, ...names.slice(0, index + 1)));
  return [...above.flatMap((path) => ["--bind", path, path]), "--ro-bind", folder, folder];
}

/** Where everybody may put things, so that each agent gets one of its own. */
const TEMPORARY = ["/tmp", "/var/tmp"];

/** What lies directly in there and holds one of these, a program, a script or a folder of programs: without it there would be nothing to run. */
function foldersAbove(words: readonly string[]): string[] {
  const named = words.filter((word) => isAbsolute(word) && existsSync(word));
  const below = [...named, ...there(named)].flatMap((path) =>
    TEMPORARY.filter((folder) => isBelow(path, folder) && path !== folder).map((folder) =>
      join(folder, relative(folder, path).split(sep, 1)[0] ?? ""),
    ),
  );
  return [...new Set(below)];
}

/**
 * Which of these are to be links, so that they lead in what is emptied where they lead outside: the outermost of those that no folder has
 * with it.
 */
function linksTo(named: readonly string[], emptied: readonly string[], folders: readonly string[]): string[] {
  const missing = [...new Set(named)].filter(
    (path) => emptied.some((folder) => isBelow(path, folder)) && !folders.some((folder) => isBelow(path, folder)),
  );
  return missing.filter((path) => !missing.some((other) => other !== path && isBelow(path, other)));
}

function isThroughLink(path: string): boolean {
  return existsSync(path) && realpathSync(path) !== path;
}

/** Mounts are made where a path really leads. */
function there(paths: readonly string[]): string[] {
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
