import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { dirname, relative } from "node:path";
import { changedByOthers } from "../lib/files.ts";
import { err, ok } from "../lib/result.ts";
import { shellWord } from "../lib/shell-word.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { type Environment, findUserConfiguration, type FoundConfiguration, pathsIn, unreadable } from "./found.ts";
import type { ReadFile } from "./read-text.ts";

/** The most entries of a configuration folder, and the most bytes of all its files. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** A configuration folder whose files were read once: what is shown, trusted and used are these bytes. */
export interface Configuration {
  readonly found: FoundConfiguration;
  /** The digest of all files, with the folder's real path. */
  readonly content: string;
  readonly settings: ReadFile | undefined;
  readonly roles: ReadFile | undefined;
  readonly crews: readonly ReadFile[];
  readonly prompts: readonly ReadFile[];
}

/**
 * Reads all files of a project's configuration folder. Failure `trust` for what others could change (links, pipes, files of others) and for too much,
 * `configuration` for what cannot be read.
 */
export function readProject(found: FoundConfiguration): Fallible<Configuration> {
  return read(found, [found.folder], constants.O_NOFOLLOW);
}

/** Reads the files that count in the user's own folder, in which links are followed. Fails like `readProject` and `findUserConfiguration`. */
export function readUser(environment: Environment): Fallible<Configuration | undefined> {
  const found = findUserConfiguration(environment);
  if (!found.ok) return found;
  if (found.value === undefined) return ok(undefined);
  const { folder, settings, roles, crews, prompts } = found.value;
  // Other files of the folder do not count, and may be anything.
  const own = bytesOf(folder, 0);
  return own.ok ? read(found.value, [settings, roles, crews, prompts], 0) : own;
}

/** Reads these files, and those below these folders, once. */
function read(
  found: FoundConfiguration,
  paths: readonly (string | undefined)[],
  flags: number,
): Fallible<Configuration> {
  const files: ReadFile[] = [];
  const open = paths.filter((path) => path !== undefined);
  let [entries, bytes] = [0, 0];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const content = bytesOf(path, flags);
    if (!content.ok) return content;
    const below = content.value === undefined ? pathsIn(path) : ok([]);
    if (!below.ok) return below;
    open.push(...below.value);
    if (content.value) files.push({ path, bytes: content.value });
    entries += below.value.length;
    bytes += content.value?.length ?? 0;
    if (entries > MAX_ENTRIES || bytes > MAX_BYTES) return refused(found.folder, "holds too much");
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return ok({
    found,
    content: `${digestOf(found.folder, files)} ${JSON.stringify(realpathSync(found.folder))}`,
    settings: files.find(({ path }) => path === found.settings),
    roles: files.find(({ path }) => path === found.roles),
    crews: files.filter(({ path }) => dirname(path) === found.crews),
    prompts: files.filter(({ path }) => dirname(path) === found.prompts),
  });
}

function digestOf(folder: string, files: readonly ReadFile[]): string {
  const lines = files.map(({ path, bytes }) => `${JSON.stringify(relative(folder, path))} ${hash("sha256", bytes)}\n`);
  return `sha256:${hash("sha256", lines.join(""))}`;
}

/** The bytes of a file that only this user can change; undefined for such a folder, and for what is gone. */
function bytesOf(path: string, flags: number): Fallible<Uint8Array | undefined> {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe that has no writer would wait forever.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
    const stat = fstatSync(descriptor);
    const others = changedByOthers(stat);
    if (others !== undefined)
      return refused(path, others, `Make it yours alone (chown, chmod go-w ${shellWord(path)})`);
    if (stat.isDirectory()) return ok(undefined);
    if (!stat.isFile()) return refused(path, "is not an ordinary file");
    return stat.size > MAX_BYTES ? refused(path, "is too large") : ok(readFileSync(descriptor));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return ok(undefined);
    return code === "ELOOP" ? refused(path, "is a symbolic link") : err(unreadable(path, code));
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function refused(path: string, why: string, remedy = "Put a plain file of yours in its place"): Fallible<never> {
  const hint = `${remedy}, or name other files: with --config and --roles, in place of your own folder with XDG_CONFIG_HOME.`;
  return fails("trust", `${path} ${why}, so its content could change after you trust it.`, { hint });
}
