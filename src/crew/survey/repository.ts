import { execFile, spawn } from "node:child_process";
import { lstat, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../../lib/result.ts";
import { err, ok } from "../../lib/result.ts";

/** Files above this are taken for data and not read. */
const MAX_READ_BYTES = 1024 * 1024;
/** What keeps a tracked file from being read, for the notes of a finding. Of other names git's output keeps too little to find them by. */
export const UNREAD = "missing, binary, above 1 MiB, or with a name that is not UTF-8";
const MAX_GIT_OUTPUT_BYTES = 256 * 1024 * 1024;
const GIT_TIMEOUT_MS = 60_000;
const READS_AT_ONCE = 32;

/**
 * Nothing here may write into the work tree or its `.git`, nor start a program that the repository's own configuration names: a file-system
 * monitor, a checker of signatures. None of the git commands used refreshes the index or runs diff or text conversion programs.
 */
const CAREFUL = [
  "-c",
  "core.fsmonitor=false",
  "-c",
  "core.quotePath=false",
  "-c",
  "log.showSignature=false",
  "--no-pager",
];

/** A git work tree, as the findings see it. */
export interface Repository {
  readonly root: string;
  /** The commit that is checked out; undefined before the first one. */
  readonly head: string | undefined;
  readonly shallow: boolean;
  /** Tracked regular files that are there, by path from the root. */
  readonly files: readonly string[];
  readonly isTracked: (path: string) => boolean;
  /** The text of a tracked file; undefined for one of the `UNREAD`. */
  readonly read: (path: string) => Promise<string | undefined>;
  /** Whether anything is there in the work tree, tracked or not. */
  readonly exists: (path: string) => Promise<boolean>;
  readonly git: (args: readonly string[], input?: string) => Promise<string>;
  /** `git grep`; empty when nothing matches. */
  readonly grep: (args: readonly string[]) => Promise<string>;
}

/** Opens the work tree that `directory` is in; the failure says why it is none. */
export async function openRepository(directory: string): Promise<Result<Repository, string>> {
  const git = (args: readonly string[], input?: string): Promise<string> => runGit(directory, args, input);
  let root: string;
  try {
    root = (await git(["rev-parse", "--show-toplevel"])).replace(/\n$/, "");
  } catch (error) {
    return err(`${directory} is not in a git work tree: ${(error as Error).message}`);
  }
  const inRoot = (args: readonly string[], input?: string): Promise<string> => runGit(root, args, input);
  const [head, shallow, listing] = await Promise.all([
    inRoot(["rev-parse", "--verify", "--quiet", "HEAD"]).catch(() => ""),
    inRoot(["rev-parse", "--is-shallow-repository"]),
    inRoot(["ls-files", "--stage", "-z"]),
  ]);
  // 100644 and 100755 are files; links and submodules are somebody else's content.
  const files = [
    ...new Set(
      listing.split("\0").flatMap((entry) => /^100(?:644|755) [0-9a-f]+ \d\t([\s\S]+)$/.exec(entry)?.[1] ?? []),
    ),
  ];
  const tracked = new Set(listing.split("\0").map((entry) => entry.slice(entry.indexOf("\t") + 1)));
  return ok({
    root,
    head: head.trim() === "" ? undefined : head.trim(),
    shallow: shallow.trim() === "true",
    files,
    isTracked: (path) => tracked.has(path),
    read: (path) => readSource(join(root, path)),
    exists: async (path) => (await lstat(join(root, path)).catch(() => undefined)) !== undefined,
    git: inRoot,
    grep: (args) =>
      inRoot(["grep", ...args]).catch((error: Error) => {
        // The exit code of a search that found nothing.
        if ((error.cause as { code?: unknown }).code === 1) return "";
        throw error;
      }),
  });
}

async function readSource(path: string): Promise<string | undefined> {
  try {
    const about = await stat(path);
    if (!about.isFile() || about.size > MAX_READ_BYTES) return undefined;
    const bytes = await readFile(path);
    return bytes.subarray(0, 8000).includes(0) ? undefined : bytes.toString("utf8");
  } catch {
    return undefined;
  }
}

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
}

function runGit(directory: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      "git",
      [...CAREFUL, ...args],
      { cwd: directory, env: environment(), maxBuffer: MAX_GIT_OUTPUT_BYTES, timeout: GIT_TIMEOUT_MS },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`git ${args[0] ?? ""}: ${stderr.trim() || error.message}`, { cause: error }));
      },
    );
    child.stdin?.on("error", () => {});
    child.stdin?.end(input ?? "");
  });
}

/**
 * What a git command prints with `-z`, record by record, for at most `timeLimitMs`; the last value says whether it was cut short. Breaking
 * off the loop ends git.
 */
export async function* gitRecords(
  root: string,
  args: readonly string[],
  timeLimitMs: number,
): AsyncGenerator<string, boolean> {
  const child = spawn("git", [...CAREFUL, ...args], {
    cwd: root,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let cut = false;
  let complaint = "";
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  closed.catch(() => {});
  const timer = setTimeout(() => {
    cut = true;
    child.kill("SIGTERM");
  }, timeLimitMs);
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  try {
    let rest = "";
    for await (const chunk of child.stdout.setEncoding("utf8") as AsyncIterable<string>) {
      const records = (rest + chunk).split("\0");
      rest = records.pop() ?? "";
      yield* records;
    }
    const code = await closed;
    if (code !== 0 && !cut) throw new Error(`git ${args[0] ?? ""}: ${complaint.trim()}`);
    return cut;
  } finally {
    clearTimeout(timer);
    child.kill("SIGTERM");
  }
}

/** `work` over all items, some at once, in the order of the items. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = READS_AT_ONCE,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}
