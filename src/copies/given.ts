import { constants, existsSync, lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { copyFile, link, mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { makeDirectory, OWN, realPath, textIn } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { answered, parts, type Place, tried } from "./place.ts";

/** What every ticket gets beside the commit: files that git ignores, each copied, and folders, whose files are hard links. */
export interface Given {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  /** What was asked for and is not given: too large, or missing. */
  readonly left: readonly string[];
}

interface GivenOptions {
  /** Folders from `worktree.copy`, relative to the repository. */
  readonly folders: readonly string[];
  /** The largest file that is given, in bytes. */
  readonly maxBytes: number;
}

/** The list of the files to give, in the syntax of `.gitignore`. It is committed, so it may come from others. */
const LIST = ".worktreeinclude";

const masterOf = ({ folder }: Place) => join(folder, "given");

/** What the master holds; undefined if there is none. */
export function givenOf(place: Place): Given | undefined {
  const text = textIn(join(masterOf(place), "given.json"));
  return text === undefined ? undefined : (JSON.parse(text) as Given);
}

/**
 * Makes the master from a person's repository, unless there is one. Tickets get hard links to its files and never to the person's, which a program
 * could then change in place.
 */
export function keepGiven(place: Place, root: string, options: GivenOptions): Promise<Fallible<Given>> {
  return tried("What tickets are given beside the commit cannot be copied", root, async () => {
    const kept = givenOf(place);
    if (kept !== undefined) return ok(kept);
    for (const folder of options.folders) {
      const wrong = await wrongFolder(place, root, folder);
      if (wrong !== undefined)
        return fails("configuration", `worktree.copy: ${folder} ${wrong}.`, {
          hint: "Name folders of the repository that git ignores, such as node_modules.",
        });
    }
    const unready = join(place.folder, "given.new");
    rmSync(unready, { recursive: true, force: true });
    makeDirectory(unready);
    const isHere = (folder: string) => existsSync(join(root, folder));
    const folders = options.folders.filter(isHere);
    const within = (file: string) => folders.some((folder) => file.startsWith(`${folder}/`));
    const listed = (await included(place, root)).filter((file) => !within(file));
    const files = listed.filter((file) => mayGive(join(root, file), options.maxBytes));
    for (const file of files) {
      await mkdir(dirname(join(unready, "files", file)), { recursive: true });
      await copyFile(join(root, file), join(unready, "files", file), constants.COPYFILE_FICLONE);
    }
    for (const folder of folders) await mirror(join(root, folder), join(unready, "files", folder), root, copied);
    const left = [...listed.filter((file) => !files.includes(file)), ...options.folders.filter((f) => !isHere(f))];
    const given: Given = { files, folders, left };
    writeFileSync(join(unready, "given.json"), JSON.stringify(given), OWN);
    renameSync(unready, masterOf(place));
    return ok(given);
  });
}

/** The default folders that tickets are given: each `node_modules` that git ignores. */
export function installedIn({ git }: Place, root: string): Promise<Fallible<string[]>> {
  return tried("What git ignores cannot be listed", root, async () => {
    const listed = ["-z", "--others", "--ignored", "--exclude-standard", "--directory"] as const;
    const folders = parts(await git(root, ["ls-files", ...listed])).map((path) => path.replace(/\/$/, ""));
    const isOwn = (path: string) => lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
    return ok(folders.filter((path) => /(?:^|\/)node_modules$/.test(path) && isOwn(path)));
  });
}

/** Puts what is given into a ticket's work tree, unless it is there: an agent may have changed it. */
export async function give(place: Place, tree: string): Promise<void> {
  const { files, folders } = givenOf(place) ?? NOTHING;
  const from = join(masterOf(place), "files");
  for (const path of [...files, ...folders]) {
    const to = join(tree, path);
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined || leadsElsewhere(tree, path)) continue;
    await mkdir(dirname(to), { recursive: true });
    if (files.includes(path)) await copied(join(from, path), to);
    else await mirror(join(from, path), to, from, linked);
  }
}

const NOTHING: Given = { files: [], folders: [], left: [] };

/** Whether a folder on the way to a path is a link, which a commit may have put there. */
function leadsElsewhere(tree: string, path: string): boolean {
  const above = dirname(path);
  if (above === ".") return false;
  return (
    lstatSync(join(tree, above), { throwIfNoEntry: false })?.isSymbolicLink() === true || leadsElsewhere(tree, above)
  );
}

async function included({ git }: Place, root: string): Promise<string[]> {
  const list = join(root, LIST);
  if (lstatSync(list, { throwIfNoEntry: false })?.isFile() !== true) return [];
  const matched = await git(root, ["ls-files", "-z", "--others", "--ignored", `--exclude-from=${list}`]);
  const { text } = await answered(git(root, ["check-ignore", "-z", "--stdin"], { input: matched }));
  return parts(text);
}

/** Whether it is a regular file of at most this size. Links are not followed. */
function mayGive(file: string, maxBytes: number): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && stat.isFile() && stat.size <= maxBytes;
}

async function wrongFolder({ git }: Place, root: string, folder: string): Promise<string | undefined> {
  const path = join(root, folder);
  if (isAbsolute(folder) || folder !== relative(root, path) || /^(?:\.\.|\.git)?(?:$|\/)/.test(folder))
    return "is not inside the repository";
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isDirectory() || realPath(path) !== join(realPath(root), folder)) return "is a link or no folder";
  return (await git(root, ["ls-files", "--", folder])) === "" ? undefined : "holds files that are committed";
}

/** Makes a folder with the same entries, each file by `file`. A link to an absolute path inside `root` becomes relative, so that it stays inside. */
async function mirror(from: string, to: string, root: string, file: (from: string, to: string) => Promise<void>) {
  await mkdir(to, { recursive: true });
  const entries = await readdir(from, { withFileTypes: true });
  const each = entries.map(async (entry) => {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await mirror(source, target, root, file);
    else if (entry.isFile()) await file(source, target);
    else if (entry.isSymbolicLink()) {
      const leads = await readlink(source);
      const isInside = isAbsolute(leads) && `${leads}/`.startsWith(`${root}/`);
      await symlink(isInside ? relative(from, leads) : leads, target);
    }
  });
  await Promise.all(each);
}

function copied(from: string, to: string): Promise<void> {
  return copyFile(from, to, constants.COPYFILE_FICLONE);
}

async function linked(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A file has a most of links, and some file systems have none.
    if (code !== "EMLINK" && code !== "EPERM" && code !== "ENOTSUP") throw error;
    await copied(from, to);
  }
}
