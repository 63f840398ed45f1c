import { type Extent, inProcess, inScratch, interleaved, medianOf, table, target } from "./measure.ts";
import type { Finished, SessionOrder } from "./sessions.ts";

const LAYERS = 10;
const MAX_WORKERS = 64;

/** Bosun's figures beside the floor's of the same round, which writes just as many records, as large, in as many commits. */
interface Measured extends Finished {
  readonly floor: number;
}

/**
 * The scheduler alone: agents are functions in the process. Each ticket is one worker's turn and one review of the manager, each
 * with its recorded request. Without and with a file for each record.
 */
export async function measure(extent: Extent): Promise<void> {
  const sizes = extent.quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
  for (const files of [false, true]) {
    const arms = Object.fromEntries(sizes.map((tasks) => [String(tasks), () => once(tasks, files, extent)]));
    const results = await interleaved(extent.rounds, arms);
    const rows = sizes.map((tasks) => rowOf(tasks, results[tasks] ?? []));
    table(
      `tickets, ${files ? "with a file for each record" : "without files"}: plan of ${LAYERS} layers, each task on two of the layer before; ` +
        `${MAX_WORKERS} workers and reviews at once in the process; synchronous=FULL, grouped`,
      [
        "tickets",
        "tickets/s",
        "us/ticket",
        "floor us",
        "x floor",
        "records/ticket",
        "records/commit",
        "last/first tenth",
        "plan us/ticket",
        "RSS MiB",
      ],
      rows.map((row) => row.cells),
    );
    judge(rows, files);
  }
}

async function once(tasks: number, files: boolean, extent: Extent): Promise<Measured> {
  return inScratch(async (home) => {
    const order: SessionOrder = { home, shape: { tasks, layers: LAYERS }, max_workers: MAX_WORKERS, files };
    const finished = await inProcess<Finished>("session", order, extent);
    const { records, commits, record_bytes } = finished;
    const floor = await inProcess<{ working: number }>(
      "write-floor",
      // The plan itself is one huge record, which would not be a fair measure of the others.
      { home, tickets: tasks, records, commits, bytes_per_record: Math.min(record_bytes / records, 1_500), files },
      { ...extent, profile: undefined },
    );
    return { ...finished, floor: floor.working };
  });
}

interface Row {
  readonly tasks: number;
  readonly us: number;
  readonly rss: number;
  readonly cells: readonly (string | number)[];
}

function rowOf(tasks: number, results: readonly Measured[]): Row {
  const us = (medianOf(results, ({ working }) => working) * 1_000) / tasks;
  const floor = (medianOf(results, (result) => result.floor) * 1_000) / tasks;
  const rss = medianOf(results, ({ rss_peak }) => rss_peak);
  return {
    tasks,
    us,
    rss,
    cells: [
      tasks.toLocaleString("en-US"),
      1e6 / us,
      us,
      floor,
      us / floor,
      medianOf(results, ({ records }) => records / tasks),
      medianOf(results, ({ records, commits }) => records / commits),
      medianOf(results, ({ last_over_first }) => last_over_first),
      medianOf(results, ({ planning }) => (planning * 1_000) / tasks),
      rss,
    ],
  };
}

function judge(rows: readonly Row[], files: boolean): void {
  const wanted = files ? 2_000 : 10_000;
  const largest = rows.at(-1);
  const middle = rows.at(-2);
  if (!largest || !middle) return;
  const name = largest.tasks.toLocaleString("en-US");
  target(`tickets/s at ${name}`, 1e6 / largest.us, `>= ${wanted}`, 1e6 / largest.us >= wanted);
  const growth = largest.us / middle.us;
  target(
    `us/ticket at ${name} over that at ${middle.tasks.toLocaleString("en-US")}`,
    growth,
    "<= 1.15",
    growth <= 1.15,
  );
  target(`RSS in MiB at ${name}`, largest.rss, "<= 200", largest.rss <= 200);
}
