import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { KitState } from "../../src/kernel/kit/state.ts";
import { RUNTIME_COLLECTIONS } from "../../src/kernel/ledger.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { standingState } from "../../src/kernel/state.ts";
import { ok } from "../../src/lib/result.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { Debate, Debater } from "../../src/modes/debate/debate.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { StoredFeed } from "../../src/runtime/feed/stored.ts";
import { rebuild } from "../../src/runtime/rebuild.ts";
import { checkedState, checkSession, replayState, stateFromRecords } from "../../src/runtime/replayed-state.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { stateIn } from "../../src/runtime/stored-state.ts";
import { catchStorage } from "../../src/store/storage-error.ts";
import type { SessionRow } from "../../src/store/store.ts";
import { begin, openHome, proofOf, recordsOf, reportOf, SESSION } from "../debate/home.ts";
import { rolesAt } from "../debate/stage.ts";
import { failureOf, value } from "../results.ts";
import { temporaryDirectory } from "./rig.ts";
import { withLaterRows } from "./later-rows.ts";

type DebateMode = Mode<KitState<Debate, Debater>>;

const LATER = withLaterRows(debateMode);
const OTHER_RULES = { ...LATER, rules: debateMode.rules + 1 };
const RESUMER = join(import.meta.dirname, "children/later-rows.ts");

type Stop = "stopped" | "waiting" | "closed";

/** Agents that answer at once, except that the judge waits to be stopped, or to be logged in. */
function crew(judge: () => Stop): Agent {
  return scriptedAgent(({ role, payload }, { signal }) => {
    const round = Number(payload.context.metadata?.["round"]);
    if (role.role_id !== "judge")
      return { payload_type: "opinion", payload: { round, position: `${role.role_id} ${round}` } };
    if (judge() === "waiting") return { failure: failure("authentication", "Who are you?"), refused: [] };
    if (judge() === "stopped") return new Promise<never>(() => signal.throwIfAborted());
    return { payload_type: "verdict", payload: { conclusion: "Both." } };
  });
}

interface Home {
  readonly around: Surroundings;
  /** From now on the judge concludes. */
  readonly wake: () => void;
}

/** A debate that this mode began, and its scheduler has left. */
async function left(stop: Stop, mode: DebateMode = debateMode): Promise<Home> {
  let judge = stop;
  const around = openHome(
    temporaryDirectory(),
    crew(() => judge),
  );
  onTestFinished(() => around.store.close());
  const session = await begin(around, rolesAt("unused"), {}, {}, mode);
  const ended = session.run({ waitForPeople: false });
  if (stop === "stopped") {
    await expect
      .poll(() => [...session.ledger.turns.values()].map(({ status, role_id }) => [status, role_id]))
      .toEqual([["open", "judge"]]);
    session.stop("signal", "for now");
  }
  expect(value(await ended)).toMatchObject(
    stop === "waiting" ? { kind: "stopped", reason: "waiting" } : { kind: stop },
  );
  return { around, wake: () => void (judge = "closed") };
}

function rowOf({ store }: Surroundings): SessionRow {
  const [row] = store.sessions();
  if (row === undefined) throw new Error("there is no session");
  return row;
}

const resume = (around: Surroundings, mode: DebateMode) => resumeSession(around, mode, rowOf(around));

/** The rows of a home's session, without those that tell of processes and time. */
function rowsOf({ home }: Surroundings): Map<string, unknown> {
  const database = new Database(join(home, "bosun.db"), { readonly: true });
  const rows = database.prepare<[], { collection: string; id: string; value: string }>("SELECT * FROM state").all();
  database.close();
  const kept = rows.filter(({ collection }) => collection === "rows" || !RUNTIME_COLLECTIONS.has(collection));
  return new Map(kept.map(({ collection, id, value: text }) => [`${collection} ${id}`, JSON.parse(text)]));
}

/** What the session's records lead to under a mode. */
function replayed({ store }: Surroundings, mode: DebateMode): Map<string, unknown> {
  const rows = replayState(mode, store.records(SESSION, 1))?.rows.values() ?? [];
  const all = Array.from(rows, ({ collection, id, value: one }): [string, unknown] => [`${collection} ${id}`, one]);
  return new Map([...all, ["rows version", mode.rows]]);
}

/** The state that a mode finds in the rows that are stored. */
async function shown({ store }: Surroundings, mode: DebateMode): Promise<unknown> {
  const stored = value(await store.load(SESSION));
  return standingState({ mode, ...stateIn(stored, mode) }, () => "");
}

async function shownFromRecords({ store }: Surroundings, mode: DebateMode): Promise<unknown> {
  const { session } = value(await store.load(SESSION));
  return standingState({ mode, ...stateFromRecords(store, session, mode) }, () => "");
}

