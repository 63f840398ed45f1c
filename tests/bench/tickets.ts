import { type Extent, inProcess, newDirectory, interleaved, medianOf, table, target } from "./measure.ts";
import type { Finished, SessionOrder, Shape } from "./sessions.ts";

const MAX_WORKERS = 64;

/** The sizes with targets, and one plan without dependencies. */
const SHAPES: readonly Shape[] = [
  { tasks: 1_000, layers: 10 },
  { tasks: 10_000, layers: 10 },
  { tasks: 100_000, layers: 10 },
  { tasks: 10_000, layers: 1 },
];
const QUICK_SHAPES: readonly Shape[] = [
  { tasks: 1_000, layers: 10 },
  { tasks: 2_000, layers: 10 },
];

const HEAD = [
  "tickets",
  "layers",
  "tickets/s",
  "us/ticket",
  "floor us",
  "x floor",
  "cpu us",
  "floor cpu",
  "x floor",
  "records/ticket",
  "records/commit",
  "last/first tenth",
  "plan us/ticket",
  "RSS MiB",
];

interface Floor {
  readonly working: number;
  readonly working_cpu: number;
}

/** Bosun's figures beside the floor of the same round, which writes as many records, as large, in as many commits. */
interface Measured extends Finished {
  readonly floor: Floor;
}

/**
 * The scheduler alone: agents are functions in the process. Each ticket is one worker turn and one manager review, each with its recorded
 * request. Without and with a file for each record.
 */
export async function measure(extent: Extent): Promise<void> {
  const shapes = extent.quick ? QUICK_SHAPES : SHAPES;
  for (const files of [false, true]) {
    const arms = Object.fromEntries(shapes.map((shape) => [armOf(shape), () => once(shape, files, extent)]));
    const results = await interleaved(extent.rounds, arms);
    const rows = shapes.map((shape) => rowOf(shape, results[armOf(shape)] ?? []));
    table(
      `tickets, ${files ? "with a file for each record" : "without files"}: each task waits for two of the layer before; ` +
        `${MAX_WORKERS} workers and as many reviews at once, in the process; synchronous=FULL, grouped`,
      HEAD,
      rows.map((row) => row.cells),
    );
    const layered = rows.filter((row) => row.shape.layers > 1);
    judge(layered, files);
  }
}

function armOf({ tasks, layers }: Shape): string {
  return `${tasks} in ${layers}`;
}

async function once(shape: Shape, files: boolean, extent: Extent): Promise<Measured> {
  const home = newDirectory(extent);
  const order: SessionOrder = { home, shape, max_workers: MAX_WORKERS, files };
  const finished = await inProcess<Finished>("session", order, extent);
  const { records, commits, record_bytes, largest_bytes } = finished;
  const floor = await inProcess<Floor>(
    "write-floor",
    // Spreads the bytes of the two huge records (plan and report) over the others.
    {
      home,
      tickets: shape.tasks,
      records,
      commits,
      bytes_per_record: (record_bytes - largest_bytes) / records,
      files,
    },
    { ...extent, profile: undefined },
  );
  return { ...finished, floor };
}

interface Row {
  readonly shape: Shape;
  readonly us: number;
  readonly rss: number;
  readonly cells: readonly (string | number)[];
}

function rowOf(shape: Shape, results: readonly Measured[]): Row {
  const perTicket = (figure: (result: Measured) => number) => (medianOf(results, figure) * 1_000) / shape.tasks;
  const us = perTicket(({ working }) => working);
  const floor = perTicket((result) => result.floor.working);
  const cpu = perTicket(({ working_cpu }) => working_cpu);
  const floorCpu = perTicket((result) => result.floor.working_cpu);
  const rss = medianOf(results, ({ rss_peak }) => rss_peak);
  return {
    shape,
    us,
    rss,
    cells: [
      shape.tasks.toLocaleString("en-US"),
      String(shape.layers),
      1e6 / us,
      us,
      floor,
      us / floor,
      cpu,
      floorCpu,
      cpu / floorCpu,
      medianOf(results, ({ records }) => records / shape.tasks),
      medianOf(results, ({ records, commits }) => records / commits),
      medianOf(results, ({ last_over_first }) => last_over_first),
      perTicket(({ planning }) => planning),
      rss,
    ],
  };
}

function judge(rows: readonly Row[], files: boolean): void {
  const wanted = files ? 2_000 : 10_000;
  for (const [index, { shape, us, rss }] of rows.entries()) {
    const name = shape.tasks.toLocaleString("en-US");
    target(`tickets/s at ${name}`, 1e6 / us, `>= ${wanted}`, 1e6 / us >= wanted);
    target(`RSS in MiB at ${name}`, rss, "<= 200", rss <= 200);
    const smaller = rows[index - 1];
    if (smaller === undefined || index < rows.length - 1) continue;
    const than = smaller.shape.tasks.toLocaleString("en-US");
    target(`us/ticket at ${name} over that at ${than}`, us / smaller.us, "<= 1.15", us / smaller.us <= 1.15);
  }
}
