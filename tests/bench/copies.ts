import { existsSync } from "node:fs";
import type { CopiesCost, CopiesOrder } from "./copies-work.ts";
import { type Extent, inProcess, newDirectory, PROGRAM, table, target } from "./measure.ts";
import { placeIn, shellTask } from "./place.ts";

/** Prints what a ticket's copy and its capture cost beside git's own work tree and commit, and how many merges the queue makes in a second. */
export async function measure(extent: Extent): Promise<void> {
  const { quick, rounds } = extent;
  const size = quick ? { files: 1_000, merges: 5, before: 10 } : { files: 10_000, merges: 50, before: 200 };
  const order: CopiesOrder = { folder: newDirectory(extent), rounds, ...size };
  const cost = await inProcess<CopiesCost>("copies", order, extent);
  table(
    `copies of ${size.files} files`,
    ["", "ours, ms", "git's, ms", "ratio"],
    [
      ["a copy; git worktree add", cost.copy, cost.worktree, cost.copy / cost.worktree],
      ["a capture; git add, git commit", cost.capture, cost.commit, cost.capture / cost.commit],
    ],
  );
  table(
    "the queue",
    ["", "merges a second", "four starts of git, ms"],
    [
      [`the first ${size.merges}`, cost.first, 4 * cost.start],
      [`after ${size.before}`, cost.later, 4 * cost.start],
    ],
  );
  const tickets = quick ? 5 : 40;
  const [copied, shared] = existsSync(PROGRAM)
    ? (["worktree", "none"] as const).map((isolation) => sessionOf(tickets, isolation, newDirectory(extent)) / tickets)
    : [];
  if (copied !== undefined && shared !== undefined)
    table(
      `a session of ${tickets} tickets of the embedded crew, all of it`,
      ["", "ms a ticket"],
      [
        ["in copies", copied],
        ["in one workspace", shared],
      ],
    );
  target("a copy over git worktree add", cost.copy / cost.worktree, "<= 1.3", cost.copy / cost.worktree <= 1.3);
  const slowest = Math.min(cost.first, cost.later);
  target("merges a second", slowest, ">= 15", slowest >= 15);
}

/** A session whose tickets each write a file, in ms. */
function sessionOf(tickets: number, isolation: "worktree" | "none", folder: string): number {
  const { session } = placeIn(folder, { "readme.txt": "Some files.\n" });
  const names = Array.from({ length: tickets }, (_, ticket) => `t${ticket}`);
  const tasks = names.map((name) => shellTask(name, `echo ${name} > ${name}`, ["true"]));
  const began = performance.now();
  const { status } = session(tasks, { isolation });
  if (status !== 0) throw new Error(`the session ended with ${status}`);
  return performance.now() - began;
}
