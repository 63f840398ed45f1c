import { execa } from "execa";
import { realPath } from "./files.ts";
import { repositoryRoot } from "./git-directories.ts";
import { absoluteFolders, programFile } from "./program-file.ts";

// The only start of git. A repository may come from anyone, and its configuration and attributes can name programs for git to run.

/** The git commands that Bosun uses, each with the options that keep it from starting what a repository names. */
const COMMANDS = {
  add: [],
  "cat-file": [],
  "check-ignore": [],
  "check-ref-format": [],
  checkout: ["--quiet", "--no-recurse-submodules"],
  "checkout-index": [],
  // A template may bring hooks.
  clone: ["--template=", "--no-recurse-submodules"],
  // A signature comes from a program that the repository may name.
  commit: ["--no-gpg-sign", "--no-verify"],
  "commit-tree": ["--no-gpg-sign"],
  config: [],
  diff: ["--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"],
  "diff-tree": ["--no-ext-diff"],
  difftool: ["--dir-diff", "--no-prompt", "--no-symlinks"],
  fetch: ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules"],
  "for-each-ref": [],
  grep: ["--no-textconv", "--no-recurse-submodules"],
  "index-pack": ["--strict"],
  init: ["--template="],
  log: ["--no-ext-diff", "--no-textconv", "--no-show-signature"],
  "ls-files": [],
  "ls-tree": [],
  "merge-base": [],
  "merge-tree": ["--write-tree"],
  "pack-objects": ["--quiet"],
  push: ["--quiet", "--no-verify", "--no-follow-tags", "--no-recurse-submodules"],
  "read-tree": ["--no-recurse-submodules"],
  remote: [],
  "rev-list": [],
  "rev-parse": [],
  rm: ["--quiet"],
  // Git would start another git in each submodule, with the configuration of that.
  status: ["--ignore-submodules=dirty"],
  "symbolic-ref": ["--quiet"],
  "update-index": [],
  "update-ref": [],
  version: [],
  worktree: [],
  "write-tree": [],
} as const;

const SETTINGS = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.quotePath=false",
  "advice.detachedHead=false",
  "submodule.recurse=false",
  "status.submoduleSummary=false",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);

const NO_CREDENTIALS = ["-c", "credential.helper="];

/**
 * In a repository of Bosun's own, beside its configuration: what is on record survives a power loss, nothing is removed by itself, and work trees come
 * in half the time.
 */
const OWN_SETTINGS = [
  "core.fsync=all",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "checkout.workers=4",
  "gc.auto=0",
  "fetch.unpackLimit=1",
  "merge.conflictStyle=diff3",
  "rerere.enabled=false",
].flatMap((setting) => ["-c", setting]);

/** No configuration but that of the repository. */
const OWN_VARIABLES = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_PARAMETERS: "",
  GIT_CONFIG_COUNT: "0",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
};

/** Settings with a name of the repository's choice that start programs, and what switches each off. */
const DRIVERS: readonly (readonly [setting: RegExp, off: string])[] = [
  [/^(filter\..*\.(?:clean|smudge|process))$/s, "$1="],
  // Otherwise a missing filter is an error.
  [/^(filter\..*\.required)$/s, "$1=false"],
  [/^hook\.(.*)\.(?:command|event)$/s, "hook.$1.enabled=false"],
];

/** In characters. */
const MAX_OUTPUT = 256 * 1024 * 1024;

interface GitOptions {
  readonly cancelSignal?: AbortSignal;
  /** Time limit in milliseconds. */
  readonly timeout?: number;
  /** A repository apart from the directory, whose files are its work tree. */
  readonly repository?: string;
  /**
   * Whose the configuration is: by default `anyone's`, whose filters stay off; `trusted`, whose filters run; or, in a repository that only Bosun writes,
   * `own`, where nothing else is read, or `person's`, which reaches other machines as what the person has set for all repositories says.
   */
  readonly configuration?: "anyone's" | "trusted" | "own" | "person's";
  /** Git's own variables, such as an identity or an index. */
  readonly variables?: Readonly<Record<`GIT_${string}`, string>>;
  /** What is written to its standard input, or the file with it. */
  readonly input?: string | { readonly file: string };
  /** Whether git, with the program that it starts for a person, has the terminal of this process. */
  readonly hasTerminal?: boolean;
}

