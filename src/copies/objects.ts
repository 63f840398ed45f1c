import { cut } from "../protocol/refusal.ts";
import { answered, NO_COMMIT, own, parts, type Person, type Place, type Variables } from "./place.ts";

// What the session's repository holds: refs, commits, trees and what differs between them.

/** The object that a name means in the session's repository, if there is one. */
export async function objectOf(place: Place, name: string): Promise<string | undefined> {
  const { yes, text } = await answered(own(place, ["rev-parse", "--quiet", "--verify", "--end-of-options", name]));
  return yes ? text : undefined;
}

/** Moves a ref from one commit to another; false if it is elsewhere. */
export async function moved(place: Place, ref: string, to: string, from: string): Promise<boolean> {
  try {
    await own(place, ["update-ref", ref, to, from]);
    return true;
  } catch (error) {
    const now = (await objectOf(place, ref)) ?? NO_COMMIT;
    if (now === from) throw error;
    return now === to;
  }
}

/** Whether a commit is `ancestor` or descends from it. */
export async function holds(place: Place, commit: string, ancestor: string, variables?: Variables): Promise<boolean> {
  const command = ["merge-base", "--is-ancestor", ancestor, commit] as const;
  return (await answered(own(place, command, { ...(variables && { variables }) }))).yes;
}

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly subject: string;
  readonly trailers: Readonly<Record<string, string | number>>;
  readonly author?: Person;
  /** The instant of the record, so that a repeated step makes the same commit again. */
  readonly at: string;
}

/** Longer subjects are cut, in characters. */
const MAX_SUBJECT = 72;

/** Makes a commit that no ref names yet, with the session as its first trailer; with `signing` settings, signed by the person. */
export function commit(
  place: Place,
  { tree, parents, subject, trailers, author, at }: NewCommit,
  signing?: Variables,
): Promise<string> {
  const lines = Object.entries({ "Bosun-Session": place.session_id, ...trailers }).map(
    ([name, value]) => `${name}: ${value}\n`,
  );
  const from = parents.flatMap((parent) => ["-p", parent]);
  const input = `${cut(subject.replaceAll(/\s+/g, " "), MAX_SUBJECT)}\n\n${lines.join("")}`;
  const variables = { ...identities(author ?? place.committer, place, at), ...signing };
  return own(place, ["commit-tree", ...(signing ? ["-S"] : []), tree, ...from], { input, variables });
}

/** The signing settings of the person's global configuration. Those of the repository are ignored, because they can name programs. */
export async function signingOf({ git }: Place, root: string): Promise<Variables> {
  const listed = parts(await git(root, ["config", "--global", "--includes", "--list", "-z"]));
  const settings = listed
    .map((entry) => entry.split("\n"))
    .filter(([name = ""]) => /^(?:user\.signingkey|gpg\.)/.test(name));
  const entries = settings.flatMap(([name = "", ...value], at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, value.join("\n")],
  ]);
  return { GIT_CONFIG_COUNT: `${settings.length}`, ...Object.fromEntries(entries) };
}

function identities(author: Person, { committer }: Place, at: string): Variables {
  const date = `@${Math.floor(Date.parse(at) / 1000)} +0000`;
  return {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
    GIT_COMMITTER_DATE: date,
  };
}

/** An entry of a difference between two trees. */
export interface Change {
  readonly path: string;
  readonly kind: string;
  /** Its mode and object afterwards. */
  readonly mode: string;
  readonly object: string;
}

/** The files that differ between two trees or commits. */
export async function changesBetween(place: Place, from: string, to: string): Promise<Change[]> {
  const words = parts(await own(place, ["diff-tree", "-r", "--raw", "-z", "--no-renames", from, to]));
  return words.flatMap((word, at) => {
    if (at % 2 !== 0) return [];
    const [, mode = "", , object = "", kind = ""] = word.split(" ");
    return [{ path: words[at + 1] ?? "", kind, mode, object }];
  });
}

/** The entries of a tree whose paths are wanted, as `ls-tree` prints them: mode, kind, object and path. */
export async function entriesOf(place: Place, tree: string, isWanted: (path: string) => boolean): Promise<string[]> {
  const entries = parts(await own(place, ["ls-tree", "-r", "-z", tree]));
  return entries.filter((entry) => isWanted(entry.slice(entry.indexOf("\t") + 1)));
}

/** Restores files of an index from another tree, and writes the tree of the index. */
export async function treeRestoring(
  place: Place,
  on: { readonly tree?: string; readonly index: string },
  source: string,
  paths: readonly string[],
): Promise<string> {
  await putEntries(place, on, await entriesOf(place, source, (path) => paths.includes(path)));
  return own(place, ["write-tree"], on);
}

/** Puts entries into an index, as `ls-tree` and `merge-tree` print them. */
export async function putEntries(
  place: Place,
  on: { readonly tree?: string; readonly index: string },
  entries: readonly string[],
): Promise<void> {
  const input = entries.map((entry) => `${entry}\0`).join("");
  await own(place, ["update-index", "-z", "--index-info"], { ...on, input });
}
