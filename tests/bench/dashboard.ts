import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ScreenFigures, ScreenOrder } from "./dashboard-screen.ts";
import { type Extent, interleaved, medianOf, newDirectory, table, target } from "./measure.ts";

const COLUMNS = 140;
const ROWS = 40;

/** The dashboard in a real terminal (tmux) while fifty records a second move a thousand tickets; the floor is the model without a screen. */
export async function measure(extent: Extent): Promise<void> {
  if (spawnSync("tmux", ["-V"]).error) {
    console.log("\ndashboard: not measured, because there is no tmux here");
    return;
  }
  const ms = extent.quick ? 3_000 : 5_000;
  const arm = (tickets: number, screen: boolean) => () => inTerminal({ tickets, ms, screen }, extent);
  // Each process warms itself.
  const results = await interleaved(
    extent.rounds,
    { floor: arm(10_000, false), small: arm(100, true), large: arm(10_000, true) },
    0,
  );
  const row = (name: string, all: readonly ScreenFigures[]) => [
    name,
    ...[
      (one: ScreenFigures) => one.updates,
      (one: ScreenFigures) => one.cpu,
      (one: ScreenFigures) => one.rss,
      (one: ScreenFigures) => one.held,
      (one: ScreenFigures) => one.delay,
      (one: ScreenFigures) => one.frames / (ms / 1e3),
      (one: ScreenFigures) => one.bytes / one.frames,
    ].map((figure) => medianOf(all, figure)),
  ];
  table(
    `dashboard: ${COLUMNS}x${ROWS}, 50 records a second that move 1,000 tickets a second, ${ms / 1e3} s`,
    ["", "updates/s", "% of a core", "RSS MiB", "without V8's room", "delay p99 ms", "frames/s", "bytes/frame"],
    [
      row("the model, 10,000 tickets", results.floor),
      row("100 tickets", results.small),
      row("10,000 tickets", results.large),
    ],
  );
  const cpu = medianOf(results.large, (one) => one.cpu);
  const held = medianOf(results.large, (one) => one.held);
  target("% of a core for 10,000 tickets", cpu, "15", cpu <= 15);
  target("MiB for 10,000 tickets, without V8's room", held, "150", held <= 150);
}

let terminals = 0;

async function inTerminal(order: Omit<ScreenOrder, "file">, extent: Extent): Promise<ScreenFigures> {
  const file = join(newDirectory(extent), "figures.json");
  terminals += 1;
  const socket = `bosun-bench-${process.pid}-${terminals}`;
  const tmux = (...args: string[]) => void execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...args]);
  const profiled = extent.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${extent.profile}`];
  const words = [
    process.execPath,
    "--expose-gc",
    ...profiled,
    extent.program,
    "dashboard",
    JSON.stringify({ ...order, file }),
  ];
  const command = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  tmux("new-session", "-d", "-x", `${COLUMNS}`, "-y", `${ROWS}`, `${command} 2> '${file}.err'; sleep 1`);
  try {
    for (let waited = 0; !existsSync(file); waited += 100) {
      if (waited > order.ms + 30_000)
        throw new Error(`the dashboard wrote no figures: ${readFileSync(`${file}.err`, "utf8")}`);
      await delay(100);
    }
    await delay(50);
    return JSON.parse(readFileSync(file, "utf8")) as ScreenFigures;
  } finally {
    spawnSync("tmux", ["-L", socket, "kill-server"]);
  }
}
