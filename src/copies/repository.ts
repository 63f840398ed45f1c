import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory, OWN, textIn } from "../lib/files.ts";
import { gitDirectories } from "../lib/git-directories.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { commit, objectOf } from "./objects.ts";
import { answered, BASE, own, type Place, repositoryOf, SESSION, tried } from "./place.ts";
import type { Setting, UserRepository } from "./preflight.ts";

interface BaseOptions {
  /** The instant at which changes that are not committed become part of the base; without it they stay out. */
  readonly includeDirty?: string;
}

/** Settings that decide which bytes are in a file. Programs that do, such as filters, stay out. */
const OF_FILES = /^core\.(?:autocrlf|eol|ignorecase|symlinks|filemode|precomposeunicode|protecthfs|protectntfs)$/;

/** What a ticket's own repository begins with, beside the session's. */
export const ticketFile = ({ folder }: Place, name: "config" | "packed-refs") => join(folder, `ticket.${name}`);

/**
 * Makes the session's repository from a person's, with hard links to its objects, and returns the base. An existing one stays as it is. Nothing is
 * written in the person's.
 */
export function makeRepository(
  place: Place,
  user: UserRepository,
  options: BaseOptions,
): Promise<Fallible<{ readonly base: string }>> {
  return tried("The session's repository cannot be made", place.folder, async () => {
    if (!existsSync(repositoryOf(place))) {
      const unmerged = options.includeDirty === undefined ? "" : await unmergedIn(place, user);
      if (unmerged !== "")
        return fails("conflict", `The changes in ${user.root} hold conflicts: ${unmerged}.`, {
          hint: "Resolve them, or start from what is committed: --base HEAD",
        });
      await make(place, user, options);
    }
    const base = await objectOf(place, BASE);
    return base === undefined
      ? fails("verification_failed", `${repositoryOf(place)} has no base.`, { hint: "Begin a new session." })
      : ok({ base });
  });
}

async function unmergedIn({ git }: Place, { root }: UserRepository): Promise<string> {
  const listed = await git(root, ["ls-files", "--unmerged"]);
  return [...new Set(listed.split("\n").flatMap((line) => line.split("\t")[1] ?? []))].join(", ");
}

async function make(place: Place, user: UserRepository, { includeDirty }: BaseOptions): Promise<void> {
  const { git, folder } = place;
  makeDirectory(folder);
  // Its name tells that it is not ready.
  const unready = { ...place, folder: join(folder, "making") };
  const repository = repositoryOf(unready);
  rmSync(unready.folder, { recursive: true, force: true });
  makeDirectory(unready.folder);
  // A shallow repository has no local clone.
  const how = user.isShallow ? "--no-local" : "--local";
  await git(folder, ["clone", "--quiet", "--bare", how, "--no-tags", "--", user.root, repository]);
  await git(repository, ["remote", "remove", "origin"], { repository });
  const refs = ["+refs/remotes/*:refs/remotes/*", "+refs/tags/*:refs/tags/*", `${user.base}:${BASE}`];
  await git(repository, ["fetch", "--", user.root, ...refs], { repository });
  const excludes = await answered(git(user.root, ["config", "--type=path", "--get", "core.excludesFile"]));
  configure(place, unready, user, excludes.text);
  if (includeDirty !== undefined) {
    const base = await dirtyBase(unready, user, includeDirty);
    await own(unready, ["update-ref", BASE, base]);
  }
  await own(unready, ["update-ref", SESSION, BASE]);
  const format = "--format=%(objectname) %(refname)";
  const known = await own(unready, ["for-each-ref", format, "refs/heads", "refs/remotes", "refs/tags"]);
  writeFileSync(ticketFile(place, "packed-refs"), `${known}\n`, OWN);
  renameSync(repository, repositoryOf(place));
  rmSync(unready.folder, { recursive: true });
}

/** Puts what the person has set for all their repositories and for this one into the session's, and into those of its tickets. */
function configure(place: Place, unready: Place, { root, settings }: UserRepository, excludes: string): void {
  const repository = repositoryOf(unready);
  const ofClone = readFileSync(join(repository, "config"), "utf8");
  const wanted = settings.filter(([name]) => OF_FILES.test(name));
  writeFileSync(join(repository, "config"), ofClone + configText(wanted), OWN);
  const person = settings.filter(([name]) => /^user\.(?:name|email)$/.test(name));
  const remotes = settings.flatMap(([name, value]): Setting[] => {
    const [, remote, key] = /^remote\.(.*)\.(url|fetch)$/s.exec(name) ?? [];
    if (key !== "url") return key === undefined ? [] : [[name, value]];
    const url = value.replace(/^(https?:\/\/)[^/@]*@/, "$1");
    return [
      [name, url],
      [`remote.${remote}.pushurl`, "no-push"],
    ];
  });
  const quiet: Setting[] = [
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
    ["commit.gpgsign", "false"],
    ["tag.gpgsign", "false"],
  ];
  const ofTicket = configText([...wanted, ...person, ...remotes, ...quiet]);
  writeFileSync(ticketFile(place, "config"), ofClone.replace("bare = true", "bare = false") + ofTicket, OWN);
  const common = gitDirectories(root).common;
  const ignored = [excludes, join(common, "info/exclude")].map((file) => textIn(file) ?? "");
  makeDirectory(join(repository, "info"));
  writeFileSync(join(repository, "info/exclude"), ignored.join("\n"), OWN);
  writeFileSync(join(repository, "info/attributes"), textIn(join(common, "info/attributes")) ?? "", OWN);
}

function configText(settings: readonly Setting[]): string {
  const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
  return settings
    .map(([name, value]) => {
      const [, section = "", part, key = ""] = /^([^.]+)(?:\.(.*))?\.([^.]+)$/s.exec(name) ?? [];
      return `[${section}${part === undefined ? "" : ` ${quoted(part)}`}]\n\t${key} = ${quoted(value)}\n`;
    })
    .join("");
}

/** A commit of the person's files as they are, on the base: tracked ones only. Their index is copied, their objects are borrowed. */
async function dirtyBase(unready: Place, { root, base, submodules }: UserRepository, at: string): Promise<string> {
  const index = join(unready.folder, "index");
  copyFileSync(join(gitDirectories(root).own, "index"), index);
  await own(unready, ["add", "--update", "--", ".", ...without(submodules)], { tree: root, index });
  const tree = await own(unready, ["write-tree"], { tree: root, index });
  return commit(unready, { tree, parents: [base], subject: "Changes that were not committed", trailers: {}, at });
}

/** Pathspecs that leave these paths out. */
export function without(paths: readonly string[]): string[] {
  return paths.map((path) => `:(exclude,literal)${path}`);
}
