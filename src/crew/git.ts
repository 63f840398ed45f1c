import { execa } from "execa";

/**
 * With these settings, git writes nothing into the repository and starts no program that its configuration names: no monitor, hook or signature
 * checker.
 */
const CAREFUL = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.quotePath=false",
  "log.showSignature=false",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);

/** In characters. */
const MAX_OUTPUT = 256 * 1024 * 1024;

interface GitOptions {
  readonly input?: string;
  readonly cancelSignal?: AbortSignal;
  /** Time limit in milliseconds. */
  readonly timeout?: number;
}

/**
 * Runs git in a directory and returns its standard output without the last newline. Rejects with git's message; the `cause` is execa's error, with
 * git's `exitCode`.
 */
export async function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const ran = await execa("git", [...CAREFUL, "--no-pager", ...args], {
    cwd: directory,
    env: environment(),
    extendEnv: false,
    input: "",
    maxBuffer: MAX_OUTPUT,
    reject: false,
    ...options,
  });
  if (!ran.failed) return ran.stdout;
  throw new Error(`git ${args[0] ?? ""}: ${ran.stderr?.trim() || ran.shortMessage}`, { cause: ran });
}

/** An environment without the variables that a git hook sets for its own repository. */
export function withoutRepository(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(environment);
  return Object.fromEntries(entries.filter(([name]) => !/^GIT_(?!SSH|EXEC_PATH|TRACE|CONFIG|TEST)/.test(name)));
}

function environment(): NodeJS.ProcessEnv {
  const settings = { LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", GIT_LFS_SKIP_SMUDGE: "1" };
  return { ...withoutRepository(process.env), ...settings };
}
