// The sweep one floor below: real system calls of the scheduler fail, one after the other, by strace's injection. Not a
// part of the tests, since it takes minutes and needs ptrace:
//
//   node tests/failures/system-calls.ts [every n-th call, 1 by default]
//
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  atOnce,
  type Done,
  faultsOfEnd,
  faultsOfMessage,
  faultsOfRest,
  leave,
  newScene,
  reportOf,
  type Scene,
} from "./scene.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const STEP = Number(process.argv[2] ?? 1);
/** Sessions at once. */
const WORKERS = 2;

const REPORTS = "sessions/SESSION/final_report";
const WRITTEN = ["logs/SESSION/events.log", "logs/SESSION/.publishing", `${REPORTS}.json.tmp`, `${REPORTS}.md.tmp`];

/** Which calls, on which files of the home, fail with what. */
const INJECTIONS = [
  { call: "pwrite64", error: "ENOSPC", files: ["bosun.db", "bosun.db-wal", "bosun.db-journal"] },
  { call: "pwrite64", error: "EIO", files: ["bosun.db", "bosun.db-wal", "bosun.db-journal"] },
  { call: "fsync", error: "EIO", files: ["", "bosun.db", "bosun.db-wal"] },
  { call: "ftruncate", error: "ENOSPC", files: ["bosun.db", "bosun.db-wal", "bosun.db-shm"] },
  { call: "write", error: "ENOSPC", files: WRITTEN },
  { call: "write", error: "EIO", files: WRITTEN },
  { call: "rename", error: "EIO", files: WRITTEN },
] as const;

const build = mkdtempSync(join(ROOT, "node_modules", ".cache", "bosun-build-"));
process.env.BOSUN_BUILD = build;
try {
  execFileSync(process.execPath, [join(ROOT, "build.config.ts"), build], { cwd: ROOT });
  const undisturbed = await report();
  let wrong = 0;
  for (const injection of INJECTIONS) {
    const calls = await callsOf(injection);
    const numbers = Array.from({ length: Math.ceil(calls / STEP) }, (_, index) => 1 + index * STEP);
    const codes = new Map<string, number>();
    const faults = await atOnce(
      numbers,
      async (at) => {
        const tried = await trial(injection, at, undisturbed);
        codes.set(tried.end, (codes.get(tried.end) ?? 0) + 1);
        return tried.faults.map((fault) => `  call ${at}: ${fault}\n`);
      },
      WORKERS,
    );
    wrong += faults.length;
    const ended = [...codes].map(([end, times]) => `${times} × ${end}`).join(", ");
    process.stdout.write(`${injection.call} ${injection.error}: ${numbers.length} of ${calls} calls; ${ended}\n`);
    for (const fault of faults) process.stdout.write(fault);
  }
  process.exitCode = wrong === 0 ? 0 : 1;
} finally {
  rmSync(build, { recursive: true, force: true });
}

async function report(): Promise<unknown> {
  const scene = newScene();
  try {
    await scene.run();
    return reportOf(scene);
  } finally {
    leave(scene);
  }
}

type Injection = (typeof INJECTIONS)[number];

/** The session under strace, which sees only these calls on these files; with `inject` one of them fails. */
async function traced(scene: Scene, { call, files }: Injection, inject: readonly string[]): Promise<[Done, string]> {
  const trace = join(scene.directory, "trace");
  const paths = files.flatMap((file) => ["-P", join(scene.home, file.replace("SESSION", scene.session_id))]);
  // With seccomp only the calls that are looked for stop the process, and not every one.
  const under = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", trace, ...paths, "-e", `trace=${call}`, ...inject];
  const done = await scene.run({ under });
  return [done, readFileSync(trace, "utf8")];
}

/** How many such calls a session makes. */
async function callsOf(injection: Injection): Promise<number> {
  const scene = newScene();
  try {
    const [, trace] = await traced(scene, injection, []);
    return trace.split("\n").filter((line) => line.includes(`${injection.call}(`)).length;
  } finally {
    leave(scene);
  }
}

/** The outcome of one failed call: the session's end, and what is wrong then and after a resume. */
async function trial(
  injection: Injection,
  at: number,
  undisturbed: unknown,
): Promise<{ end: string; faults: string[] }> {
  const scene = newScene();
  try {
    const { call, error } = injection;
    const [done, trace] = await traced(scene, injection, ["-e", `inject=${call}:error=${error}:when=${at}`]);
    // How often the clock lets the inbox be looked at differs, and so does what is written together.
    const met = trace.includes("(INJECTED)");
    const faults = faultsOfEnd(done, met ? [0, 3] : [0]);
    if (done.code === 3) faults.push(...faultsOfMessage(scene, done));
    if (done.code !== 0) {
      const resumed = await scene.resume();
      const last = resumed.code === 2 ? await scene.run() : resumed;
      faults.push(...faultsOfEnd(last, [0]).map((fault) => `afterwards ${fault} ${last.stderr}`));
    }
    if (!isDeepStrictEqual(reportOf(scene), undisturbed)) faults.push("another final report");
    return { end: met ? `exit ${done.code}` : "not reached", faults: [...faults, ...(await faultsOfRest(scene))] };
  } finally {
    leave(scene);
  }
}