/** Runs a git command in a directory and returns its standard output without the last newline. */
export type Git = (
  directory: string,
  command: readonly [keyof typeof COMMANDS, ...string[]],
  options?: GitOptions,
) => Promise<string>;

/**
 * Git in this environment. It writes only what the command says, and starts no program that the repository holds or names: no hook,
 * filter, monitor, driver, pager, helper or transport, nor a git that lies in the repository, unless its configuration is trusted. Only `clone` and `fetch` may use a
 * transport, to another folder, and what is the `person's` those of git itself.
 * Rejects with git's message; the `cause` is execa's error, with git's `exitCode`.
 */
export function gitIn(environment: NodeJS.ProcessEnv): Git {
  return async (directory, [command, ...args], more = {}) => {
    const { repository, configuration = "anyone's", variables, input, hasTerminal, ...limits } = more;
    const PATH = pathOutside(environment["PATH"], directory);
    const isPersons = configuration === "person's";
    const env = {
      ...withoutRepository(environment),
      ...(repository !== undefined && { GIT_DIR: repository, GIT_WORK_TREE: directory }),
      ...(configuration === "own" && OWN_VARIABLES),
      ...variables,
      PATH,
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_NO_LAZY_FETCH: "1",
      GIT_ALLOW_PROTOCOL: command === "clone" || command === "fetch" ? "file" : "",
      ...(isPersons && { GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh", GIT_ASKPASS: environment["GIT_ASKPASS"] }),
    };
    // `cleanup` listens to SIGXFSZ, and from then on a file size limit ends this process.
    const around = { cleanup: false, cwd: directory, env, extendEnv: false, maxBuffer: MAX_OUTPUT, reject: false };
    const start = async (words: readonly string[], given: object = { stdin: "ignore" }) => {
      const file = programFile("git", directory, PATH) ?? "git";
      const settings = isPersons ? SETTINGS : [...SETTINGS, ...NO_CREDENTIALS];
      const ran = await execa(file, [...settings, "--no-pager", ...words], { ...around, ...limits, ...given });
      if (!ran.failed) return ran.stdout ?? "";
      throw new Error(`git ${command}: ${ran.stderr?.trim() || ran.shortMessage}`, { cause: ran });
    };
    const drivers = {
      "anyone's": async () => driversIn(await start(["config", "--list", "--name-only", "-z"])),
      trusted: () => [],
      own: () => OWN_SETTINGS,
      "person's": () => [],
    };
    const words = [...(await drivers[configuration]()), command, ...COMMANDS[command], ...args];
    if (hasTerminal === true) return start(words, { stdio: "inherit" });
    if (input === undefined) return start(words);
    return start(words, typeof input === "string" ? { input } : { inputFile: input.file });
  };
}

/** A `PATH` without the folders of the repository that holds a directory, which would choose what runs. */
export function pathOutside(path: string | undefined, directory: string): string {
  const root = repositoryRoot(directory);
  const isInside = (folder: string) => root !== undefined && `${realPath(folder)}/`.startsWith(`${realPath(root)}/`);
  return absoluteFolders(path, (folder) => !isInside(folder));
}

/** The options that switch off the drivers with these names in the configuration. Throws if a name cannot be an option. */
function driversIn(listed: string): string[] {
  return [...new Set(listed.split("\0"))].flatMap((name) => {
    const [setting, off] = DRIVERS.find(([pattern]) => pattern.test(name)) ?? [];
    if (setting === undefined || off === undefined) return [];
    // Git ends the name at the first "=", and of bytes that are not UTF-8 the name is lost.
    if (/[=\uFFFD]/.test(name)) throw new Error(`git: the setting ${name} cannot be switched off`);
    return ["-c", name.replace(setting, off)];
  });
}

/** An environment without the variables that a git hook sets for its own repository, or that lead `git config` elsewhere. */
export function withoutRepository(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const entries = Object.entries(environment);
  return Object.fromEntries(entries.filter(([name]) => !/^GIT_(?!SSH|EXEC_PATH|TRACE|CONFIG_|TEST)/.test(name)));
}
