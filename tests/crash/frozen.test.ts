import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import SqliteDatabase from "better-sqlite3";
import type { CrashPoint } from "../../src/lib/crash-point.ts";
import { lockPath } from "../../src/store/lock.ts";
import { wasBegun } from "./fate.ts";
import { begin, cleanUp, newPlace, type Place, resume, type Started, start } from "./place.ts";
import { frozen } from "./freeze.ts";
import { holding, WORK } from "./scenarios.ts";
import { violationsOf } from "./violations.ts";
import { until } from "../commands/rig.ts";
import { living } from "../processes.ts";

afterEach(cleanUp);

/** Begins a session whose scheduler freezes at the nth passing of a point. */
async function freeze(point: CrashPoint, passing: number, scenario = WORK): Promise<{ place: Place; holder: Started }> {
  const place = newPlace(scenario);
  const holder = start(place, begin(place), { crash_at: `${point}:${passing}:SIGSTOP` });
  await until(`the scheduler to freeze at ${point}`, () => frozen(holder.child.pid));
  return { place, holder };
}

/** Loses the lock, as a network file system may after an outage of its server. */
function loseLock({ home, session_id }: Place): void {
  rmSync(lockPath(home, session_id));
}

/** The contents of all files and rows that a scheduler writes. An agent that was started and told nothing (`born`) has done nothing. */
function everything({ home, session_id, workspace }: Place): Record<string, string> {
  const found: Record<string, string> = { rows: JSON.stringify(rows(home)) };
  const folders = [join(home, "logs", session_id), join(home, "sessions", session_id), workspace];
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      if (statSync(path).isFile() && !name.includes("owner.lock"))
        found[path] = readFileSync(path, "latin1").replaceAll(/^born \d+\n/gm, "");
    }
  }
  return found;
}

function rows(home: string): unknown {
  const database = new SqliteDatabase(join(home, "bosun.db"), { readonly: true });
  const tables = ["sessions", "records", "state", "artifacts", "inbox"];
  const all = tables.map((table) => database.prepare(`SELECT * FROM ${table}`).all());
  database.close();
  return all;
}

