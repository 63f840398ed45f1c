import { accessSync, constants, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Git } from "../lib/git.ts";
import { gitDirectories, repositoryRoot } from "../lib/git-directories.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { answered, parts, type Person, tried } from "./place.ts";

/** What a session needs to know of a person's repository. Nothing is written there. */
export interface UserRepository {
  readonly root: string;
  readonly base: string;
  /** The full name of the branch that is checked out; none for a detached HEAD. */
  readonly branch?: string;
  /** Paths with changes that are not committed, and files that git does not know. */
  readonly dirty: readonly string[];
  readonly untracked: readonly string[];
  readonly committer?: Person;
  readonly settings: readonly Setting[];
  readonly isShallow: boolean;
  /** Submodules of the base. */
  readonly submodules: readonly string[];
  /** Hooks that the scheduler's git will not run. */
  readonly hooks: readonly string[];
  /** Filters that attributes name, such as that of LFS. The scheduler's git will not run them. */
  readonly filters: readonly string[];
}

export type Setting = readonly [name: string, value: string];

/** Git 2.38 brought `merge-tree --write-tree`. */
const OLDEST = [2, 38] as const;

/** Examines the repository of a folder, of which `base` names a commit. `home` is where the session will lie. */
export function examined(git: Git, folder: string, home: string, base = "HEAD"): Promise<Fallible<UserRepository>> {
  return tried("The repository cannot be examined", folder, async () => {
    const version = await git(folder, ["version"]);
    const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
    if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
      return fails("environment", `A copy for each ticket needs git ${OLDEST.join(".")}; this is ${version}.`, {
        hint: "Install a newer git, or work without copies: --isolation none",
      });
    const root = repositoryRoot(folder);
    if (root === undefined) return noRepository(folder);
    const outer = repositoryRoot(home);
    if (outer !== undefined)
      return fails("environment", `Copies cannot lie in ${home}, because it is inside the repository ${outer}.`, {
        hint: "Name a home outside of every repository with --home",
      });
    const ask = (...command: Parameters<Git>[1]) => git(root, command);
    const maybe = async (...command: Parameters<Git>[1]) => {
      const { yes, text } = await answered(git(root, command));
      return yes ? text : undefined;
    };
    if ((await maybe("rev-parse", "--quiet", "--verify", "HEAD^{commit}")) === undefined)
      return fails("environment", `The repository ${root} has no commit yet.`, {
        hint: "Commit what the tickets should start from, then try again.",
      });
    const commit = await maybe("rev-parse", "--quiet", "--verify", "--end-of-options", `${base}^{commit}`);
    if (commit === undefined)
      return fails("usage", `--base ${base}: the repository ${root} has no such commit.`, {
        hint: "Name a commit, a branch or a tag.",
      });
    const settings = settingsIn(await ask("config", "--list", "--show-scope", "-z"));
    if (settings.some(([name]) => /^remote\..*\.promisor$/s.test(name)))
      return fails("environment", `The repository ${root} is a partial clone, of which objects are missing.`, {
        hint: "Clone it whole, or work without copies: --isolation none",
      });
    const branch = await maybe("symbolic-ref", "HEAD");
    const status = parts(await ask("status", "--porcelain", "-z", "--no-renames"));
    const named = (wanted: boolean) =>
      status.flatMap((line) => (line.startsWith("??") === wanted ? [line.slice(3)] : []));
    const value = (wanted: string) => settings.findLast(([name]) => name === wanted)?.[1];
    const [name, email] = [value("user.name"), value("user.email")];
    return ok({
      root,
      base: commit,
      ...(branch !== undefined && { branch }),
      dirty: named(false),
      untracked: named(true),
      ...(name !== undefined && email !== undefined && { committer: { name, email } }),
      settings,
      isShallow: (await ask("rev-parse", "--is-shallow-repository")) === "true",
      submodules: linksIn(await ask("ls-tree", "-r", "-z", commit)).map(([path]) => path),
      hooks: hooksOf(root, value("core.hookspath")),
      filters: await filtersIn(git, root, commit),
    });
  });
}

/** The failure of copies outside of a repository. */
export function noRepository(folder: string): Fallible<never> {
  return fails("environment", `A copy for each ticket needs a git repository, and ${folder} is in none.`, {
    hint: "Run `git init` and commit, or work without copies: --isolation none",
  });
}

/** What `config --list --show-scope -z` printed, without what this program says to git. */
function settingsIn(listed: string): Setting[] {
  const words = listed.split("\0");
  return words.flatMap((entry, at): Setting[] => {
    if (at % 2 === 0 || words[at - 1] === "command") return [];
    const [name = "", ...value] = entry.split("\n");
    // A name alone is a switch that is on.
    return [[name, value.length === 0 ? "true" : value.join("\n")]];
  });
}

/** The submodules, each with its commit, in what `ls-tree -r -z` printed. */
export function linksIn(listed: string): [path: string, commit: string][] {
  return parts(listed).flatMap((line) => {
    const [, commit, path] = /^160000 commit (\w+)\t(.*)$/s.exec(line) ?? [];
    return commit === undefined || path === undefined ? [] : [[path, commit]];
  });
}

function hooksOf(root: string, elsewhere: string | undefined): string[] {
  const folder = elsewhere === undefined ? join(gitDirectories(root).common, "hooks") : resolve(root, elsewhere);
  try {
    return readdirSync(folder)
      .filter((name) => /^[a-z-]+$/.test(name) && isExecutable(join(folder, name)))
      .toSorted();
  } catch {
    return [];
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function filtersIn(git: Git, root: string, commit: string): Promise<string[]> {
  const search = ["-h", "-o", "-E", "filter=[^ \t]+", commit, "--", ".gitattributes", "**/.gitattributes"] as const;
  const found = await answered(git(root, ["grep", ...search]));
  const names = found.text.split("\n").flatMap((line) => (line === "" ? [] : [line.slice("filter=".length)]));
  return [...new Set(names)].toSorted();
}
