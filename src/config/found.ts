import { type Dirent, existsSync, readdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** The environment variables of a process, by name. */
export type Environment = { readonly [name: string]: string | undefined };

/** A configuration folder that was found and not named: the project's `.bosun/`, or the person's own. */
export interface FoundConfiguration {
  /** The folder itself, absolute. */
  readonly folder: string;
  readonly settings: string | undefined;
  readonly roles: string | undefined;
  /** Where it keeps its crews; the folder need not be there. */
  readonly crews: string;
}

/**
 * The project's shareable configuration: the nearest `.bosun/` from `directory` up to the root of its repository; outside of one
 * only in `directory` itself, so that a stray folder above never takes part. Failure `configuration` when a file is there twice.
 */
export function findProjectConfiguration(directory: string): Result<FoundConfiguration | undefined, Failure> {
  const root = repositoryRoot(directory) ?? resolve(directory);
  for (let here = resolve(directory); ; here = dirname(here)) {
    const folder = join(here, ".bosun");
    if (isDirectory(folder)) return configurationIn(folder);
    if (here === root) return ok(undefined);
  }
}

/** The person's own configuration: `$XDG_CONFIG_HOME/bosun/`. Failure `configuration` when a file is there twice. */
export function findUserConfiguration(environment: Environment): Result<FoundConfiguration | undefined, Failure> {
  const folder = join(baseDirectory(environment, "XDG_CONFIG_HOME", ".config"), "bosun");
  return isDirectory(folder) ? configurationIn(folder) : ok(undefined);
}

/** A base directory by the XDG rules: a relative one in the environment does not count. */
export function baseDirectory(environment: Environment, variable: string, fallback: string): string {
  const given = environment[variable];
  if (given !== undefined && isAbsolute(given)) return given;
  return join(environment.HOME !== undefined && isAbsolute(environment.HOME) ? environment.HOME : homedir(), fallback);
}

/** The nearest directory from here up that has a `.git`, be it a folder or the file of a worktree. */
export function repositoryRoot(directory: string): string | undefined {
  for (let here = resolve(directory); ; here = dirname(here)) {
    if (existsSync(join(here, ".git"))) return here;
    if (here === dirname(here)) return undefined;
  }
}

/** Whether there is a directory at this path, links followed; none where nobody can say, be it that the path is too long. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** What lies in a folder of configuration; undefined if it is not there. Failure `configuration` for one that cannot be read. */
export function entriesOf(folder: string): Result<Dirent[] | undefined, Failure> {
  try {
    return ok(readdirSync(folder, { withFileTypes: true }));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return ok(undefined);
    return err(
      failure("configuration", `The configuration in ${folder} cannot be read (${code}).`, {
        hint: "Make it readable, or take it away.",
      }),
    );
  }
}

function configurationIn(folder: string): Result<FoundConfiguration, Failure> {
  const settings = onlyFile(folder, "scheduler_config");
  if (!settings.ok) return settings;
  const roles = onlyFile(folder, "roles");
  if (!roles.ok) return roles;
  return ok({ folder, settings: settings.value, roles: roles.value, crews: join(folder, "crews") });
}

function onlyFile(folder: string, name: string): Result<string | undefined, Failure> {
  const files = ["json", "yaml", "yml"].map((extension) => join(folder, `${name}.${extension}`)).filter(existsSync);
  if (files.length < 2) return ok(files[0]);
  return err(
    failure("configuration", `${files.join(" and ")} are there together, and only one can hold.`, {
      hint: "Keep one of them.",
    }),
  );
}
