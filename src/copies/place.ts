import { join } from "node:path";
import type { Git } from "../lib/git.ts";
import { diskFailure } from "../protocol/disk-failure.ts";
import { fails, type Fallible } from "../protocol/failure.ts";

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
export type Variables = NonNullable<NonNullable<Parameters<Git>[2]>["variables"]>;

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

/** The parts of what git printed with `-z`. */
export function parts(text: string): string[] {
  return text.split("\0").filter((part) => part !== "");
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
