import { shipped } from "../../config/installation.ts";
import { isDirectory } from "../../config/found.ts";
import { resolve } from "node:path";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { CommandContext } from "../context/command.ts";
import type { Git } from "./git.ts";

/** What the demo works on a scratch copy of. It is only ever read. */
export interface Source {
  /** The repository's top, or the folder itself; absolute. */
  readonly directory: string;
  /** Whether there is a commit to clone; before the first one and outside of git the files are copied. */
  readonly committed: boolean;
  /** Files that are changed or new and in no commit; null where nobody could say. */
  readonly uncommitted: number | null;
}

/**
 * What is meant: DIR, else the repository of the current directory, else the program's own files. Failures: `usage` for a DIR that
 * is not there, `environment` where git is missing.
 */
export async function findSource(
  git: Git,
  context: CommandContext,
  named: string | undefined,
): Promise<Result<Source, Failure>> {
  const version = await git(context.directory, ["--version"]);
  if (!version.ok) {
    return err(
      failure("environment", "The demo needs git, and there is none on the PATH.", {
        hint: "Install git, then try again.",
      }),
    );
  }
  const directory = resolve(context.directory, named ?? ".");
  if (!isDirectory(directory)) {
    return err(
      failure("usage", `${named} is not a directory that is there.`, {
        hint: "Name one of your repositories: bosun demo DIR",
      }),
    );
  }
  const top = await topOf(git, directory);
  if (top !== undefined) return ok(await repositoryAt(git, top));
  const folder = named === undefined ? shipped() : directory;
  const own = named === undefined ? await topOf(git, folder) : undefined;
  return ok(
    own === undefined ? { directory: folder, committed: false, uncommitted: null } : await repositoryAt(git, own),
  );
}

async function topOf(git: Git, directory: string): Promise<string | undefined> {
  const top = await git(directory, ["rev-parse", "--show-toplevel"]);
  if (top.ok && top.text !== "") return top.text;
  const bare = await git(directory, ["rev-parse", "--is-bare-repository", "--absolute-git-dir"]);
  const [isBare, folder] = bare.text.split("\n");
  return bare.ok && isBare === "true" ? folder : undefined;
}

async function repositoryAt(git: Git, directory: string): Promise<Source> {
  const head = await git(directory, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
  const status = await git(directory, ["status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"]);
  return {
    directory,
    committed: head.ok,
    uncommitted: status.ok ? status.text.split("\0").filter((entry) => entry !== "").length : null,
  };
}
