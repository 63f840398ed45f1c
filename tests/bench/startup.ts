import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Extent,
  inProcess,
  newDirectory,
  interleaved,
  median,
  PROGRAM,
  table,
  target,
  wallTime,
} from "./measure.ts";
import { SESSION, type SessionOrder } from "./sessions.ts";

/** The start-up time of short commands, beside an empty program on the same Node. */
export async function measure(extent: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\nstartup: left out, because the program is not built (npm run build).");
    return;
  }
  const home = newDirectory(extent);
  const order: SessionOrder = { home, shape: { tasks: 10, layers: 1 }, max_workers: 2, files: true };
  await inProcess("session", order, { ...extent, profile: undefined });
  const empty = join(home, "empty.mjs");
  writeFileSync(empty, "");
  const arms = {
    empty: () => wallTime(process.execPath, [empty]),
    version: () => wallTime(process.execPath, [PROGRAM, "--version"]),
    status: () => wallTime(process.execPath, [PROGRAM, "--home", home, "status", SESSION]),
  };
  const results = await interleaved(extent.quick ? 7 : 25, arms);
  const floor = median(results.empty);
  const version = median(results.version);
  const status = median(results.status);
  table(
    "startup: from the start of the process to its end",
    ["", "ms", "x empty"],
    [
      ["node empty", floor, 1],
      ["bosun --version", version, version / floor],
      ["bosun status", status, status / floor],
    ],
  );
  target("--version in ms", version, "<= 45, or 1.8 x empty", version <= Math.max(45, 1.8 * floor));
  target("status in ms", status, "<= 65, or 2.6 x empty", status <= Math.max(65, 2.6 * floor));
}