describe("a session whose rows have another version than its mode's", () => {
  it.each<Stop>(["stopped", "waiting", "closed"])("is shown, resumed, finished and verified: %s", async (stop) => {
    const { around, wake } = await left(stop);
    expect(rowsOf(around)).toEqual(replayed(around, debateMode));
    expect(await shownFromRecords(around, LATER)).toEqual(await shown(around, debateMode));
    const report = stop === "closed" ? reportOf(around.home) : undefined;
    wake();
    const session = value(await resume(around, LATER));
    if (stop === "waiting")
      session.submit({
        source: "user",
        payload_type: "user_command",
        payload: { command: "release", role_id: "judge" },
      });
    expect(value(await session.run({ waitForPeople: false }))).toEqual({ kind: "closed", outcome: "done" });
    expect(rowsOf(around)).toEqual(replayed(around, LATER));
    expect(proofOf(around.home)).toMatchObject({ ok: true, decisions: "ok", completeness: "closed" });
    if (report) expect(reportOf(around.home)).toEqual(report);
  });

  it.each(["recovery_decided", "before_commit"])("keeps them if its scheduler dies at %s", async (point) => {
    const { around, wake } = await left("stopped");
    const before = rowsOf(around);
    const { last_sequence } = rowOf(around);
    await killed(around, point);
    expect(rowsOf(around)).toEqual(before);
    expect(rowOf(around)).toMatchObject({ last_sequence });
    wake();
    const session = value(await resume(around, LATER));
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    expect(proofOf(around.home).ok).toBe(true);
  });

  it("has all of them replaced with the records of the resume", async () => {
    const { around, wake } = await left("stopped");
    const { last_sequence } = rowOf(around);
    await killed(around, "after_commit");
    expect(recordsOf(around.home, "session_recovered")).toEqual([]);
    expect(around.store.payloadType(SESSION, last_sequence + 1)).toBe("session_recovered");
    expect(rowsOf(around)).toEqual(replayed(around, LATER));
    wake();
    const session = value(await resume(around, LATER));
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    expect(proofOf(around.home).ok).toBe(true);
  });

  it("is refused if other rules made it too, and stays as it is", async () => {
    const { around } = await left("stopped");
    const before = rowsOf(around);
    const refused = failureOf(await resume(around, OTHER_RULES));
    expect(refused).toMatchObject({ code: "environment", hint: "Use the version that began it." });
    expect(refused.message).toContain(`version 0.1.0 began it under rules ${debateMode.rules} of a debate`);
    const read = await catchStorage(async () => ok(await shownFromRecords(around, OTHER_RULES)));
    expect(failureOf(read)).toEqual(refused);
    expect(rowsOf(around)).toEqual(before);
    // Its records are checked all the same.
    await checkSession(around.store, rowOf(around), OTHER_RULES as Mode<unknown>);
  });

  it("is refused if a row of the engine is not what its records left", async () => {
    const { around } = await left("waiting");
    const database = new Database(join(around.home, "bosun.db"));
    expect(database.prepare("DELETE FROM state WHERE collection = 'hold'").run().changes).toBe(1);
    database.close();
    expect(failureOf(await resume(around, LATER))).toMatchObject({ code: "verification_failed" });
  });

  it("is followed from what its records lead to", async () => {
    const { around } = await left("stopped");
    const { store } = around;
    const feed = await StoredFeed.open({
      store,
      session_id: SESSION,
      output: around.home,
      first: 2,
      joins: true,
      loadReading: async () => LATER as Mode<unknown>,
      stateOf: async (_, { session }, mode) => stateFromRecords(store, session, mode as typeof mode & Mode<never>),
    });
    expect(feed.counts()).toEqual({ answered: 3 });
  });
});

describe("a session that is begun in a later version of rows", () => {
  it("has that version from its first commit on, and is resumed without a replay", async () => {
    const { around, wake } = await left("stopped", LATER);
    expect(rowsOf(around)).toEqual(replayed(around, LATER));
    let decided = 0;
    const counting: DebateMode = {
      ...LATER,
      decide: (state, fact) => {
        decided += 1;
        return LATER.decide(state, fact);
      },
    };
    const stored = value(await around.store.load(SESSION));
    expect(checkedState(around.store, stored, counting)?.rewrite).toEqual([]);
    expect(decided).toBe(0);
    wake();
    const session = value(await resume(around, LATER));
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    expect(rowsOf(around)).toEqual(replayed(around, LATER));
    expect(recordsOf(around.home, "session_recovered")).toHaveLength(1);
  });

  it("is rebuilt in that version", async () => {
    const { around } = await left("stopped", LATER);
    const before = rowsOf(around);
    around.store.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(around.home, `bosun.db${suffix}`), { force: true });
    const modes = new Map([["debate", LATER as Mode<unknown>]]);
    const { sessions } = value(await rebuild(around.home, [SESSION], [SESSION], modes, "old"));
    expect(sessions).toEqual([{ session_id: SESSION, became: "rebuilt" }]);
    expect(rowsOf(around)).toEqual(before);
    expect(before.get("rows version")).toBe(LATER.rows);
  });
});

it("a schedule's rows are those of version 1, as commands that read single values of it expect", () => {
  expect(scheduleMode.rows ?? 1).toBe(1);
});

/** Resumes the session in a process of its own under the later version, which dies at a crash point. */
async function killed({ home, store }: Surroundings, point: string): Promise<void> {
  const child = spawn(process.execPath, [RESUMER, home], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], BOSUN_CRASH_AT: point },
  });
  expect((await once(child, "exit"))[1]).toBe("SIGKILL");
  expect(store.holder(SESSION)).toBeUndefined();
}
