import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { makeDirectory } from "../../lib/files.ts";
import { gitIn } from "../../lib/git.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";

const git = gitIn(process.env);

/** The repository that the demo copies. It is only read. */
export interface Source {
  /** The top of the work tree, or a bare repository; absolute. */
  readonly directory: string;
  /** The commit to clone; undefined only for Bosun's own folder without history, whose files are copied. */
  readonly head: string | undefined;
  /** Number of changed and new files, which the clone lacks. */
  readonly uncommitted: number;
}

/** The demo's temporary folder. */
export interface Scratch {
  readonly folder: string;
  /** The copy that the crew works on. */
  readonly work: string;
  /** An empty configuration folder, so that the demo does not use the user's crews and settings. */
  readonly configuration: string;
  /** `TMPDIR` of everything that the demo starts. */
  readonly temporary: string;
}

/**
 * Finds the repository of the folder `named`, else of the `current` one, else the folder where Bosun is `installed`. Fails with `environment` if git
 * is missing, and with `usage` if there is no commit to clone.
 */
export async function findSource(
  current: string,
  named: string | undefined,
  installed: string,
): Promise<Fallible<Source>> {
  const version = await git(current, ["version"]).catch(() => undefined);
  if (version === undefined) {
    return fails("environment", "The demo needs git.", { hint: "Install git, then try again." });
  }
  const own = async () => (await topOf(installed)) ?? installed;
  const wanted = resolve(current, named ?? ".");
  const directory = (await topOf(wanted)) ?? (named === undefined ? await own() : wanted);
  const changes = ["status", "--porcelain=v1", "-z", "--no-renames"] as const;
  const [head, status] = await Promise.all([
    git(directory, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).catch(() => undefined),
    git(directory, changes).catch(() => ""),
  ]);
  if (head === undefined && directory !== installed) {
    const hint = "Name a repository with at least one commit: bosun demo DIR";
    return fails("usage", `${directory} has no commit to clone.`, { hint });
  }
  return ok({ directory, head, uncommitted: status.split("\0").filter((entry) => entry !== "").length });
}

function topOf(directory: string): Promise<string | undefined> {
  return git(directory, ["rev-parse", "--show-toplevel"]).catch(() => undefined);
}

export function makeScratch({ directory }: Source): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "bosun-demo-"));
  const name = basename(directory).replace(/\.git$/, "") || "repository";
  const scratch = {
    folder,
    work: join(folder, "work", name),
    configuration: join(folder, "configuration"),
    temporary: join(folder, "temporary"),
  };
  for (const path of [scratch.configuration, scratch.temporary]) makeDirectory(path);
  return scratch;
}

export function removeScratch({ folder }: Scratch): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Clones the source into the scratch folder. Fails with `environment` and git's message. */
export async function fillScratch(
  { directory, head }: Source,
  { folder, work }: Scratch,
  signal: AbortSignal,
): Promise<Fallible<void>> {
  const end = { cancelSignal: signal };
  try {
    if (head === undefined) {
      await git(folder, ["init", "--quiet", work], end);
      const withoutPackages = ["--", ".", ":(exclude,glob)**/node_modules/**"];
      await git(directory, ["add", "--all", ...withoutPackages], { ...end, repository: join(work, ".git") });
      await git(work, ["checkout-index", "--all"], end);
      return ok(undefined);
    }
    // With a hard link, a change to the clone would reach the original.
    const options = ["--quiet", "--local", "--no-hardlinks", "--single-branch", "--no-tags"];
    await git(folder, ["clone", ...options, "--", directory, work], end);
    await git(work, ["remote", "remove", "origin"], end);
    return ok(undefined);
  } catch (error) {
    const what = `Cannot copy ${directory}: ${(error as Error).message}`;
    return fails("environment", what, { hint: "Try another repository: bosun demo DIR" });
  }
}
