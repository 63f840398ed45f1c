import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { capture } from "../../src/copies/capture.ts";
import { makeCopy } from "../../src/copies/copy.ts";
import { commit } from "../../src/copies/objects.ts";
import type { Place } from "../../src/copies/place.ts";
import { examined } from "../../src/copies/preflight.ts";
import { advance, type Approved, branchOf, merge, mergeTrees } from "../../src/copies/queue.ts";
import { makeRepository } from "../../src/copies/repository.ts";
import { gitIn } from "../../src/lib/git.ts";
import { value } from "../results.ts";
import { interleaved, median, medianOf, wallTime } from "./measure.ts";

export interface CopiesOrder {
  readonly folder: string;
  /** Of 4.8 KB each, 100 in a folder. */
  readonly files: number;
  readonly rounds: number;
  /** So many are measured at the beginning of a session's branch, and as many after `before`. */
  readonly merges: number;
  readonly before: number;
}

/** In ms, but for the merges: how many in a second. */
export interface CopiesCost {
  readonly worktree: number;
  readonly copy: number;
  readonly commit: number;
  readonly capture: number;
  readonly first: number;
  readonly later: number;
  /** The floor: a start of git, of which a merge needs four. */
  readonly start: number;
}

const WORKERS = 5;
/** So many files are changed before a capture. */
const CHANGED = 10;
const ADA = { name: "Ada", email: "ada@example.org" };
/** The first instant; each work comes a second later. */
const AT = "2026-01-02T03:04:05.678Z";
const LIMITS = { maxBytes: 1_000_000, protectedPaths: { globs: [], except: [] } };

const pathOf = (file: number) => `src/d${Math.floor(file / 100)}/f${file % 100}.txt`;
const textOf = (file: number, first = "") =>
  `${first}${Array.from({ length: 74 }, (_, line) => `${hash("sha256", `${file} ${line}`)}\n`).join("")}`;

/** A packed repository, as it is after a clone, with a branch for each work, which changes another file. */
function repository({ folder, files, merges, before }: CopiesOrder): { root: string; works: string[] } {
  const root = join(folder, "user");
  mkdirSync(root, { recursive: true });
  const git = (words: readonly string[], input = "") => execFileSync("git", words, { cwd: root, input });
  git(["init", "--quiet", "--initial-branch=main"]);
  for (const [name, text] of Object.entries(ADA)) git(["config", `user.${name}`, text]);
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const changed = (file: number, text: string) => `M 100644 inline ${pathOf(file)}\n${data(text)}`;
  const begun = (branch: string) =>
    `commit refs/heads/${branch}\ncommitter Ada <ada@example.org> 0 +0000\n${data("work")}`;
  const all = Array.from({ length: files }, (_, file) => changed(file, textOf(file)));
  const branches = Array.from({ length: before + merges }, (_, work) => `work${work}`);
  const works = branches.map(
    (name, work) => `${begun(name)}from refs/heads/main\n${changed(work, textOf(work, "new\n"))}`,
  );
  git(["fast-import", "--quiet"], [begun("main"), ...all, ...works].join(""));
  git(["reset", "--quiet", "--hard", "main"]);
  return {
    root,
    works: git(["rev-parse", ...branches])
      .toString()
      .trim()
      .split("\n"),
  };
}

/** A copy beside a work tree of the same repository, the capture of its changes beside a commit there, and merges. */
export async function measureCopies(order: CopiesOrder): Promise<CopiesCost> {
  const { folder, rounds } = order;
  const { root, works } = repository(order);
  const git = gitIn(process.env);
  const place: Place = { session_id: "s-1", folder: join(folder, "session"), git, committer: ADA };
  const { base } = value(await makeRepository(place, value(await examined(git, root, folder)), {}));
  let made = 0;
  const change = (tree: string) => {
    for (let file = 0; file < CHANGED; file++) appendFileSync(join(tree, pathOf(file * 100)), "more\n");
  };
  const { theirs, ours } = await interleaved(rounds, {
    theirs: async () => {
      const tree = join(folder, `tree${made++}`);
      const worktree = await wallTime("git", ["worktree", "add", "--quiet", "--detach", tree, "main"], root);
      change(tree);
      const added = await wallTime("git", ["add", "--all"], tree);
      return { worktree, commit: added + (await wallTime("git", ["commit", "--quiet", "--message", "work"], tree)) };
    },
    ours: async () => {
      const ticket_id = `t${made++}`;
      const began = performance.now();
      const { tree } = value(await makeCopy(place, ticket_id, base));
      const copy = performance.now() - began;
      change(tree);
      const attempt = { ticket_id, attempt: 1, run: 1, author: ADA, subject: "work", at: AT };
      const ended = performance.now();
      const { state } = value(await capture(place, attempt, LIMITS));
      if (state !== "captured") throw new Error(`the work is ${state}`);
      return { copy, capture: performance.now() - ended };
    },
  });
  const first = await mergesASecond(place, works.slice(0, order.merges));
  await mergesASecond(place, works.slice(order.merges, order.before));
  const later = await mergesASecond(place, works.slice(order.before));
  const starts = await interleaved(20, { start: () => wallTime("git", ["version"], root) });
  return {
    start: median(starts.start),
    worktree: medianOf(theirs, (one) => one.worktree),
    copy: medianOf(ours, (one) => one.copy),
    commit: medianOf(theirs, (one) => one.commit),
    capture: medianOf(ours, (one) => one.capture),
    first,
    later,
  };
}

/** Tickets begin where the branch is, five at once. */
async function mergesASecond(place: Place, changes: readonly string[]): Promise<number> {
  let took = 0;
  for (let at = 0; at < changes.length; at += WORKERS) {
    const { tip } = await branchOf(place);
    const works = await Promise.all(changes.slice(at, at + WORKERS).map((change) => workOn(place, tip, change)));
    const began = performance.now();
    for (const work of works) {
      const made = value(await merge(place, work));
      if (made.state !== "made" || value(await advance(place, made)) !== "merged") throw new Error(made.state);
    }
    took += performance.now() - began;
  }
  return changes.length / (took / 1_000);
}

let seconds = 0;

async function workOn(place: Place, tip: string, change: string): Promise<Approved> {
  const at = new Date(Date.parse(AT) + 1_000 * seconds++).toISOString();
  const merged = await mergeTrees(place, tip, change);
  if ("entries" in merged) throw new Error("the works are in conflict");
  const made = await commit(place, { tree: merged.tree, parents: [tip], subject: "work", trailers: {}, at });
  return { ticket_id: change, attempt: 1, commit: made, subject: "work", log_head: "0123", at };
}
