import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import { stateOf } from "../../src/commands/lookup/modes.ts";
import { RUNTIME_COLLECTIONS } from "../../src/kernel/ledger.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { ok } from "../../src/lib/result.ts";
import { readerOf } from "../../src/modes/index.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { StoredFeed } from "../../src/runtime/feed/stored.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { rebuild } from "../../src/runtime/rebuild.ts";
import { checkedState, checkSession, replayState, stateFromRecords } from "../../src/runtime/replayed-state.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { catchStorage } from "../../src/store/storage-error.ts";
import type { SessionRow } from "../../src/store/store.ts";
import { begin, openHome, recordsOf, SESSION } from "../debate/home.ts";
import { rolesAt } from "../debate/stage.ts";
import { failureOf, value } from "../results.ts";
import { earlierHome } from "./earlier-home.ts";
import { temporaryDirectory } from "./rig.ts";

const MODES = new Map([["debate", debateMode as Mode<unknown>]]);
const OTHER_RULES = { ...debateMode, rules: debateMode.rules + 1 };
const RESUMER = join(import.meta.dirname, "children/resume-debate.ts");

/** A home whose agents answer at once. */
function opened(home: string): Surroundings {
  const around = openHome(
    home,
    scriptedAgent(({ role: { role_id }, payload: { context } }) => {
      const round = Number(context.metadata?.["round"]);
      return role_id === "judge"
        ? { payload_type: "verdict", payload: { conclusion: "Both." } }
        : { payload_type: "opinion", payload: { round, position: `${role_id} ${round}` } };
    }),
  );
  onTestFinished(() => around.store.close());
  return around;
}

const rowOf = ({ store }: Surroundings, session_id: string): SessionRow => value(store.session(session_id));
const resume = (around: Surroundings, session_id: string, mode = debateMode) =>
  resumeSession(around, mode, rowOf(around, session_id));

/** The rows of a session, without those that tell of processes and time. */
function rowsOf({ home }: Surroundings, session_id: string): Map<string, unknown> {
  const database = new Database(join(home, "bosun.db"), { readonly: true });
  const rows = database
    .prepare<[string], { collection: string; id: string; value: string }>(
      "SELECT collection, id, value FROM state JOIN sessions USING (session) WHERE session_id = ?",
    )
    .all(session_id);
  database.close();
  const kept = rows.filter(({ collection }) => collection === "rows" || !RUNTIME_COLLECTIONS.has(collection));
  return new Map(kept.map(({ collection, id, value: text }) => [`${collection} ${id}`, JSON.parse(text)]));
}

const VERSION = debateMode.rows ?? 1;

/** What the session's records lead to, in rows of this version. */
function replayed({ store }: Surroundings, session_id: string): Map<string, unknown> {
  const rows = replayState(debateMode, store.records(session_id, 1))?.rows.values() ?? [];
  const all = Array.from(rows, ({ collection, id, value: one }): [string, unknown] => [`${collection} ${id}`, one]);
  return new Map([...all, ["rows version", VERSION]]);
}

function changed({ home }: Surroundings, sql: string): void {
  const database = new Database(join(home, "bosun.db"));
  expect(database.prepare(sql).run().changes).toBe(1);
  database.close();
}

async function finish(around: Surroundings, session_id: string): Promise<void> {
  const session = value(await resume(around, session_id));
  const answers = [{ question_id: "again", text: "repeat" }];
  if (session_id === "d-waiting")
    session.submit({
      source: "user",
      payload_type: "clarification_response",
      payload: { status: "answered", answers },
    });
  expect(value(await session.run({ waitForPeople: false }))).toEqual({ kind: "closed", outcome: "done" });
  expect(rowsOf(around, session_id)).toEqual(replayed(around, session_id));
  const proof = value(verifySession(join(around.home, "logs", session_id), MODES));
  expect(proof).toMatchObject({ ok: true, decisions: "ok", completeness: "closed" });
}

