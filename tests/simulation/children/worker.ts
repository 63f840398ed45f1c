import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulateSeed } from "../seed.ts";
import type { Told, Wanted } from "../workers.ts";

// Sessions write a few files; what they name is relative, so that a trace is the same on every machine.
const MEMORY = "/dev/shm";
const home = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "bosun-simulation-"));
process.chdir(home);
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
process.on("disconnect", () => process.exit());

process.on("message", ({ from, count, traced }: Wanted) => {
  void live(from, count, traced).then((told) => process.send?.(told));
});

async function live(from: number, count: number, traced: boolean): Promise<Told> {
  const told = { seeds: 0, events: 0, records: 0, crashes: 0, children: 0, compared: 0 };
  const trace: string[] | undefined = traced ? [] : undefined;
  for (let seed = from; seed < from + count; seed++) {
    const lived = await simulateSeed(seed, trace);
    told.seeds += 1;
    told.events += lived.events;
    told.records += lived.records;
    told.crashes += lived.crashes;
    told.children += lived.children;
    if (lived.compared) told.compared += 1;
    if (lived.violation) return { ...told, failed: { seed, ...lived.violation }, ...(trace ? { trace } : {}) };
  }
  return { ...told, ...(trace ? { trace } : {}) };
}
