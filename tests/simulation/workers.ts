import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { addPlays, NO_PLAYS, type PlayCounts } from "./plays.ts";

/** The seeds that a worker process runs. */
export interface Portion {
  readonly from: number;
  readonly count: number;
  readonly traced: boolean;
}

/** The result: sums over the seeds, and the first seed that broke a promise. */
export interface Totals {
  readonly seeds: number;
  readonly events: number;
  readonly records: number;
  readonly crashes: number;
  readonly children: number;
  readonly compared: number;
  /** How many seeds play what few do. */
  readonly plays: PlayCounts;
  readonly failed?: { readonly seed: number; readonly invariant: string; readonly seen: string };
  readonly trace?: readonly string[];
}

/** How many seeds a worker gets at a time. */
const PORTION = 50;

/** How many of the last events a failure shows. */
const EVENTS_SHOWN = 40;

const WORKER = join(import.meta.dirname, "children/worker.ts");

/** Runs `count` seeds in several processes. Ends at the first failure. */
export async function simulateMany(from: number, count: number, workers: number): Promise<Totals> {
  let next = from;
  const sum = { seeds: 0, events: 0, records: 0, crashes: 0, children: 0, compared: 0 };
  let plays = NO_PLAYS;
  let failed: Totals["failed"];
  const work = async () => {
    const child = begin();
    try {
      while (next < from + count && !failed) {
        const portion = { from: next, count: Math.min(PORTION, from + count - next), traced: false };
        next += portion.count;
        const totals = await ask(child, portion);
        for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += totals[key];
        plays = addPlays(plays, totals.plays);
        failed ??= totals.failed;
      }
    } finally {
      await gone(child);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return { ...sum, plays, ...(failed ? { failed } : {}) };
}

/** Runs one seed in a process of its own, with its trace. */
export async function simulateTraced(seed: number): Promise<Totals> {
  const child = begin();
  try {
    return await ask(child, { from: seed, count: 1, traced: true });
  } finally {
    await gone(child);
  }
}

/** A failure for a person: the seed, the promise, the last events, and the command that shows the rest. */
export async function failureText({ seed, invariant, seen }: NonNullable<Totals["failed"]>): Promise<string> {
  const { trace = [] } = await simulateTraced(seed);
  return [
    `Seed ${seed} breaks the promise "${invariant}": ${seen}`,
    `Its last ${EVENTS_SHOWN} events:`,
    ...trace.slice(-EVENTS_SHOWN),
    `Again, with all of them: npm run simulate -- --seed ${seed} --verbose`,
  ].join("\n");
}

/** Starts a worker process with an empty environment. */
function begin(): ChildProcess {
  return fork(WORKER, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { PATH: process.env["PATH"] },
    execArgv: [],
  });
}

async function ask(child: ChildProcess, portion: Portion): Promise<Totals> {
  const answer = Promise.withResolvers<Totals>();
  const died = (code: number | null, signal: string | null) =>
    answer.reject(new Error(`A worker died at one of the seeds from ${portion.from} (${code ?? signal}).`));
  const onMessage = (message: unknown) => answer.resolve(message as Totals);
  child.once("message", onMessage);
  child.once("exit", died);
  child.send(portion);
  try {
    return await answer.promise;
  } finally {
    child.off("message", onMessage);
    child.off("exit", died);
  }
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
