import { join } from "node:path";
import type { HostileOrder, Lateness } from "./hostile-session.ts";
import { type Extent, inProcess, interleaved, median, medianOf, newDirectory, table, target } from "./measure.ts";

const MIB = 1024 * 1024;

/** `quiet` agents only answer: the floor. */
const FLOOR = "quiet";
const MODES = [
  FLOOR,
  ...["keys", "keys-metadata", "keys-number", "keys-sparse", "keys-long", "keys-twice", "keys-each"],
  ...["most-keys", "most-sparse", "most-each", "most-lists", "most-texts", "most-nested", "most-unknown"],
  ...["lists", "items", "outputs", "texts", "text", "text-progress", "text-late", "escapes", "number", "spaces"],
  ...["nested", "deeper", "broken", "latin1", "cut", "plan"],
  ...["console", "console-json", "console-long", "stderr", "stderr-long"],
  ...["progress", "refused", "late", "twice"],
  ...[
    "claude-keys",
    "claude-text",
    "claude-lists",
    "claude-flood",
    "claude-braces",
    "claude-objects",
    "claude-keys-text",
  ],
  ...["codex-text", "codex-lists", "codex-flood"],
];
const QUICK_MODES = [FLOOR, "keys", "refused"];

/** So much may everything else be late. */
const MAX_DELAY_MS = 200;

/** Eight hostile programs at once beside an honest one, in each way of being hostile. */
export async function measure(extent: Extent): Promise<void> {
  const agents = extent.quick ? 2 : 8;
  const bytes = (extent.quick ? 2 : 16) * MIB;
  const chosen = process.env["BOSUN_HOSTILE"]?.split(",");
  const modes = chosen ?? (extent.quick ? QUICK_MODES : MODES);
  const worker = join(import.meta.dirname, "hostile-worker.ts");
  const once = (mode: string) => () => {
    const order: HostileOrder = { home: newDirectory(extent), worker, mode, agents, bytes };
    return inProcess<Lateness>("hostile", order, extent);
  };
  const results = await interleaved(extent.rounds, Object.fromEntries(modes.map((mode) => [mode, once(mode)])));
  const figures = (all: readonly Lateness[]) => [
    medianOf(all, ({ p50 }) => p50),
    medianOf(all, ({ p99 }) => p99),
    medianOf(all, ({ max }) => max),
    medianOf(all, ({ own_p99 }) => own_p99),
    medianOf(all, ({ own_max }) => own_max),
    medianOf(all, ({ told_p50 }) => told_p50),
    medianOf(all, ({ told_max }) => told_max),
    medianOf(all, ({ took }) => took / 1_000),
  ];
  table(
    `hostile: ${agents} hostile programs at once, ${bytes / MIB} MiB each, beside an honest one; the delay of the event loop, its own without waiting for a processor, and that of the honest one's messages until they are on record, in ms`,
    ["", "p50", "p99", "max", "own p99", "own max", "told p50", "told max", "s"],
    modes.map((mode) => [mode, ...figures(results[mode] ?? [])]),
  );
  const worst = Math.max(...modes.map((mode) => median((results[mode] ?? []).map(({ own_p99 }) => own_p99))));
  target("worst own p99 of the event loop's delay in ms", worst, `<= ${MAX_DELAY_MS}`, worst <= MAX_DELAY_MS);
}