describe("a scheduler that was frozen while another took its session over", () => {
  it.each<[CrashPoint, number]>([
    ["lock_taken", 1],
    ["caught_up", 1],
    ["after_commit", 1],
    ["record_written", 9],
    ["events_appended", 6],
    ["after_publish", 7],
    ["after_effects", 7],
    ["turn_spawned", 2],
    ["turn_pid_committed", 2],
    ["turn_given", 2],
    ["turn_heard", 2],
    ["artifact_kept", 1],
    ["answer_held", 2],
    ["check_spawned", 1],
    ["check_running", 1],
    ["check_ended", 1],
    ["timer_due", 1],
    ["given_file_written", 1],
  ])("writes nothing more and exits 7 (frozen at %s, passing %i)", async (point, passing) => {
    const { place, holder } = await freeze(point, passing);
    loseLock(place);
    const next = await start(place, wasBegun(place) ? resume(place) : begin(place)).ended;
    expect(next.stderr).toBe("");
    expect(next.code).toBe(0);
    const before = everything(place);
    holder.child.kill("SIGCONT");
    const ended = await holder.ended;
    expect(ended).toMatchObject({ code: 7, signal: null });
    // Frozen before it created the session, it finds its successor's.
    const [said, why] =
      point === "lock_taken"
        ? [ended.stderr, `${place.session_id} already exists`]
        : [ended.stdout, "no longer holds the session"];
    expect(said).toContain(why);
    expect(everything(place)).toEqual(before);
    expect(living(place.session_id)).toEqual([]);
    expect(doubles(place)).toEqual([]);
  });

  it.each<[CrashPoint, number]>([
    ["after_commit", 5],
    ["after_effects", 4],
    ["turn_spawned", 2],
    ["turn_pid_committed", 2],
  ])("leaves its working successor alone (frozen at %s, passing %i)", async (point, passing) => {
    const { place, holder } = await freeze(point, passing, holding(1));
    loseLock(place);
    const next = start(place, wasBegun(place) ? resume(place) : begin(place));
    // The worker of the frozen scheduler may still run.
    await until("the successor's worker to begin", () => beganUnder(place, next.child.pid));
    const workers = begun(place);
    holder.child.kill("SIGCONT");
    expect(await holder.ended).toMatchObject({ code: 7, signal: null });
    expect(begun(place)).toBe(workers);
    writeFileSync(join(place.workspace, "go"), "");
    expect((await next.ended).code).toBe(0);
    expect(doubles(place)).toEqual([]);
    expect(await violationsOf(place, { kills: ["random"], lives: 2, words: 0, violations: [] }, undefined)).toEqual([]);
  });

  it("leaves a successor alone that has not written yet", async () => {
    const { place, holder } = await freeze("answer_held", 1);
    loseLock(place);
    const next = start(place, resume(place), { crash_at: "lock_taken:1:SIGSTOP" });
    await until("the successor to hold it", () => frozen(next.child.pid));
    const before = everything(place);
    holder.child.kill("SIGCONT");
    expect(await holder.ended).toMatchObject({ code: 7, signal: null });
    expect(everything(place)).toEqual(before);
    next.child.kill("SIGCONT");
    expect((await next.ended).code).toBe(0);
    expect(doubles(place)).toEqual([]);
  });

  it("cannot be stopped: exit 7 names its process and --take-over", { timeout: 120_000 }, async () => {
    const { place, holder } = await freeze("answer_held", 1);
    const stopped = await start(place, ["stop", place.session_id]).ended;
    expect([stopped.code, stopped.stdout]).toEqual([7, ""]);
    expect(stopped.stderr).toContain(`process ${holder.child.pid} on `);
    expect(stopped.stderr).toContain(`bosun resume ${place.session_id} --take-over`);
    holder.child.kill("SIGCONT");
    expect((await holder.ended).code).toBe(130);
  });

  it("notices within seconds even if it is idle", async () => {
    const place = newPlace(holding(1));
    const holder = start(place, begin(place));
    await until("the worker to begin", () => begun(place) > 0);
    const paused = await start(place, ["pause", place.session_id]).ended;
    expect(paused.code).toBe(0);
    writeFileSync(join(place.workspace, "go"), "");
    await until("nothing to be left to do", () => recordsOf(place, "check_result") > 0);
    holder.child.kill("SIGSTOP");
    await until("it to freeze", () => frozen(holder.child.pid));
    loseLock(place);
    expect((await start(place, resume(place)).ended).code).toBe(0);
    const before = everything(place);
    holder.child.kill("SIGCONT");
    expect(await holder.ended).toMatchObject({ code: 7, signal: null });
    expect(everything(place)).toEqual(before);
  });
});

function marked({ workspace }: Place, beginning: string): string[] {
  const file = join(workspace, "marks");
  const marks = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return marks.filter((mark) => mark.startsWith(beginning));
}

/** Whether a worker of this process has begun. */
function beganUnder(place: Place, pid: number | undefined): boolean {
  return marked(place, "start hold").some((mark) => parentOf(mark.split(" ")[3]) === pid);
}

/** Undefined if the process is gone. */
function parentOf(pid: string | undefined): number | undefined {
  try {
    return Number(
      readFileSync(`/proc/${pid}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ")[1],
    );
  } catch {
    return undefined;
  }
}

function recordsOf({ home, session_id }: Place, type: string): number {
  return readdirSync(join(home, "logs", session_id)).filter((name) => name.endsWith(`-${type}.json`)).length;
}

function doubles(place: Place): string[] {
  return marked(place, "double");
}

function begun(place: Place): number {
  return marked(place, "start hold-0").length;
}
