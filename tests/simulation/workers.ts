import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** What a worker is to live through. */
export interface Wanted {
  readonly from: number;
  readonly count: number;
  readonly traced: boolean;
}

/** What became of it: sums over the seeds, and the first that broke a promise. */
export interface Told {
  readonly seeds: number;
  readonly events: number;
  readonly records: number;
  readonly crashes: number;
  readonly children: number;
  readonly compared: number;
  readonly failed?: { readonly seed: number; readonly invariant: string; readonly seen: string };
  readonly trace?: readonly string[];
}

/** Seeds that a worker gets at once. */
const PORTION = 50;

/** How many of the last events a failure tells. */
const EVENTS_TOLD = 40;

const WORKER = join(import.meta.dirname, "children/worker.ts");

/** Lives through `count` seeds in several processes. Ends at the first failure. */
export async function simulateMany(from: number, count: number, workers: number): Promise<Told> {
  let next = from;
  const sum = { seeds: 0, events: 0, records: 0, crashes: 0, children: 0, compared: 0 };
  let failed: Told["failed"];
  const work = async () => {
    const child = begin();
    try {
      while (next < from + count && !failed) {
        const portion = { from: next, count: Math.min(PORTION, from + count - next), traced: false };
        next += portion.count;
        const told = await ask(child, portion);
        for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += told[key];
        failed ??= told.failed;
      }
    } finally {
      await gone(child);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return { ...sum, ...(failed ? { failed } : {}) };
}

/** One seed in a process of its own, with every event. */
export async function simulateTraced(seed: number): Promise<Told> {
  const child = begin();
  try {
    return await ask(child, { from: seed, count: 1, traced: true });
  } finally {
    await gone(child);
  }
}

/** All that is needed to look into a failure: seed, promise, last events, and the command that shows the rest. */
export async function failureText({ seed, invariant, seen }: NonNullable<Told["failed"]>): Promise<string> {
  const { trace = [] } = await simulateTraced(seed);
  return [
    `Seed ${seed} breaks the promise "${invariant}": ${seen}`,
    `Its last ${EVENTS_TOLD} events:`,
    ...trace.slice(-EVENTS_TOLD),
    `Again, with all of them: npm run simulate -- --seed ${seed} --verbose`,
  ].join("\n");
}

/** A worker with nothing of the environment but what it needs to run. */
function begin(): ChildProcess {
  return fork(WORKER, {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { PATH: process.env["PATH"] },
    execArgv: [],
  });
}

async function ask(child: ChildProcess, wanted: Wanted): Promise<Told> {
  const told = Promise.withResolvers<Told>();
  const died = (code: number | null, signal: string | null) =>
    told.reject(new Error(`A worker died at one of the seeds from ${wanted.from} (${code ?? signal}).`));
  const hear = (message: unknown) => told.resolve(message as Told);
  child.once("message", hear);
  child.once("exit", died);
  child.send(wanted);
  try {
    return await told.promise;
  } finally {
    child.off("message", hear);
    child.off("exit", died);
  }
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
