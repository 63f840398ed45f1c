import { execa } from "execa";
import type { Environment } from "../../config/found.ts";

/** What came of one call of git. */
interface GitResult {
  readonly ok: boolean;
  /** Standard output, without the last line end. */
  readonly text: string;
  /** What git complained of; for people. */
  readonly complaint: string;
}

/**
 * Nothing here may write into the repository that is looked at, nor start a program that its configuration names: a file-system
 * monitor, a hook.
 */
const CAREFUL = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"];

/** Runs git in a directory. `signal` ends it. */
export type Git = (directory: string, args: readonly string[], signal?: AbortSignal) => Promise<GitResult>;

/** Git, for reading repositories of others and for writing into scratch ones; never asks anything at the terminal. */
export function carefulGit(environment: Environment): Git {
  const env = {
    ...withoutRepository(environment),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LFS_SKIP_SMUDGE: "1",
  };
  return async (directory, args, signal) => {
    const ran = await execa("git", [...CAREFUL, ...args], {
      cwd: directory,
      env,
      extendEnv: false,
      reject: false,
      stdin: "ignore",
      ...(signal ? { cancelSignal: signal } : {}),
    });
    const complaint = ran.stderr === "" || ran.stderr === undefined ? (ran.shortMessage ?? "") : ran.stderr;
    return { ok: !ran.failed, text: ran.stdout ?? "", complaint };
  };
}

/** Git's own variables name a repository, and would do so for every call where a hook started this program. */
export function withoutRepository(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^GIT_(?!SSH|EXEC_PATH|TRACE)/.test(name)));
}
