import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addPlays, NO_PLAYS } from "../plays.ts";
import { simulateSeed } from "../seed.ts";
import type { Totals, Portion } from "../workers.ts";

// Sessions write a few files. Their names are relative, so that a trace is the same on every machine.
const MEMORY = "/dev/shm";
const home = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "bosun-simulation-"));
process.chdir(home);
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
process.on("disconnect", () => process.exit());

process.on("message", ({ from, count, traced }: Portion) => {
  void run(from, count, traced).then((totals) => process.send?.(totals));
});

async function run(from: number, count: number, traced: boolean): Promise<Totals> {
  const totals = { seeds: 0, events: 0, records: 0, crashes: 0, children: 0, compared: 0, plays: NO_PLAYS };
  const trace: string[] | undefined = traced ? [] : undefined;
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulateSeed(seed, trace);
    totals.seeds += 1;
    totals.events += result.events;
    totals.records += result.records;
    totals.crashes += result.crashes;
    totals.children += result.children;
    totals.plays = addPlays(totals.plays, result.plays);
    if (result.compared) totals.compared += 1;
    if (result.violation) return { ...totals, failed: { seed, ...result.violation }, ...(trace ? { trace } : {}) };
  }
  return { ...totals, ...(trace ? { trace } : {}) };
}
