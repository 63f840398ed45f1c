import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Extent,
  inProcess,
  newDirectory,
  interleaved,
  median,
  medianOf,
  PROGRAM,
  table,
  target,
  wallTime,
} from "./measure.ts";
import { SESSION, type SessionOrder } from "./sessions.ts";

/**
 * Resumes a large session, stopped after its first tickets, with the built program: from process start to the start of the first agent,
 * which leaves a mark. Beside an empty program and a read of the same state.
 */
export async function measure(extent: Extent): Promise<void> {
  if (!existsSync(PROGRAM)) {
    console.log("\nresume: left out, because the program is not built (npm run build).");
    return;
  }
  const tasks = extent.quick ? 10_000 : 100_000;
  const scratch = newDirectory(extent);
  const agent = join(scratch, "agent.sh");
  writeFileSync(agent, 'echo "$BOSUN_TURN_ID" >> "${0%/*}/started"\n');
  const [stopped, killed] = [join(scratch, "stopped"), join(scratch, "killed")];
  const order: SessionOrder = {
    home: stopped,
    shape: { tasks, layers: 10 },
    max_workers: 4,
    files: true,
    program: ["sh", agent],
    leave: { after: 200, copy: killed },
  };
  await inProcess("session", order, { ...extent, profile: undefined });
  const empty = join(scratch, "empty.mjs");
  writeFileSync(empty, "");
  const results = await interleaved(extent.rounds, {
    empty: () => wallTime(process.execPath, [empty]),
    load: () => inProcess<{ working: number }>("load-floor", { home: stopped }, { ...extent, profile: undefined }),
    stopped: () => firstAgent(stopped, join(scratch, "started"), extent),
    killed: () => firstAgent(killed, join(scratch, "started"), extent),
  });
  const floor = median(results.empty) + medianOf(results.load, ({ working }) => working);
  const rows = [
    ["node empty and every value read", floor],
    ["after an orderly stop", median(results.stopped)],
    ["after SIGKILL", median(results.killed)],
  ] as const;
  table(
    `resume: ${tasks.toLocaleString("en-US")} tickets, from the start of the process to the start of the first agent`,
    ["", "ms", "x floor"],
    rows.map(([name, ms]) => [name, ms, ms / floor]),
  );
  target("resume after a stop in ms", rows[1][1], "<= 250", rows[1][1] <= 250);
  target("resume after SIGKILL in ms", rows[2][1], "<= 500", rows[2][1] <= 500);
}

/** Resumes a copy of the home's session until the first agent has started, in ms. */
async function firstAgent(home: string, mark: string, extent: Extent): Promise<number> {
  const scratch = newDirectory(extent);
  const copy = join(scratch, "home");
  cpSync(home, copy, { recursive: true });
  writeFileSync(mark, "");
  const watcher = watch(mark);
  const profiled = extent.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${extent.profile}`];
  const began = performance.now();
  const resume = [PROGRAM, "--home", copy, "resume", SESSION];
  const bosun = spawn(process.execPath, [...profiled, ...resume], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  bosun.stderr.on("data", (text: Buffer) => (said += text.toString("utf8")));
  const exited = once(bosun, "close");
  while (readFileSync(mark, "utf8") === "") {
    await Promise.race([once(watcher, "change"), exited]);
    if (bosun.exitCode !== null) throw new Error(`bosun resume ended with ${bosun.exitCode}: ${said}`);
  }
  const took = performance.now() - began;
  watcher.close();
  // Only a process that exits by itself writes its profile.
  bosun.kill(extent.profile === undefined ? "SIGKILL" : "SIGINT");
  await exited;
  return took;
}
