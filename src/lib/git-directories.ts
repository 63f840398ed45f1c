import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isDirectory, realPath, textIn } from "./files.ts";

/**
 * The nearest directory, from this one upwards, with a `.git`: a folder with a HEAD, or the file of a worktree or submodule. Sandboxes of
 * agent programs leave empty folders with that name, which do not count.
 */
export function repositoryRoot(directory: string): string | undefined {
  for (let here = resolve(directory); ; here = dirname(here)) {
    const dotGit = join(here, ".git");
    if (existsSync(join(dotGit, "HEAD")) || (existsSync(dotGit) && !isDirectory(dotGit))) return here;
    if (here === dirname(here)) return undefined;
  }
}

/**
 * The real paths of a repository's git directories: its own, and the one that all its worktrees share, usually the same. The `.git` of a
 * worktree or submodule is a file that names its own, where `commondir` names the shared one.
 */
export function gitDirectories(root: string): { readonly own: string; readonly common: string } {
  const dotGit = join(root, ".git");
  const named = isDirectory(dotGit) ? undefined : /^gitdir: (.+?)\r?\n?$/.exec(textIn(dotGit) ?? "")?.[1];
  if (named === undefined) return { own: realPath(dotGit), common: realPath(dotGit) };
  const own = resolve(root, named);
  const common = textIn(join(own, "commondir"))?.trim();
  return { own: realPath(own), common: realPath(common === undefined || common === "" ? own : resolve(own, common)) };
}
