import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogRecord } from "../../src/protocol/record.ts";
import { type Pair, PAIRS } from "./coop-pairs.ts";
import { type Extent, newDirectory, PROGRAM, table } from "./measure.ts";
import { lay, placeIn, shellTask } from "./place.ts";

/**
 * A worker begins when both do, as agents that have read the same files, and writes its files whole. If a merge is left to it, it writes the resolution.
 */
const WORKER = `touch "$1/$2.began"; until test -e "$1/$3.began"; do sleep 0.02; done
if test -e .git/MERGE_HEAD; then set -- "$1" both; fi
cp -R "$1/$2/." . && cd . && xargs rm -f < "$1/$2.gone"
`;

/** How a pair ended. */
interface Ended {
  readonly merges: readonly string[];
  readonly attempts: readonly number[];
  readonly green: readonly boolean[];
}

/** Prints how pairs of tasks that meet in a file end in copies, and in one workspace, where the second overwrites the first. */
export async function measure(extent: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\ncoop: left out, because the program is not built (npm run build).");
    return;
  }
  const pairs = extent.quick ? PAIRS.slice(0, 1) : PAIRS;
  const all = pairs.map((pair) => ({
    pair,
    copies: endOf(pair, "worktree", newDirectory(extent)),
    shared: endOf(pair, "none", newDirectory(extent)),
  }));
  const isBoth = ({ green }: Ended) => green.every(Boolean);
  const isClean = ({ merges }: Ended) => merges.every((state) => state === "merged");
  const isResolved = (ended: Ended) => !isClean(ended) && Math.max(...ended.attempts) === 2 && isBoth(ended);
  const greens = ({ green }: Ended) => `${green.filter(Boolean).length} of 2`;
  table(
    "coop: two tasks that meet in a file",
    ["", "merges", "attempts", "features in copies", "in one workspace"],
    all.map(({ pair, copies, shared }) => [
      pair.name,
      copies.merges.join(", "),
      copies.attempts.join(", "),
      greens(copies),
      greens(shared),
    ]),
  );
  const count = (is: (ended: Ended) => boolean) => `${all.filter(({ copies }) => is(copies)).length}`;
  table(
    `of ${pairs.length} pairs`,
    ["", "in copies", "in one workspace"],
    [
      ["merged at once", count(isClean), "-"],
      ["sent back, and resolved at the second try", count(isResolved), "-"],
      ["with both features at the end", count(isBoth), `${all.filter(({ shared }) => isBoth(shared)).length}`],
    ],
  );
}

function endOf(pair: Pair, isolation: "worktree" | "none", folder: string): Ended {
  const { run, bosun, session } = placeIn(folder, pair.base);
  for (const side of ["one", "two", "both"] as const) {
    lay(join(folder, side), pair[side]);
    const gone = Object.keys(pair[side]).filter((name) => pair[side][name] === null);
    writeFileSync(join(folder, `${side}.gone`), gone.join("\n"));
  }
  const worker = join(folder, "worker.sh");
  writeFileSync(worker, WORKER);
  const [one, two] = pair.checks;
  const tasks = [
    shellTask("one", `sh ${worker} ${folder} one two`, checking(one)),
    shellTask("two", `sh ${worker} ${folder} two one`, checking(two)),
  ];
  const merge = [{ text: "everything loads", command: checking("true") }];
  const { status } = session(tasks, { isolation, retry_backoff_ms: 1, checks: { merge } });
  if (isolation === "worktree" && status === 0) bosun("merge", "s-1");
  const lines = bosun("replay", "s-1", "--json").stdout.trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as LogRecord);
  const merges = records.flatMap(({ payload }) => (payload["merge"] as { state?: string } | undefined)?.state ?? []);
  const { tickets } = JSON.parse(bosun("status", "s-1", "--json").stdout) as { tickets: { attempts: number }[] };
  const isGreen = (check: string) => {
    const [program = "", ...words] = checking(check);
    return run(program, words).status === 0;
  };
  return { merges, attempts: tickets.map(({ attempts }) => attempts), green: pair.checks.map(isGreen) };
}

/** The command that succeeds if a check is true of the modules `m` and `lib` of its folder. */
function checking(check: string): string[] {
  const load = (name: string) => `fs.existsSync("${name}.mjs") ? await import(process.cwd() + "/${name}.mjs") : {}`;
  const script = `import fs from "node:fs"; const m = ${load("m")}, lib = ${load("lib")}; process.exit(${check} ? 0 : 1);`;
  return ["node", "--input-type=module", "--eval", script];
}
