import { execFile } from "node:child_process";

/**
 * Git writes nothing into the repository and starts no program that its configuration names: no monitor, hook or
 * signature checker.
 */
const CAREFUL = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.quotePath=false",
  "log.showSignature=false",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

interface GitOptions {
  readonly input?: string;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds. */
  readonly timeout?: number;
}

/**
 * Runs git in a directory and gives its standard output without the last line end. Rejects with what git says; the
 * `cause` is Node's error, its `code` git's exit code.
 */
export function git(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { input = "", ...limits } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      "git",
      [...CAREFUL, "--no-pager", ...args],
      { cwd: directory, env: environment(), maxBuffer: MAX_OUTPUT_BYTES, ...limits },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout.replace(/\n$/, ""));
        else reject(new Error(`git ${args[0] ?? ""}: ${stderr.trim() || error.message}`, { cause: error }));
      },
    );
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
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
