import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isDirectory } from "../lib/files.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import type { ReadFile, TextSource } from "./read-text.ts";

/** The formats of configuration files. */
export const EXTENSIONS = [".json", ".yaml", ".yml"];

export type Environment = { readonly [name: string]: string | undefined };

/** A configuration folder that was found, not named on the command line: the project's `.bosun/`, or the user's own. */
export interface FoundConfiguration {
  /** The folder itself, absolute. */
  readonly folder: string;
  readonly settings: string | undefined;
  readonly roles: string | undefined;
  /** The folder of its crews, which may be missing. */
  readonly crews: string;
  /** The folder of its prompt templates, which may be missing. */
  readonly prompts: string;
}

/**
 * Finds the project's configuration: the nearest `.bosun/` from `directory` up to the root of its repository; outside a repository, only in
 * `directory` itself, so that a stray folder above never counts. Failure `configuration` if a file exists in two formats.
 */
export function findProjectConfiguration(directory: string): Fallible<FoundConfiguration | undefined> {
  const root = repositoryRoot(directory) ?? resolve(directory);
  for (let here = resolve(directory); ; here = dirname(here)) {
    const folder = join(here, ".bosun");
    if (isDirectory(folder)) return configurationIn(folder);
    if (here === root) return ok(undefined);
  }
}

/** Finds the user's own configuration: `$XDG_CONFIG_HOME/bosun/`. Failure `configuration` if a file exists in two formats. */
export function findUserConfiguration(environment: Environment): Fallible<FoundConfiguration | undefined> {
  const folder = join(baseDirectory(environment, "XDG_CONFIG_HOME", ".config"), "bosun");
  return isDirectory(folder) ? configurationIn(folder) : ok(undefined);
}

/** A base directory by the XDG rules: a relative path in the environment is ignored. */
export function baseDirectory(environment: Environment, variable: string, fallback: string): string {
  const given = environment[variable];
  if (given !== undefined && isAbsolute(given)) return given;
  return join(environment.HOME !== undefined && isAbsolute(environment.HOME) ? environment.HOME : homedir(), fallback);
}

/** The paths of what a folder holds, by name; none if it is missing. Failure `configuration` for one that cannot be read. */
export function pathsIn(folder: string): Fallible<string[]> {
  try {
    const names = readdirSync(folder).sort();
    return ok(names.map((name) => join(folder, name)));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? ok([]) : err(unreadable(folder, code));
  }
}

/** The failure for a file or folder of a configuration that cannot be read. */
export function unreadable(path: string, code: string): Failure {
  const hint = "Make it readable, or remove it.";
  return failure("configuration", `The configuration in ${path} cannot be read (${code}).`, { hint });
}

/** A folder by its path, whose files are read when they are used, or the files of one that were read before. */
export type Folder = string | readonly ReadFile[];

/** The files of a folder, by name. Fails like `pathsIn`. */
export function sourcesIn(folder: Folder): Fallible<readonly TextSource[]> {
  return typeof folder === "string" ? pathsIn(folder) : ok(folder);
}

function configurationIn(folder: string): Fallible<FoundConfiguration> {
  const settings = onlyFile(folder, "scheduler_config");
  if (!settings.ok) return settings;
  const roles = onlyFile(folder, "roles");
  if (!roles.ok) return roles;
  const [crews, prompts] = [join(folder, "crews"), join(folder, "prompts")];
  return ok({ folder, settings: settings.value, roles: roles.value, crews, prompts });
}

function onlyFile(folder: string, name: string): Fallible<string | undefined> {
  const files = EXTENSIONS.map((extension) => join(folder, name + extension)).filter(existsSync);
  if (files.length < 2) return ok(files[0]);
  const what = `${files.join(" and ")} both exist, and only one may.`;
  return fails("configuration", what, { hint: "Keep one of them." });
}
