import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { isDirectory, realPath } from "../lib/files.ts";
import { gitDirectories, repositoryRoot } from "../lib/git-directories.ts";
import { shellWord } from "../lib/shell-word.ts";
import type { Environment } from "./found.ts";
import { DATABASE, isKnownHome, stateFolder } from "./known-homes.ts";

/**
 * Returns the absolute path of the directory with the database, the logs and the sessions, which may not exist yet: `--home`, else `BOSUN_HOME`, else
 * the nearest directory from here up with a `bosun.db`, else `$XDG_STATE_HOME/bosun/<repository id>`. A home that is found must belong to the user
 * and have been named before (`rememberHome`), because resuming its sessions runs their commands. Failures: `usage` for an empty path,
 * `configuration` for a path that cannot be a home, `trust` for a home of another user or one never named.
 */
export function resolveHome(
  flag: string | undefined,
  environment: Environment,
  directory: string,
): Result<string, Failure> {
  if (flag !== undefined) return namedHome("--home", flag, directory);
  const variable = environment.BOSUN_HOME;
  if (variable !== undefined && variable !== "") return namedHome("BOSUN_HOME", variable, directory);
  for (let here = resolve(directory); ; here = dirname(here)) {
    if (existsSync(join(here, DATABASE))) return foundHome(here, environment);
    if (here === dirname(here)) break;
  }
  return ok(join(stateFolder(environment), repositoryId(directory)));
}

/**
 * Names the repository of a directory, the same in all its worktrees: the repository's name and a hash of the real path of its common git directory;
 * outside a repository, those of the directory itself. Git need not be installed.
 */
export function repositoryId(directory: string): string {
  const root = repositoryRoot(directory);
  const common = root === undefined ? realPath(resolve(directory)) : gitDirectories(root).common;
  const named = basename(common) === ".git" ? dirname(common) : common;
  const name = basename(named)
    .replace(/\.git$/, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .slice(0, 40)
    .replace(/^[-.]+/, "");
  const digest = createHash("sha256").update(common).digest("hex").slice(0, 10);
  return `${name === "" ? "root" : name}-${digest}`;
}

function namedHome(name: string, path: string, directory: string): Result<string, Failure> {
  const home = resolve(directory, path);
  if (path.trim() === "") {
    return err(failure("usage", `${name} is empty.`, { hint: `Give a directory: ${name} DIRECTORY` }));
  }
  if (existsSync(home) && !isDirectory(home)) {
    return err(
      failure("configuration", `${name} ${path}: this is a file, and the home must be a directory.`, {
        hint: "Name a directory; a missing one is created.",
      }),
    );
  }
  return ok(home);
}

function foundHome(directory: string, environment: Environment): Result<string, Failure> {
  const owner = statSync(join(directory, DATABASE), { throwIfNoEntry: false })?.uid;
  const me = process.getuid?.();
  const another = owner !== undefined && me !== undefined && owner !== me;
  if (!another && isKnownHome(environment, directory)) return ok(directory);
  const why = another
    ? `belongs to another user (${owner})`
    : "was never named by you: it may have come with a repository";
  return err(
    failure("trust", `The home found in ${directory} ${why}, and its sessions can run commands.`, {
      hint: `Name it once if you mean it: --home ${shellWord(directory)}. If not, choose another home, or delete its ${DATABASE}.`,
    }),
  );
}
