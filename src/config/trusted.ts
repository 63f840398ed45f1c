import { createHash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { makeDirectory, ownLines, replaceOwn } from "../lib/files.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Environment } from "./found.ts";
import { stateFolder } from "./known-homes.ts";
import { filesBelow } from "./trust.ts";

/** Whether the user trusted this configuration folder with its current content. */
export function isTrusted(environment: Environment, folder: string): boolean {
  const line = contentOf(folder);
  return line.ok && ownLines(fileOf(environment)).includes(line.value);
}

/**
 * Remembers that the user trusts a configuration folder with the content that was read; a change of any file ends that. Failure `trust` if it has
 * already changed, `environment` if that cannot be written.
 */
export function rememberTrust(environment: Environment, folder: string, content: string): Result<void, Failure> {
  const line = contentOf(folder);
  if (!line.ok) return line;
  if (line.value !== content) {
    return err(
      failure("trust", `${folder} has changed since its powers were shown, so it is not trusted.`, {
        hint: "See what it can do now: bosun trust.",
      }),
    );
  }
  const file = fileOf(environment);
  const path = line.value.slice(line.value.indexOf(" "));
  const others = ownLines(file).filter((one) => !one.endsWith(path));
  try {
    makeDirectory(stateFolder(environment));
    replaceOwn(file, [...others, line.value]);
    return ok(undefined);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return err(
      failure("environment", `${file} cannot be written (${code}), so the trust would be forgotten.`, {
        hint: "Make it writable, or name the files of the configuration with --roles and --config.",
      }),
    );
  }
}

/** A digest of all files, with the folder's real path. */
export function contentOf(folder: string): Result<string, Failure> {
  const files = filesBelow(folder);
  if (!files.ok) return files;
  const hash = createHash("sha256");
  for (const file of files.value) {
    const content = createHash("sha256").update(readFileSync(file)).digest("hex");
    hash.update(`${JSON.stringify(relative(folder, file))} ${content}\n`);
  }
  return ok(`sha256:${hash.digest("hex")} ${JSON.stringify(realpathSync(folder))}`);
}

function fileOf(environment: Environment): string {
  return join(stateFolder(environment), "trusted");
}
