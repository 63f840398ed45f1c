// The sweep one floor below: real system calls of the scheduler fail, one after the other, by strace's injection. Not a part of the
// tests, since it takes minutes and needs ptrace:
//
//   node tests/failures/system-calls.ts [every n-th call, 1 by default]
//
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { faultsOfEnd, faultsOfMessage, faultsOfRest, leave, newScene, reportOf } from "./scene.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const STEP = Number(process.argv[2] ?? 1);

/** Which calls, on which files of the home, fail with what. */
const INJECTIONS = [
  { call: "pwrite64", error: "ENOSPC", files: ["bosun.db", "bosun.db-wal", "bosun.db-journal"] },
  { call: "pwrite64", error: "EIO", files: ["bosun.db", "bosun.db-wal", "bosun.db-journal"] },
  { call: "fdatasync", error: "EIO", files: ["bosun.db", "bosun.db-wal", "bosun.db-journal"] },
  { call: "fsync", error: "EIO", files: ["", "bosun.db", "bosun.db-wal"] },
  { call: "ftruncate", error: "ENOSPC", files: ["bosun.db", "bosun.db-wal", "bosun.db-shm"] },
  { call: "write", error: "ENOSPC", files: ["logs/SESSION/events.log", "logs/SESSION/.publishing"] },
  { call: "write", error: "EIO", files: ["logs/SESSION/events.log", "logs/SESSION/.publishing"] },
  { call: "rename", error: "EIO", files: ["logs/SESSION/.publishing"] },
] as const;

const build = mkdtempSync(join(ROOT, "node_modules", ".cache", "bosun-build-"));
process.env.BOSUN_BUILD = build;
try {
  execFileSync(process.execPath, [join(ROOT, "build.config.ts"), build], { cwd: ROOT });
  const undisturbed = await report();
  let wrong = 0;
  for (const injection of INJECTIONS) {
    let at = 1;
    const codes = new Map<number | null, number>();
    for (; ; at += STEP) {
      const tried = await trial(injection, at, undisturbed);
      if (tried === undefined) break;
      codes.set(tried.code, (codes.get(tried.code) ?? 0) + 1);
      wrong += tried.faults.length;
      for (const fault of tried.faults) process.stdout.write(`  call ${at}: ${fault}\n`);
    }
    const ended = [...codes].map(([code, times]) => `${times} × exit ${code}`).join(", ");
    process.stdout.write(`${injection.call} ${injection.error}: ${at - 1} calls; ${ended || "none"}\n`);
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

/** What came of it; undefined if there was no such call any more. */
async function trial(
  { call, error, files }: (typeof INJECTIONS)[number],
  at: number,
  undisturbed: unknown,
): Promise<{ code: number | null; faults: string[] } | undefined> {
  const scene = newScene();
  try {
    const trace = join(scene.directory, "trace");
    const paths = files.flatMap((file) => ["-P", join(scene.home, file.replace("SESSION", scene.session_id))]);
    const under = ["strace", "-f", "-qq", "-o", trace, ...paths, "-e", `trace=${call}`];
    const done = await scene.run({ under: [...under, "-e", `inject=${call}:error=${error}:when=${at}`] });
    if (!readFileSync(trace, "utf8").includes("(INJECTED)")) return undefined;
    const faults = faultsOfEnd(done, [0, 3]);
    if (done.code === 3) faults.push(...faultsOfMessage(scene, done));
    if (done.code !== 0) {
      const resumed = await scene.resume();
      const last = resumed.code === 2 ? await scene.run() : resumed;
      faults.push(...faultsOfEnd(last, [0]).map((fault) => `afterwards ${fault} ${last.stderr}`));
    }
    if (!isDeepStrictEqual(reportOf(scene), undisturbed)) faults.push("another final report");
    return { code: done.code, faults: [...faults, ...(await faultsOfRest(scene))] };
  } finally {
    leave(scene);
  }
}
