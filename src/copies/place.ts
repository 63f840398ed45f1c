import { join } from "node:path";
import type { Git } from "../lib/git.ts";
import { diskFailure } from "../protocol/disk-failure.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { cut } from "../protocol/refusal.ts";

export interface Person {
  readonly name: string;
  readonly email: string;
}

/**
 * Where a session keeps its repository and the copies of its tickets, in a folder of its own outside of every repository. Only the scheduler writes
 * there, except in the work trees. A git process that works on the repository has its path as `GIT_DIR` in its environment.
 */
export interface Place {
  readonly session_id: string;
  readonly folder: string;
  readonly git: Git;
  /** Commits what the scheduler makes. */
  readonly committer: Person;
}

type Command = Parameters<Git>[1];
type Variables = NonNullable<NonNullable<Parameters<Git>[2]>["variables"]>;

/** The commit from which the session starts, and its branch: what is merged so far. */
export const BASE = "refs/bosun/base";
export const SESSION = "refs/bosun/session";

/** In place of a commit, for git: the ref must not exist. */
export const NO_COMMIT = "";

export function repositoryOf({ folder }: Pick<Place, "folder">): string {
  return join(folder, "repo.git");
}

/** A name for refs and folders, one for each id: ids may hold dots where git allows none. Tools that take a path for a URL read it as it is. */
export function nameOf(ticket_id: string): string {
  return ticket_id.replaceAll(".", "+");
}

export function workRef(
  ticket_id: string,
  { attempt, run }: { readonly attempt: number; readonly run: number | string },
): string {
  return `refs/bosun/tickets/${nameOf(ticket_id)}/${attempt}.${run}`;
}

/** Where git works on the session's repository: the folder with the files, the index, what it reads, and its own variables. */
interface On {
  readonly tree?: string;
  readonly index?: string;
  readonly input?: string | { readonly file: string };
  readonly variables?: Variables;
}

/** Git in the session's repository, whose configuration, hooks and `info` only the scheduler writes. */
export function own(place: Place, command: Command, { tree, index, input, variables }: On = {}): Promise<string> {
  const repository = repositoryOf(place);
  return place.git(tree ?? repository, command, {
    repository,
    configuration: "own",
    variables: { ...variables, ...(index !== undefined && { GIT_INDEX_FILE: index }) },
    ...(input !== undefined && { input }),
  });
}

/** The output of a git command that answers yes or no by its exit code, 0 or 1. Rejects for other codes. */
export async function answered(run: Promise<string>): Promise<{ readonly yes: boolean; readonly text: string }> {
  try {
    return { yes: true, text: await run };
  } catch (error) {
    const { exitCode, stdout = "" } = endOf(error);
    if (exitCode !== 1) throw error;
    return { yes: false, text: stdout };
  }
}

function endOf(error: unknown): { readonly exitCode?: number; readonly stdout?: string } {
  return error instanceof Error && typeof error.cause === "object" ? (error.cause ?? {}) : {};
}

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

/** The parts of what git printed with `-z`. */
export function parts(text: string): string[] {
  return text.split("\0").filter((part) => part !== "");
}

/** An entry of a difference between two trees. */
export interface Change {
  readonly path: string;
  readonly kind: string;
  /** Its mode and object afterwards. */
  readonly mode: string;
  readonly object: string;
}

/** What git printed with `--raw -z --no-renames`. */
export function changesIn(text: string): Change[] {
  const words = parts(text);
  return words.flatMap((word, at) => {
    if (at % 2 !== 0) return [];
    const [, mode = "", , object = "", kind = ""] = word.split(" ");
    return [{ path: words[at + 1] ?? "", kind, mode, object }];
  });
}

/** The value of some work with git and files; a failure if git or the disk refuses. `what` begins its message. */
export async function tried<T>(what: string, path: string, work: () => Promise<Fallible<T>>): Promise<Fallible<T>> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if ("exitCode" in endOf(error))
      return fails("environment", `${what}: ${error.message}`, { hint: `Look into ${path}, then try again.` });
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    return { ok: false, error: diskFailure(what, path, code) };
  }
}
