import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { built, compiledOnce } from "../built.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
const PROGRAM = built("cli.js");

/** A place for one test: a home, a folder for temporary files, and a user's own settings, which must play no part in the demo. */
export interface Place {
  readonly base: string;
  readonly home: string;
  /** `TMPDIR` of the demo. */
  readonly temporary: string;
  /** A file that exists as soon as anything from the user's or the repository's own settings has run. */
  readonly marker: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The processes that run now. */
  readonly children: Set<ChildProcess>;
}

export interface Done {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsed_ms: number;
}

export interface Running {
  readonly child: ChildProcess;
  readonly done: Promise<Done>;
}

/** A place that is left with its processes ended once the test is over. Tests here run at once, so each hands over its own hook. */
export function place(onTestFinished: (end: () => Promise<void>) => void): Place {
  const base = mkdtempSync(join(tmpdir(), "bosun-demo-test-"));
  const children = new Set<ChildProcess>();
  onTestFinished(async () => {
    for (const child of children) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
  const folder = (name: string) => {
    mkdirSync(join(base, name), { recursive: true });
    return join(base, name);
  };
  const marker = join(base, "marker");
  const hooks = folder("hooks");
  writeFileSync(join(hooks, "post-checkout"), `#!/bin/sh\ntouch '${marker}'\n`);
  chmodSync(join(hooks, "post-checkout"), 0o755);
  writeFileSync(
    join(folder("person"), ".gitconfig"),
    `[core]\n\thooksPath = ${hooks}\n[user]\n\tname = A\n\temail = a@b.c\n`,
  );
  writeFileSync(join(folder("person/.config/bosun"), "roles.json"), strangeRoles(marker));
  writeFileSync(join(folder("older"), "node"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(base, "older", "node"), 0o755);
  return {
    base,
    children,
    home: join(base, "home"),
    temporary: folder("temporary"),
    marker,
    environment: {
      ...compiledOnce(),
      PATH: `${join(base, "older")}:${process.env["PATH"] ?? ""}`,
      HOME: join(base, "person"),
      TMPDIR: join(base, "temporary"),
      BOSUN_PLAN_APPROVAL: "ask",
      LANG: "C.UTF-8",
    },
  };
}

/** A registry whose agents make the marker. */
function strangeRoles(marker: string): string {
  const cli_command = ["sh", "-c", `touch '${marker}'`];
  const roles = [
    { role_id: "playbook", type: "manager", cli_command },
    { role_id: "shell", type: "worker", cli_command },
  ];
  return JSON.stringify({ roles });
}

function git({ environment }: Place, directory: string, ...args: readonly string[]): void {
  const careful = ["-c", "core.hooksPath=/dev/null", ...args];
  execFileSync("git", careful, { cwd: directory, env: environment, stdio: "pipe" });
}

/** A person's repository, whose own roles make the marker. */
export function repository(at: Place): string {
  const directory = join(at.base, "a project");
  mkdirSync(join(directory, ".bosun"), { recursive: true });
  writeFileSync(join(directory, ".bosun/roles.json"), strangeRoles(at.marker));
  git(at, directory, "init", "--quiet");
  git(at, directory, "add", "--all");
  git(at, directory, "commit", "--quiet", "--message", "Roles");
  return directory;
}

/** A digest of every file below a directory, those in `.git` too. */
export function digests(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  const digest = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
  return Object.fromEntries(paths.map((path) => [path.slice(directory.length + 1), digest(path)]));
}

/** Starts `bosun <words>`; `onLine` gets each line of its output. */
export function start(
  at: Place,
  words: readonly string[],
  directory: string,
  onLine: (line: string) => void = () => {},
): Running {
  return startProgram(at, [PROGRAM, "--home", at.home, ...words], { directory, onLine });
}

/** Starts a Node program. */
export function startProgram(
  at: Place,
  argv: readonly string[],
  { directory = at.base, input = "", onLine = (_line: string) => {} },
): Running {
  const began = performance.now();
  const child = spawn(process.execPath, argv, { cwd: directory, env: at.environment });
  at.children.add(child);
  let stdout = "";
  let stderr = "";
  let read = 0;
  child.stdin.end(input);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (let end = stdout.indexOf("\n", read); end !== -1; end = stdout.indexOf("\n", read)) {
      onLine(stdout.slice(read, end));
      read = end + 1;
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const done = new Promise<Done>((resolve) => {
    child.once("close", (code) => {
      at.children.delete(child);
      resolve({ code, stdout, stderr, elapsed_ms: performance.now() - began });
    });
  });
  return { child, done };
}

export function run(at: Place, words: readonly string[], directory: string = at.base): Promise<Done> {
  return start(at, words, directory).done;
}

/** The sections of a demo with `--json`. */
export class Sections {
  readonly #all: readonly Section[];

  constructor(stdout: string) {
    this.#all = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Section);
  }

  get order(): string {
    return this.#all.map(({ type }) => type).join(" ");
  }

  one(type: string): Section {
    const [section, another] = this.#all.filter((candidate) => candidate.type === type);
    if (section === undefined || another !== undefined) throw new Error(`Expected one ${type} in: ${this.order}`);
    return section;
  }
}

/** What the tests read of the sections; each has some of these. */
export interface Section {
  readonly type: string;
  readonly pid: number;
  readonly questions: readonly { readonly default: string }[];
  readonly records: number;
  readonly changed: { readonly file: string; readonly sequence: number };
  readonly repeated: number;
  readonly done: readonly string[];
  readonly agents: readonly { readonly pid: number; readonly name: string }[];
  readonly lines: readonly string[];
  readonly tests: readonly string[];
  readonly receipt: readonly string[];
  readonly commit: string;
  readonly report: string;
  readonly page: string;
  readonly log: string;
}

/** The command lines of processes that belong to a place: all those of the demo name it. */
export function processesOf({ base }: Place): string[] {
  const table = execFileSync("ps", ["-A", "-ww", "-o", "pid=,stat=,args="], { encoding: "utf8" });
  return table.split("\n").filter((line) => line.includes(base) && !/^\s*\d+\s+Z/.test(line));
}