describe("a session of the version before, whose rows have another form", () => {
  it.each(["d-closed", "d-stopped", "d-waiting"])("is resumed, finished and verified: %s", async (session_id) => {
    const around = opened(earlierHome());
    const before = rowsOf(around, session_id);
    expect([before.has("debate debate"), before.has("rows version")]).toEqual([true, false]);
    await checkSession(around.store, rowOf(around, session_id), debateMode);
    await finish(around, session_id);
  });

  it.each(["recovery_decided", "before_commit"])("keeps its rows if the resume dies at %s", async (point) => {
    const around = opened(earlierHome());
    const before = rowsOf(around, "d-waiting");
    const { last_sequence } = rowOf(around, "d-waiting");
    await killed(around, point);
    expect(rowsOf(around, "d-waiting")).toEqual(before);
    expect(rowOf(around, "d-waiting")).toMatchObject({ last_sequence });
    await finish(around, "d-waiting");
  });

  it("has all of its rows replaced in the commit with the first record of the resume", async () => {
    const around = opened(earlierHome());
    const { last_sequence } = rowOf(around, "d-waiting");
    await killed(around, "after_commit");
    expect(around.store.payloadType("d-waiting", last_sequence + 1)).toBe("session_recovered");
    expect(rowsOf(around, "d-waiting")).toEqual(replayed(around, "d-waiting"));
    await finish(around, "d-waiting");
  });

  it("is refused if other rules made it too, and stays as it is", async () => {
    const around = opened(earlierHome());
    const { store } = around;
    const before = rowsOf(around, "d-stopped");
    const refused = failureOf(await resume(around, "d-stopped", OTHER_RULES));
    expect(refused).toMatchObject({ code: "environment", hint: "Use the version that began it." });
    expect(refused.message).toContain(`version 0.1.0 began it under rules ${debateMode.rules} of a debate`);
    const row = rowOf(around, "d-stopped");
    expect(failureOf(await catchStorage(async () => ok(stateFromRecords(store, row, OTHER_RULES))))).toEqual(refused);
    expect(rowsOf(around, "d-stopped")).toEqual(before);
    // Its records are checked all the same.
    await checkSession(store, row, OTHER_RULES);
  });

  it("is refused if a row of the engine is not what its records left", async () => {
    const around = opened(earlierHome());
    changed(around, "DELETE FROM state WHERE collection = 'ask'");
    expect(failureOf(await resume(around, "d-waiting"))).toMatchObject({ code: "verification_failed" });
  });

  it("is followed from what its records lead to", async () => {
    const { home, store } = opened(earlierHome());
    const parts = { store, output: home, first: 2, joins: true, readerOf, stateOf };
    const feed = await StoredFeed.open({ ...parts, session_id: "d-waiting" });
    expect(feed.counts()).toEqual({ answered: 1, answering: 1, dropped: 1 });
  });
});

describe("a new session", () => {
  async function closedDebate(): Promise<Surroundings> {
    const around = opened(temporaryDirectory());
    const session = await begin(around, rolesAt("unused"));
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ outcome: "done" });
    return around;
  }

  it("has the version of its mode's rows, and is resumed without a replay", async () => {
    const around = opened(temporaryDirectory());
    const session = await begin(around, rolesAt("unused"));
    session.stop("signal", "for now");
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ kind: "stopped" });
    expect(rowsOf(around, SESSION)).toEqual(replayed(around, SESSION));
    const noReplay = { ...debateMode, decide: () => expect.unreachable() };
    const stored = value(await around.store.load(SESSION));
    expect(checkedState(around.store, stored, noReplay)?.rewrite).toEqual([]);
  });

  it("is rebuilt in that version", async () => {
    const around = await closedDebate();
    const before = rowsOf(around, SESSION);
    around.store.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(around.home, `bosun.db${suffix}`), { force: true });
    const { sessions } = value(await rebuild(around.home, [SESSION], [SESSION], MODES, "old"));
    expect(sessions).toEqual([{ session_id: SESSION, became: "rebuilt" }]);
    expect(rowsOf(around, SESSION)).toEqual(before);
  });

  it("is refused by a version that knows only earlier rows, and stays as it is", async () => {
    const around = await closedDebate();
    changed(around, `UPDATE state SET value = '${VERSION + 1}' WHERE collection = 'rows'`);
    const before = rowsOf(around, SESSION);
    const refused = failureOf(await resume(around, SESSION));
    expect(refused).toMatchObject({ code: "newer_database", hint: "Update Bosun with `npm install -g bosun`." });
    expect(refused.message).toContain(
      `${SESSION} was written by a newer Bosun (version ${VERSION + 1} of the rows of a debate`,
    );
    const stored = value(await around.store.load(SESSION));
    const read = catchStorage(async () => ok(await stateOf(around.store, stored, debateMode)));
    expect(failureOf(await read)).toEqual(refused);
    expect(rowsOf(around, SESSION)).toEqual(before);
    expect(recordsOf(around.home, "session_recovered")).toEqual([]);
  });
});

it("a schedule's rows are those of version 1, as commands that read single values of it expect", () => {
  expect(scheduleMode.rows ?? 1).toBe(1);
});

/** Resumes the waiting debate in a process of its own, which dies at a crash point. */
async function killed({ home, store }: Surroundings, point: string): Promise<void> {
  const child = spawn(process.execPath, [RESUMER, home, "d-waiting"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], BOSUN_CRASH_AT: point },
  });
  expect((await once(child, "exit"))[1]).toBe("SIGKILL");
  expect(store.holder("d-waiting")).toBeUndefined();
}
