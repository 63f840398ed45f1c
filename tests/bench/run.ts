/**
 * `npm run bench [-- ARM… --quick --rounds N --profile DIRECTORY]`: measures Bosun beside its floor in the
 * same run. Absolute figures say little; the ratios say what Bosun costs. No test asserts them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundled } from "./bundled.ts";
import type { Extent } from "./measure.ts";

const ARMS: Readonly<Record<string, () => Promise<{ measure: (extent: Extent) => Promise<void> }>>> = {
  tickets: () => import("./tickets.ts"),
  dag: () => import("./dag.ts"),
  startup: () => import("./startup.ts"),
  replay: () => import("./replay.ts"),
  resume: () => import("./resume.ts"),
  children: () => import("./children.ts"),
  dashboard: () => import("./dashboard.ts"),
  html: () => import("./html.ts"),
  hostile: () => import("./hostile.ts"),
  harness: () => import("./harness.ts"),
  prompts: () => import("./prompts.ts"),
  copies: () => import("./copies.ts"),
  coop: () => import("./coop.ts"),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    profile: { type: "string" },
  },
});

const names = positionals.length > 0 ? positionals : Object.keys(ARMS);
const unknown = names.filter((name) => !(name in ARMS));
if (unknown.length > 0) {
  console.error(`There is no benchmark "${unknown.join('", "')}". There are: ${Object.keys(ARMS).join(", ")}.`);
  process.exit(2);
}
const scratch = mkdtempSync(join(os.tmpdir(), "bosun-bench-"));
await bundled(async (program) => {
  const extent: Extent = {
    quick: values.quick,
    rounds: Number(values.rounds ?? (values.quick ? 1 : 3)),
    profile: values.profile,
    program,
    scratch,
  };
  const load = os.loadavg()[0]?.toFixed(1);
  console.log(
    `Node ${process.version}, ${os.cpus().length} processors, load ${load}; medians of ${extent.rounds} rounds`,
  );
  for (const name of names) await (await ARMS[name]?.())?.measure(extent);
}).finally(() => rmSync(scratch, { recursive: true, force: true }));
