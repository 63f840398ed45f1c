import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDirectory, replaceOwn } from "../../lib/files.ts";
import { gitIn } from "../../lib/git.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";

const git = gitIn(process.env);

/** The demo's temporary folder. */
export interface Scratch {
  readonly folder: string;
  /** The repository that the session is about, which plays the person's own. */
  readonly work: string;
  /** A configuration folder of the demo's, so that it does not use the user's crews and settings. */
  readonly configuration: string;
  /** `TMPDIR` of everything that the demo starts. */
  readonly temporary: string;
}

/** The script in the repository that runs its tests. */
export const TESTS = "test.mjs";
/** The script that the tickets add, which shows what they came to. */
export const RECEIPT = "receipt.mjs";

export function makeScratch(): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "bosun-demo-"));
  const inside = (name: string) => join(folder, name);
  const scratch = {
    folder,
    work: inside("shop"),
    configuration: inside("configuration"),
    temporary: inside("temporary"),
  };
  makeDirectory(scratch.temporary);
  makeDirectory(join(scratch.configuration, "bosun"));
  const merge = [{ text: "all tests pass on what is merged", command: [process.execPath, TESTS] }];
  replaceOwn(join(scratch.configuration, "bosun", "scheduler_config.json"), [JSON.stringify({ checks: { merge } })]);
  return scratch;
}

export function removeScratch({ folder }: Scratch): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Makes the repository from these files, with one commit. Fails with `environment` and git's message. */
export async function fillScratch(
  files: string,
  { work }: Scratch,
  cancelSignal: AbortSignal,
): Promise<Fallible<void>> {
  const own = { configuration: "own", cancelSignal } as const;
  const identity = { "user.name": "Demo", "user.email": "demo@localhost" };
  try {
    cpSync(files, work, { recursive: true });
    await git(work, ["init", "--quiet", "--initial-branch=main"], own);
    for (const [name, value] of Object.entries(identity)) await git(work, ["config", name, value], own);
    await git(work, ["add", "--all"], own);
    await git(work, ["commit", "--quiet", "--message=A shop"], own);
    return ok(undefined);
  } catch (error) {
    const { message, cause } = error as Error & { readonly cause?: { readonly code?: string } };
    if (cause?.code === "ENOENT")
      return fails("environment", "The demo needs git.", { hint: "Install git, then try again." });
    return fails("environment", `The scratch repository was not made: ${message}`);
  }
}

/** How the repository stands: the commit, what is in it, and what differs from it in the folder. */
export async function stateOf({ work }: Scratch): Promise<{ commit: string; tree: string; changes: string }> {
  const [commit = "", tree = ""] = (await git(work, ["rev-parse", "HEAD", "HEAD^{tree}"])).split("\n");
  return { commit, tree, changes: await git(work, ["status", "--porcelain"]) };
}
