import { join } from "node:path";
import { makeDirectory, ownLines, replaceOwn } from "../lib/files.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { type Configuration, readProject } from "./configuration.ts";
import type { Environment } from "./found.ts";
import { stateFolder } from "./known-homes.ts";

/** Whether the user trusted the project's configuration with the content that was read. */
export function isTrusted(environment: Environment, { content }: Configuration): boolean {
  return ownLines(fileOf(environment)).includes(content);
}

/**
 * Remembers that the user trusts a project's configuration with the content that was read; a change of any file ends that. Failure `trust` if it has
 * already changed, `environment` if that cannot be written.
 */
export function rememberTrust(environment: Environment, { found, content }: Configuration): Result<void, Failure> {
  const now = readProject(found);
  if (!now.ok) return now;
  if (now.value.content !== content) {
    const what = `${found.folder} has changed since its powers were shown, so it is not trusted.`;
    return err(failure("trust", what, { hint: "See what it can do now: bosun trust." }));
  }
  const file = fileOf(environment);
  const path = content.slice(content.indexOf(" "));
  const others = ownLines(file).filter((one) => !one.endsWith(path));
  try {
    makeDirectory(stateFolder(environment));
    replaceOwn(file, [...others, content]);
    return ok(undefined);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const hint = "Make it writable, or name the files of the configuration with --roles and --config.";
    const what = `${file} cannot be written (${code}), so the trust would be forgotten.`;
    return err(failure("environment", what, { hint }));
  }
}

function fileOf(environment: Environment): string {
  return join(stateFolder(environment), "trusted");
}
