import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { onTestFinished } from "vitest";
import type { Attempt, CaptureLimits, Work } from "../../src/copies/capture.ts";
import { capture } from "../../src/copies/capture.ts";
import { type Copy, makeCopy } from "../../src/copies/copy.ts";
import type { Place } from "../../src/copies/place.ts";
import { examined } from "../../src/copies/preflight.ts";
import { advance, type Approved, branchOf, merge } from "../../src/copies/queue.ts";
import { makeRepository } from "../../src/copies/repository.ts";
import { type Git, gitIn } from "../../src/lib/git.ts";
import { value } from "../results.ts";

// A person's repository and a session beside it, with real git.

export const AT = "2026-01-02T03:04:05.678Z";
export const LIMITS: CaptureLimits = { maxBytes: 100_000, protectedPaths: { globs: [], except: [] } };

export interface Rig {
  readonly folder: string;
  readonly root: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly git: Git;
  readonly place: Place;
  /** Writes a file of the person's. */
  write(name: string, text: string): void;
  /** What the person's own git prints; throws if it fails. */
  run(...words: string[]): string;
}

const ADA = { name: "Ada", email: "ada@example.org" };

/** So that two repositories that are made alike have the same commits. */
const DATES = { GIT_AUTHOR_DATE: "@1700000000 +0000", GIT_COMMITTER_DATE: "@1700000000 +0000" };

/** A repository with `a.txt` of 40 lines, `b.txt`, `src/x.js` and a `.gitignore`. */
export function rig(): Rig {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "bosun-copies-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "user");
  mkdirSync(root);
  const environment = { PATH: process.env["PATH"], HOME: folder, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
  const git = gitIn(environment);
  const at: Rig = {
    folder,
    root,
    environment,
    git,
    place: { session_id: "s-1", folder: join(folder, "home"), git, committer: ADA },
    write(name, text) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    },
    run: (...words) => shell(root, { ...environment, ...DATES }, "git", words),
  };
  at.run("init", "-q", "-b", "main");
  at.run("config", "user.name", ADA.name);
  at.run("config", "user.email", ADA.email);
  at.write("a.txt", lines());
  at.write("b.txt", "b\n");
  at.write("src/x.js", "export const x = 1;\n");
  at.write(".gitignore", "ignored/\n*.log\n.env\nnode_modules\n");
  at.run("add", ".");
  at.run("commit", "-qm", "base");
  return at;
}

/** 40 lines, of which some are others. */
export function lines(others: Readonly<Record<number, string>> = {}): string {
  return Array.from({ length: 40 }, (_, at) => `${others[at + 1] ?? `line ${at + 1}`}\n`).join("");
}

export function shell(cwd: string, env: NodeJS.ProcessEnv, program: string, words: readonly string[]): string {
  const ran = spawnSync(program, words, { cwd, env, encoding: "utf8", timeout: 30_000 });
  if (ran.status !== 0) throw new Error(`${program} ${words.join(" ")}: ${ran.status} ${ran.stdout}${ran.stderr}`);
  return ran.stdout.replace(/\n$/, "");
}

/** The session's repository, made from HEAD. */
export async function begun(at: Rig, options: { includeDirty?: string } = {}) {
  const user = value(await examined(at.git, at.root, at.folder));
  const { base } = value(await makeRepository(at.place, user, options));
  return { user, base };
}

export async function tip({ place }: Rig): Promise<string> {
  return (await branchOf(place)).tip;
}

/** A copy from the session's tip. */
export async function copyFor(at: Rig, ticket_id: string): Promise<Copy> {
  return value(await makeCopy(at.place, ticket_id, await tip(at)));
}

/** A shell command of an agent in its copy, with its own identity. */
export function agent(at: Rig, { tree }: Copy, command: string): string {
  return shell(tree, { ...at.environment, EDITOR: "true" }, "sh", ["-ec", command]);
}

export function attemptOf(ticket_id: string, attempt = 1): Attempt {
  const author = { name: "claude (Bosun)", email: "bosun@localhost" };
  return { ticket_id, attempt, run: 1, author, subject: `Work on ${ticket_id}`, at: AT };
}

/** The work of a ticket, which must be captured. */
export async function captured(at: Rig, ticket_id: string, attempt = 1): Promise<Work> {
  const result = value(await capture(at.place, attemptOf(ticket_id, attempt), LIMITS));
  if (result.state !== "captured") throw new Error(JSON.stringify(result));
  return result.work;
}

export function approved(ticket_id: string, work: Work, attempt = 1): Approved {
  return { ticket_id, attempt, commit: work.commit, subject: `Merge ${ticket_id}`, log_head: "0123", at: AT };
}

/** A ticket whose agent runs a command, captured and merged onto the session's branch. */
export async function merged(at: Rig, ticket_id: string, command: string): Promise<string> {
  agent(at, await copyFor(at, ticket_id), command);
  const made = value(await merge(at.place, approved(ticket_id, await captured(at, ticket_id))));
  if (made.state !== "made") throw new Error(made.state);
  value(await advance(at.place, made));
  return made.commit;
}

/** What git prints in the session's repository. */
export function inSession(at: Rig, ...words: string[]): string {
  return shell(join(at.place.folder, "repo.git"), at.environment, "git", words);
}

/** Every file below a folder with a hash of its content, but for objects of git. */
export function contents(folder: string): Record<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  const entries = found.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path);
    if (name.startsWith(".git/objects/") || entry.isDirectory()) return [];
    if (entry.isSymbolicLink()) return [[name, readlinkSync(path)]];
    const hash = createHash("sha256").update(readFileSync(path)).digest("hex");
    return [[name, `${lstatSync(path).mode.toString(8)} ${hash.slice(0, 16)}`]];
  });
  return Object.fromEntries(entries);
}
