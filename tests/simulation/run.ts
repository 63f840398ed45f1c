import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { failureText, simulateMany, simulateTraced, type Totals } from "./workers.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    workers: { type: "string", default: String(Math.min(8, availableParallelism())) },
    verbose: { type: "boolean", default: false },
  },
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function many(from: number, count: number): Promise<Totals> {
  const began = performance.now();
  const totals = await simulateMany(from, count, Number(values.workers));
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  const { seeds, compared, crashes, children, events, records } = totals;
  print(
    `${seeds} seeds (${compared} of them also without misfortunes) in ${seconds} s: ${events} events, ${records} records, ${children} child sessions, ${crashes} crashes`,
  );
  for (const [play, seen] of Object.entries(totals.plays)) print(`${seen} seeds: ${play}`);
  return totals;
}

const { seed } = values;
const totals =
  seed === undefined ? await many(Number(values.from), Number(values.seeds)) : await simulateTraced(Number(seed));
if (seed !== undefined && values.verbose) for (const line of totals.trace ?? []) print(line);
if (totals.failed) {
  print(await failureText(totals.failed));
  process.exitCode = 1;
} else {
  print("no promise was broken");
}
