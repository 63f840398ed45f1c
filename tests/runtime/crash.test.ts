import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { TASKS } from "./crash-crew.ts";
import { cleanUp, living, logOf, newRig, reportOf, type Rig, sessionId } from "./rig.ts";

const children = new Set<ChildProcess>();

afterEach(async () => {
  for (const child of children) {
    const gone = once(child, "exit");
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await gone;
    }
  }
  children.clear();
  await cleanUp();
});

interface Life {
  readonly end: string | number | null;
  readonly records: readonly string[];
}

/** One scheduler's life, which ends by itself, at the commit that `death` names, or when `fatal` says so of a record. */
function start(
  rig: Rig,
  session_id: string,
  death = "",
  fatal: (line: string) => boolean = () => false,
): { readonly child: ChildProcess; readonly life: Promise<Life> } {
  const script = join(import.meta.dirname, "children/scheduler.ts");
  const child = spawn(process.execPath, [script, rig.home, rig.workspace, session_id, death], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  children.add(child);
  const exit = once(child, "exit") as Promise<[number | null, string | null]>;
  const follow = async (): Promise<Life> => {
    const records: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      records.push(line);
      if (fatal(line)) child.kill("SIGKILL");
    }
    const [code, signal] = await exit;
    return { end: signal ?? code, records };
  };
  return { child, life: follow() };
}

function live(rig: Rig, session_id: string, death = "", fatal?: (line: string) => boolean): Promise<Life> {
  return start(rig, session_id, death, fatal).life;
}

/** The report without what a crash may change. */
function essence(rig: Rig, session_id: string): JsonObject {
  const {
    started_at: _,
    finished_at: __,
    usage: ___,
    recoveries: ____,
    log: _____,
    session_id: ______,
    ...rest
  } = reportOf(rig, session_id);
  const text = JSON.stringify(rest).replaceAll(rig.home, "HOME").replaceAll(session_id, "SESSION");
  return JSON.parse(text) as JsonObject;
}

let undisturbed: JsonObject;
let commits = 0;

beforeAll(async () => {
  const rig = newRig();
  const session_id = sessionId();
  const { end, records } = await live(rig, session_id);
  if (end !== 0) throw new Error(`The undisturbed session ended with ${end}.`);
  undisturbed = essence(rig, session_id);
  commits = records.length;
  await cleanUp();
});

/** Whatever happened before: the session goes on to its end, as if nothing had happened. */
async function expectSameEnd(rig: Rig, session_id: string, deaths: number): Promise<void> {
  expect((await live(rig, session_id)).end).toBe(0);
  expect(essence(rig, session_id)).toEqual(undisturbed);
  expect(living(session_id)).toEqual([]);
  const marks = readFileSync(join(rig.workspace, "marks"), "utf8").trim().split("\n");
  expect(marks.filter((mark) => mark.startsWith("double"))).toEqual([]);
  const log = logOf(rig, session_id);
  for (const { task_id } of TASKS) {
    const done = log
      .flatMap(({ record }) => record.effects ?? [])
      .filter(({ ticket_id, to }) => ticket_id === task_id && to === "done");
    expect(done).toHaveLength(1);
  }
  const recoveries = log.filter(({ payload_type }) => payload_type === "session_recovered");
  expect(recoveries.length).toBeLessThanOrEqual(deaths);
  // Each repeated turn has a higher run, and only what was open is repeated.
  const runs = new Map<unknown, number>();
  for (const { record, payload_type } of log) {
    if (payload_type !== "turn_request") continue;
    expect(record.run ?? 0).toBeGreaterThan(runs.get(record.turn_id) ?? 0);
    runs.set(record.turn_id, record.run ?? 0);
  }
}

describe("a scheduler that is killed", () => {
  it.each([
    ["turn_request", "a"],
    ["report", "b"],
    ["check_result", "a"],
    ["review", "d"],
    ["turn_request", "e"],
  ])("right after the %s of %s is durable is taken up by the next, to the same end", async (type, ticket) => {
    const rig = newRig();
    const session_id = sessionId();
    const first = await live(rig, session_id, "", (line) => line.endsWith(` ${type} ${ticket}`));
    expect(first.end).toBe("SIGKILL");
    await expectSameEnd(rig, session_id, 1);
  });

  it.each(["before", "after"])(
    "%s one of its commits, again and again, is taken up to the same end",
    async (moment) => {
      const rig = newRig();
      const session_id = sessionId();
      const seed = Number(process.env["BOSUN_SEED"] ?? Date.now() % 100_000);
      let deaths = 0;
      for (let life = 0; life < 3; life += 1) {
        const at = 1 + ((seed * 31 + life * 7919) % Math.ceil(commits / 3));
        const { end } = await live(rig, session_id, `${moment}:${at}`);
        if (end === 0) break;
        expect(end, `seed ${seed}`).toBe("SIGKILL");
        deaths += 1;
      }
      expect(deaths, `seed ${seed}`).toBeGreaterThan(0);
      await expectSameEnd(rig, session_id, deaths);
    },
  );

  it("after its last commit leaves the report and the files of the log to whoever resumes", async () => {
    const rig = newRig();
    const session_id = sessionId();
    expect((await live(rig, session_id, "closed")).end).toBe("SIGKILL");
    expect(rig.store.sessions()).toMatchObject([{ outcome: "done" }]);
    expect(existsSync(join(rig.home, "sessions", session_id, "final_report.json"))).toBe(false);
    expect(logOf(rig, session_id, "session_closed")).toEqual([]);
    await expectSameEnd(rig, session_id, 0);
  });
});

describe("what a killed scheduler left running", () => {
  it("is ended before anything is begun again", async () => {
    const rig = newRig();
    const session_id = sessionId();
    writeFileSync(join(rig.workspace, "hold.a"), "");
    writeFileSync(join(rig.workspace, "hold.b"), "");
    const held = ["held.a", "held.b"].map((name) => join(rig.workspace, name));
    const first = start(rig, session_id);
    await vi.waitFor(() => expect(held.every((path) => existsSync(path))).toBe(true), {
      timeout: 20_000,
      interval: 10,
    });
    first.child.kill("SIGKILL");
    expect((await first.life).end).toBe("SIGKILL");
    const left = living(session_id);
    expect(left.length).toBeGreaterThanOrEqual(2);
    await expectSameEnd(rig, session_id, 1);
    expect(left.filter((pid) => living(session_id).includes(pid))).toEqual([]);
    const again = logOf(rig, session_id, "turn_request").filter(({ record }) => record.run === 2);
    expect(new Set(again.map(({ record }) => record.ticket_id))).toEqual(new Set(["a", "b"]));
  });
});
