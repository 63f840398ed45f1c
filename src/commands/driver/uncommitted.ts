import { execa } from "execa";
import { isEmbedded } from "../../config/role-defaults.ts";
import type { Role } from "../../protocol/roles.ts";
import { safeLine } from "../../ui/display.ts";
import { counted } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";

/** Maximum number of files that are named. */
const NAMED = 5;

/** The files with uncommitted changes below a folder. Git starts no program that the repository's configuration names. */
async function uncommittedFiles(
  folder: string,
  environment: CommandContext["environment"],
): Promise<readonly string[]> {
  const careful = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
  const { stdout, failed } = await execa("git", [...careful, "status", "--porcelain=v1", "-z", "--no-renames", "."], {
    // Otherwise execa listens to SIGXFSZ, and from then on a file size limit ends this process.
    cleanup: false,
    cwd: folder,
    env: { ...environment, GIT_OPTIONAL_LOCKS: "0" },
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    timeout: 20_000,
  });
  // Without a repository, or without git, there is nothing to report.
  if (failed) return [];
  return stdout.split("\0").flatMap((entry) => (entry === "" ? [] : [entry.slice(3)]));
}

/** Reports uncommitted changes in the workspace of a new session, because its agents work in it. The embedded crew only runs its plan. */
export async function tellUncommitted(
  { terminal: { err }, environment }: CommandContext,
  workspace: string,
  roles: readonly Role[],
): Promise<void> {
  if (roles.every(isEmbedded)) return;
  const files = await uncommittedFiles(workspace, environment);
  if (files.length === 0) return;
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : "";
  const names = files.slice(0, NAMED).map((file) => safeLine(file));
  err.line(
    err.style(
      "yellow",
      `Git has uncommitted changes here in ${counted(files.length, "file")}: ${names.join(", ")}${more}.`,
    ),
  );
  err.line(
    "Agents work in this folder and may change these files, too. Commit or stash them first (git stash -u), or name a clone with --cwd.",
  );
}
