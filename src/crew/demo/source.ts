import { resolve } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { git } from "../git.ts";

/** The folder that the demo copies. It is only read. */
export interface Source {
  /** The top of the repository, or the folder itself; absolute. */
  readonly directory: string;
  /** Whether there is a commit to clone; otherwise the files are copied. */
  readonly committed: boolean;
  /** The number of files with changes that no commit holds; null where git cannot say. */
  readonly uncommitted: number | null;
}

/**
 * Finds the source: the folder `named`, else the repository around `current`, else the `fallback` folder. Fails with
 * `environment` if git is missing.
 */
export async function findSource(
  current: string,
  named: string | undefined,
  fallback: string,
): Promise<Result<Source, Failure>> {
  const version = await git(current, ["--version"]).catch(() => undefined);
  if (version === undefined) {
    return err(failure("environment", "The demo needs git.", { hint: "Install git, then try again." }));
  }
  const directory = resolve(current, named ?? ".");
  const top = await topOf(directory);
  if (top !== undefined) return ok(await repositoryAt(top));
  if (named !== undefined) return ok({ directory, committed: false, uncommitted: null });
  const own = await topOf(fallback);
  return ok(own === undefined ? { directory: fallback, committed: false, uncommitted: null } : await repositoryAt(own));
}

async function topOf(directory: string): Promise<string | undefined> {
  const top = await git(directory, ["rev-parse", "--show-toplevel"]).catch(() => "");
  if (top !== "") return top;
  const bare = await git(directory, ["rev-parse", "--is-bare-repository", "--absolute-git-dir"]).catch(() => "");
  const [isBare, folder] = bare.split("\n");
  return isBare === "true" ? folder : undefined;
}

async function repositoryAt(directory: string): Promise<Source> {
  const changes = ["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"];
  const [head, status] = await Promise.all([
    git(directory, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).catch(() => undefined),
    git(directory, changes).catch(() => undefined),
  ]);
  const uncommitted = status === undefined ? null : status.split("\0").filter((entry) => entry !== "").length;
  return { directory, committed: head !== undefined, uncommitted };
}
