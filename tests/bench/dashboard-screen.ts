import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import type { JsonObject } from "../../src/lib/json.ts";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import type { RecordedEffect, RecordMeta, UnsealedRecord } from "../../src/protocol/record.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel } from "../../src/ui/model/model.ts";
import { processTerminal } from "../../src/ui/terminal.ts";
import { Dashboard } from "../../src/ui/tui/dashboard.ts";

/** What to show, for how long, and the file for the figures. */
export interface ScreenOrder {
  readonly tickets: number;
  readonly ms: number;
  /** Without it the records only move the model. */
  readonly screen: boolean;
  readonly file: string;
}

/** What the dashboard took. */
export interface ScreenFigures {
  /** Of one core, in percent. */
  readonly cpu: number;
  readonly rss: number;
  /** That without what V8 keeps: the garbage, and its room for more. */
  readonly held: number;
  /** The 99th percentile of the event loop's delay, in ms. */
  readonly delay: number;
  readonly frames: number;
  readonly bytes: number;
  readonly updates: number;
}

/** So often a record comes, and each moves so many tickets. */
const EVERY_MS = 20;
const MOVED = 20;

/** What comes before the measured time. */
const WARM_MS = 4_000;

/** The terminal draws what is between these at once: one of them begins each frame. */
const FRAME = "\u001B[?2026h";

/** Shows records that come fifty times a second, at the terminal of this process, and writes what that took. */
export async function showUpdates({ tickets, ms, screen, file }: ScreenOrder): Promise<void> {
  const terminal = processTerminal({});
  const model = emptyModel();
  const dashboard = screen
    ? new Dashboard({ terminal, steering: undefined, detach: undefined })
    : { earlier: undefined, event: undefined };
  const ids = Array.from({ length: tickets }, (_, index) => `T-${index}`);
  let sequence = 0;
  const tell = (record: UnsealedRecord) => {
    sequence += 1;
    if (dashboard instanceof Dashboard) dashboard.event({ kind: "record", sequence, record });
    else applyRecord(model, sequence, record);
  };
  tell(opened());
  tell(planned(ids));
  if (dashboard instanceof Dashboard) dashboard.begin(opening());
  let updates = 0;
  const start = performance.now();
  // On a busy machine a timer comes late.
  const timer = setInterval(() => {
    for (; updates < (performance.now() - start) / EVERY_MS; updates++) tell(moveKey(ids, updates));
  }, EVERY_MS);
  // V8 compiles meanwhile.
  await delay(WARM_MS);
  const before = updates;
  const counted = countOutput(terminal.out.stream);
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  const began = process.cpuUsage();
  const from = performance.now();
  await delay(ms);
  clearInterval(timer);
  loop.disable();
  const { user, system } = process.cpuUsage(began);
  const took = performance.now() - from;
  const rss = process.memoryUsage.rss() / 2 ** 20;
  const room = getHeapStatistics().total_physical_size;
  global.gc?.();
  const figures: ScreenFigures = {
    cpu: (user + system) / 10 / took,
    rss,
    held: rss - (room - process.memoryUsage().heapUsed) / 2 ** 20,
    delay: loop.percentile(99) / 1e6,
    ...counted(),
    updates: ((updates - before) * 1e3) / took,
  };
  if (dashboard instanceof Dashboard) dashboard.close();
  writeFileSync(file, JSON.stringify(figures));
}

function countOutput(stream: NodeJS.WriteStream): () => Pick<ScreenFigures, "frames" | "bytes"> {
  const write = stream.write.bind(stream);
  let frames = 0;
  let bytes = 0;
  stream.write = (chunk: string | Uint8Array) => {
    if (String(chunk).startsWith(FRAME)) frames += 1;
    bytes += Buffer.byteLength(chunk);
    return write(chunk);
  };
  return () => ({ frames, bytes });
}

const STATES = ["in_progress", "awaiting_review", "blocked", "in_progress", "awaiting_review", "done", "pending"];

function moveKey(ids: readonly string[], update: number): UnsealedRecord {
  const effects = Array.from({ length: MOVED }, (_, index): RecordedEffect => {
    const place = (update * MOVED + index) * 7;
    const to = STATES[place % STATES.length] ?? "pending";
    return { ticket_id: ids[place % ids.length] ?? "", from: "pending", event: "moved", to };
  });
  return recordOf("timer_fired", { timer_id: `n${update}` }, { effects });
}

function planned(ids: readonly string[]): UnsealedRecord {
  const tasks = ids.map((task_id, index) => ({
    task_id,
    description: `The work of ticket ${index}, in a title of the usual length`,
    dependencies: index === 0 ? [] : [`T-${Math.floor(index / 2)}`],
  }));
  const changed = tasks.map(({ task_id, dependencies }, order) => ({
    ...{ ticket_id: task_id, title_at: `/tasks/${order}/description`, depends_on: dependencies, order },
  }));
  const effects = ids.map((ticket_id) => ({ ticket_id, from: null, event: "created", to: "pending" }));
  return recordOf("plan", { summary: "Much", tasks }, { state: "running", effects, changed });
}

function opened(): UnsealedRecord {
  return recordOf("session_opened", {
    mode: "schedule",
    requirement: "Do much",
    roles: [],
    config: { max_workers: 8 },
  });
}

function recordOf(payload_type: string, payload: JsonObject, more: Partial<RecordMeta> = {}): UnsealedRecord {
  const at = new Date().toISOString();
  return {
    session_id: "s-bench1",
    timestamp: at,
    source: "scheduler",
    target: "session",
    payload_type,
    version: "1.0",
    payload,
    record: { kind: "fact", received_at: at, disposition: "applied", ...more },
  };
}

function opening() {
  return {
    session_id: "s-bench1",
    version: "0.0.0",
    requirement: "Do much",
    workspace: "/",
    output: "/",
    resumed: false,
    kill_grace_s: 5,
    now: () => ({
      state: "running",
      counts: {},
      turns: 0,
      usage: undefined,
      waiting: 0,
      running: [],
      checking: [],
      held: [],
    }),
    counts: () => ({}),
    earlier: [],
    presentation: () => schedulePresentation,
    time: Date.now,
  };
}
