import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type RunLimits, SupervisedRun } from "../../src/agents/cli/process.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Launched } from "../../src/agents/launcher.ts";
import { collectEarly } from "../../src/runtime/memory.ts";
import { type Extent, inProcess, interleaved, medianOf, table, target } from "./measure.ts";

/** `spawn` is the floor: the same processes and pipes without supervision. */
export interface ChildrenOrder {
  readonly by: "spawn" | "launcher" | "supervision";
  readonly count: number;
}

/** What a thousand live children cost the process that started them, in MiB and ms. */
export interface ChildrenCost {
  readonly count: number;
  readonly rss: number;
  /** The live part of it in the JavaScript heap. */
  readonly alive: number;
  readonly starting: number;
}

const COMMAND = ["sleep", "600"] as const;
const NO_LIMITS: RunLimits = {
  timeout_ms: 1_000_000,
  idle_timeout_ms: 1_000_000,
  kill_grace_ms: 1_000,
  answer_grace_ms: 1_000,
  max_output_bytes: 1e9,
};
const DEAF = { capOf: () => 1, line: () => undefined };
/** Descriptors per child, and some for everything else. */
const OTHER_DESCRIPTORS = 200;

/** Starts them, looks, and ends them. */
export async function holdChildren({ by, count: wanted }: ChildrenOrder): Promise<ChildrenCost> {
  const count = Math.min(wanted, Math.floor((openFiles() - OTHER_DESCRIPTORS) / 3));
  collectEarly();
  // One-time costs do not count for a thousand.
  const first = await start(by);
  const before = await held();
  const began = performance.now();
  const others: Child[] = [];
  for (let number = 0; number < count; number += 1) others.push(await start(by));
  const starting = performance.now() - began;
  const after = await held();
  await Promise.all([first, ...others].map((child) => child.end()));
  const forThousand = (figure: number) => (figure * 1_000) / count;
  return {
    count,
    rss: forThousand(after.rss - before.rss),
    alive: forThousand(after.alive - before.alive),
    starting: forThousand(starting),
  };
}

/** Prints the cost of a thousand live children beside the floor. */
export async function measure(extent: Extent): Promise<void> {
  const count = extent.quick ? 300 : 1_000;
  const arm = (by: ChildrenOrder["by"]) => () => inProcess<ChildrenCost>("children", { by, count }, extent);
  const results = await interleaved(extent.rounds, {
    spawn: arm("spawn"),
    launcher: arm("launcher"),
    supervision: arm("supervision"),
  });
  const floor = medianOf(results.spawn, ({ rss }) => rss);
  const rows = Object.entries(results).map(([name, costs]): [string, number, number, number, number] => {
    const rss = medianOf(costs, (cost) => cost.rss);
    const alive = medianOf(costs, (cost) => cost.alive);
    return [name, rss, rss / floor, alive, medianOf(costs, (cost) => cost.starting)];
  });
  const measured = results.spawn[0]?.count ?? 0;
  table(
    `children: what 1,000 live ones cost their scheduler (measured with ${measured})`,
    ["", "MiB", "x spawn", "alive", "ms"],
    rows,
  );
  const supervised = medianOf(results.supervision, ({ rss }) => rss);
  target("1,000 supervised children in MiB", supervised, "<= 30", supervised <= 30);
}

interface Child {
  readonly end: () => Promise<void>;
}

async function start(by: ChildrenOrder["by"]): Promise<Child> {
  const [program, ...rest] = COMMAND;
  if (by === "spawn") return endOf(spawn(program, rest, { detached: true, stdio: "pipe" }));
  const environment = { PATH: process.env["PATH"] ?? "" };
  const launched = await embeddedLauncher().launch({ command: COMMAND, directory: tmpdir(), environment });
  if (!launched.ok) throw new Error(launched.error.message);
  const { value } = launched;
  if (by === "supervision") return supervised(value);
  value.stdout.resume();
  value.stderr.resume();
  return {
    end: async () => {
      value.signalGroup("SIGKILL");
      await value.exited;
      value.destroyPipes();
    },
  };
}

function supervised(launched: Launched): Child {
  const run = new SupervisedRun(launched, NO_LIMITS, DEAF, new AbortController().signal);
  run.give("go\n");
  return {
    end: async () => {
      launched.signalGroup("SIGKILL");
      await run.ended;
    },
  };
}

function endOf(child: ChildProcess): Child {
  child.stdout?.resume();
  child.stderr?.resume();
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  return {
    end: () => {
      child.kill("SIGKILL");
      return closed;
    },
  };
}

/** The memory that this process holds now, in MiB. */
async function held(): Promise<{ readonly rss: number; readonly alive: number }> {
  for (let time = 0; time < 3; time += 1) {
    globalThis.gc?.();
    await nextTurn();
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: rss / 1_048_576, alive: heapUsed / 1_048_576 };
}

/** The descriptor limit of this process; Node raises it to the hard limit. */
function openFiles(): number {
  if (process.platform !== "linux") return 1_024;
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
  return Number(soft ?? 1_024);
}
