import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { GENESIS, type LogRecord } from "../../src/protocol/record.ts";
import { ok } from "../../src/lib/result.ts";
import { seal } from "../../src/log/chain.ts";
import { databasePath, openForReading, openForWriting } from "../../src/store/database.ts";
import { lockPath, takeLock } from "../../src/store/lock.ts";
import { bundledMigrations, migrate } from "../../src/store/migrate.ts";
import { queriesOn } from "../../src/store/queries.ts";
import { readerOn } from "../../src/store/sqlite-reader.ts";
import { openReader, openStore, storeOn } from "../../src/store/sqlite-store.ts";
import { catchStorage } from "../../src/store/storage-error.ts";
import type { Lease, Store } from "../../src/store/store.ts";
import { chain, OWNER, unsealed } from "./records.ts";
import { child, openFiles, temporaryDirectory } from "./rig.ts";
import { session } from "./contract-rig.ts";
import { storeContract } from "./store.contract.ts";
import { failureOf, value } from "../results.ts";
import { computing } from "../computing.ts";

function storeIn(home: string): Store {
  const store = value(openStore(home));
  onTestFinished(() => store.close());
  return store;
}

async function withSession(home: string): Promise<Store> {
  const store = storeIn(home);
  value(await store.create(session("s1")));
  return store;
}

storeContract("SQLite", () => {
  const home = temporaryDirectory();
  return { store: storeIn(home), another: () => storeIn(home) };
});

describe("a session's owner", () => {
  test("loses no commit when it is killed, and the session is free at once", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    let committed = 0;
    for (const round of [1, 2, 3]) {
      const committer = child("committer.ts", home);
      for (let line = 0; line < 5 * round; line++) committed = Number(await committer.line());
      expect(store.holder("s1")?.pid).toBe(committer.process.pid);
      committer.process.kill("SIGKILL");
      await committer.gone;

      expect(store.holder("s1")).toBeUndefined();
      const session = value(store.session("s1"));
      expect(session.last_sequence).toBeGreaterThanOrEqual(committed);
      expect(session.last_sequence % 3).toBe(0);
      expect(session).toMatchObject({ epoch: round, published: session.last_sequence - 3 });
      expect(store.value("s1", "engine", "counter")).toBe(session.last_sequence);
      expect(chained(store)).toEqual({ records: session.last_sequence, head: session.head });
    }
    const database = new SqliteDatabase(databasePath(home), { readonly: true });
    onTestFinished(() => void database.close());
    expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  });

  test("is one of fifty that acquire at once", async () => {
    const home = temporaryDirectory();
    await withSession(home);
    const processes = Array.from({ length: 10 }, () => child("acquirer.ts", home));
    for (const each of processes) expect(await each.line()).toBe("ready");
    for (const each of processes) each.process.stdin?.write("go\n");
    const outcomes = (await Promise.all(processes.map((each) => each.line()))).flatMap((line) => line.split(" "));
    expect(outcomes.filter((outcome) => outcome === "won")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "busy")).toHaveLength(49);
    for (const each of processes) each.process.stdin?.end();
    await Promise.all(processes.map((each) => each.gone));
  });

  test("whose epoch is outdated writes nothing, and keeps its successor's name", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    const lease = value(await store.acquire("s1", OWNER));
    expect(store.confirm(lease).ok).toBe(true);
    // What a take-over does that the lock did not prevent: in a copy of the home, or on a file system with broken locks.
    const database = new SqliteDatabase(databasePath(home));
    onTestFinished(() => void database.close());
    database.exec("UPDATE sessions SET epoch = epoch + 1, owner_pid = 4711");
    const refused = await store.commit(lease, {
      expected: 0,
      records: chain(1),
      changes: [{ put: "ticket", id: "T-1", value: 1 }],
    });
    expect(failureOf(refused).code).toBe("stale_lease");
    expect(failureOf(store.confirm(lease)).code).toBe("stale_lease");
    expect(value(store.session("s1")).last_sequence).toBe(0);
    expect(store.value("s1", "ticket", "T-1")).toBeUndefined();
    await store.release(lease);
    expect(database.prepare("SELECT owner_pid FROM sessions").pluck().get()).toBe(4711);
  });

  test.each([
    ["nobody", () => undefined],
    ["a process that released it", async (store: Store) => store.release(value(await store.acquire("s1", OWNER)))],
    [
      "a dead process",
      async (_: Store, home: string) => {
        const committer = child("committer.ts", home);
        await committer.line();
        committer.process.kill("SIGKILL");
        await committer.gone;
        const database = new SqliteDatabase(databasePath(home));
        onTestFinished(() => void database.close());
        expect(database.prepare("SELECT owner_pid FROM sessions").pluck().get()).toBe(committer.process.pid);
        database.prepare("UPDATE sessions SET owner_host = ?").run(hostname());
      },
    ],
  ])(
    "is named by the kernel until it is written down, after %s",
    async (_who, holdBefore: (store: Store, home: string) => Promise<void> | undefined) => {
      const home = temporaryDirectory();
      const store = await withSession(home);
      await holdBefore(store, home);
      const next = value(takeLock(lockPath(home, "s1")));
      onTestFinished(() => next?.release());
      const refused = failureOf(await store.acquire("s1", OWNER));
      const holder = { pid: process.pid, host: hostname() };
      const message = `The session s1 is held by process ${holder.pid} on ${holder.host}.`;
      expect(refused).toMatchObject({ code: "busy", message, details: holder });
      expect(store.holder("s1")).toEqual(holder);
    },
  );

  test("releases its sessions by closing the store", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    const other = value(openStore(home));
    value(await other.acquire("s1", OWNER));
    other.close();
    expect(store.holder("s1")).toBeUndefined();
    expect((await store.acquire("s1", OWNER)).ok).toBe(true);
  });

  test("leaves only the database file when the last store is closed", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    const reader = value(openReader(home));
    reader.close();
    store.close();
    expect(readdirSync(home)).toEqual(["bosun.db"]);
  });
});

describe("readers", () => {
  test("find a record that is committed while they look for it", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    const lease = value(await store.acquire("s1", OWNER));
    const records = chain(2);
    value(await store.commit(lease, { expected: 0, records: records.slice(0, 1), changes: [] }));
    const database = value(openForReading(home));
    onTestFinished(() => void database.close());
    const queries = queriesOn(database);
    const byId: typeof queries.sessions.byId = (session_id) => {
      if (value(store.session("s1")).last_sequence === 1)
        void store.commit(lease, { expected: 1, records: records.slice(1), changes: [] });
      return queries.sessions.byId(session_id);
    };
    const reader = readerOn(home, database, { ...queries, sessions: { ...queries.sessions, byId } });
    expect([...reader.records("s1", 1)]).toEqual(records.map(({ line }) => line));
  });

  test("never see a locked database while the owner commits", async () => {
    const home = temporaryDirectory();
    await withSession(home);
    const committer = child("committer.ts", home);
    await committer.line();
    const readers = [child("reader.ts", home), child("reader.ts", home)];
    for (const reader of readers) expect(await reader.line()).toBe("ready");
    for (let commits = 0; commits < 100; commits++) await committer.line();
    for (const reader of readers) reader.process.stdin?.write("enough\n");
    for (const reader of readers) {
      const { reads, errors } = JSON.parse(await reader.line()) as { reads: number; errors: string[] };
      expect(errors).toEqual([]);
      expect(reads).toBeGreaterThan(5);
    }
  });

  test.each([
    [5, "a1, a2, a3, a4, a5."],
    [6, "a1, a2, a3, a4, a5, …."],
  ])("are given five of %i candidates for a prefix, and whether there are more", async (count, told) => {
    const store = storeIn(temporaryDirectory());
    for (let number = count; number > 0; number--) value(await store.create(session(`a${number}`)));
    const refused = failureOf(store.session("a"));
    expect(refused.message).toContain(told);
    expect(refused.details).toEqual({ candidates: ["a1", "a2", "a3", "a4", "a5"] });
  });

  test("give not_found for a missing home, and make nothing", () => {
    const home = join(temporaryDirectory(), "none");
    const failure = failureOf(openReader(home));
    expect(failure).toMatchObject({ code: "not_found" });
    expect(failure.message).toContain(home);
    expect(failureOf(openReader(home)).code).toBe("not_found");
  });

  test("migrate a database of an older version", () => {
    const home = temporaryDirectory();
    const older = new SqliteDatabase(databasePath(home));
    older.pragma("journal_mode = WAL");
    older.close();
    const reader = value(openReader(home));
    onTestFinished(() => reader.close());
    expect(reader.sessions()).toEqual([]);
  });
});

describe("a disk or database that fails", () => {
  test("full: the commit fails whole; a store opened again continues with space", async () => {
    const home = temporaryDirectory();
    const database = value(openForWriting(home));
    value(migrate(database, bundledMigrations()));
    const store = storeOn(home, database);
    onTestFinished(() => store.close());
    value(await store.create(session("s1")));
    const lease = value(await store.acquire("s1", OWNER));
    const pages = database.pragma("page_count", { simple: true }) as number;
    database.pragma(`max_page_count = ${pages + 20}`);

    const { committed, failure } = await commitUntilRefused(store, lease);
    expect(failure).toMatchObject({ code: "storage_full" });
    expect(failure.message).toContain(databasePath(home));
    expect(failure.hint).toContain("resume");
    expect(committed).toBeGreaterThan(0);
    expect(value(store.session("s1")).last_sequence).toBe(committed);
    expect(chained(store).records).toBe(committed);
    expect([...value(await store.load("s1")).rows("ticket")]).toHaveLength(committed);

    database.pragma("max_page_count = 1073741823");
    expect(await commitUntilRefused(store, lease, committed, 5)).toEqual({ committed, failure });
    await store.release(lease);
    expect(failureOf(await store.acquire("s1", OWNER))).toEqual(failure);

    const anew = value(openStore(home));
    onTestFinished(() => anew.close());
    const again = value(await anew.acquire("s1", OWNER));
    expect((await commitUntilRefused(anew, again, committed, 5)).committed).toBe(committed + 5);
  });

  test.each([
    ["its last record", "DELETE FROM records WHERE sequence = 3"],
    ["the last record's hash", "UPDATE records SET hash = 'sha256:other' WHERE sequence = 3"],
    ["a whole value", "UPDATE state SET value = '{\"cut\": ' WHERE id = '1'"],
    ["a single value", "UPDATE state SET value = '1, 2' WHERE id = '1'"],
  ])("without %s is reported as damaged when the session is loaded", async (_, sql) => {
    const home = temporaryDirectory();
    const database = value(openForWriting(home));
    value(migrate(database, bundledMigrations()));
    const store = storeOn(home, database);
    onTestFinished(() => store.close());
    value(await store.create(session("s1")));
    await commitUntilRefused(store, value(await store.acquire("s1", OWNER)), 0, 3);
    database.exec(sql);
    const read = catchStorage(async () => {
      const loaded = await store.load("s1");
      return loaded.ok ? ok([...loaded.value.rows()]) : loaded;
    });
    const failure = failureOf(await read);
    expect(failure).toMatchObject({
      code: expect.stringMatching(/^(storage|verification_failed)$/) as string,
      hint: expect.stringContaining("bosun rebuild") as string,
    });
    expect(failure.message).toContain(`damaged`);
    expect(failure.message).toContain(databasePath(home));
  });

  test.each([
    ["a file in place of the home", (path: string) => writeFileSync(path, "")],
    ["a directory in place of the database", (path: string) => mkdirSync(databasePath(path), { recursive: true })],
    [
      "a file that is not a database",
      (path: string) => {
        mkdirSync(path);
        writeFileSync(databasePath(path), "This is no database. ".repeat(100));
      },
    ],
  ])("%s: the store does not open, and leaves no file open", (_what, prepare) => {
    const home = join(temporaryDirectory(), "home");
    prepare(home);
    const began = performance.now();
    const failure = failureOf(openStore(home));
    expect(failure.code).toBe("storage");
    expect(failure.message).toContain(home);
    expect(failure.hint).toMatch(/--home|bosun rebuild/);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(openFiles(process.pid)).not.toContain(databasePath(home));
  });

  test("no lock file can be made: the session is not acquired", async () => {
    const home = temporaryDirectory();
    const store = await withSession(home);
    writeFileSync(join(home, "sessions"), "");
    expect(failureOf(await store.acquire("s1", OWNER)).code).toBe("storage");
    expect(value(store.session("s1")).epoch).toBe(0);
  });
});

test("loads 100,000 values in at most four times the time of parsing them", async () => {
  const home = temporaryDirectory();
  const store = await withSession(home);
  const lease = value(await store.acquire("s1", OWNER));
  const changes = Array.from({ length: 100_000 }, (_, index) => ({
    put: "ticket",
    id: `T-${index}`,
    value: {
      status: "in_progress",
      since: "2026-01-01T00:00:00Z",
      attempt: 1,
      depends_on: [`T-${index + 1}`],
      task: [12, `/tasks/${index}`],
      text: "x".repeat(100),
    },
  }));
  value(await store.commit(lease, { expected: 0, records: [], changes }));
  const texts = changes.map((change) => JSON.stringify(change.value));

  const ratios: number[] = [];
  for (let round = 0; round < 3; round++) {
    const parsing = computing(() => {
      for (const text of texts) JSON.parse(text);
    });
    const stored = value(await store.load("s1"));
    let rows = 0;
    const loading = computing(() => {
      for (const row of stored.rows()) if (row.collection === "ticket") rows += 1;
    });
    ratios.push(loading / parsing);
    expect(rows).toBe(100_000);
  }
  expect(Math.min(...ratios)).toBeLessThan(4);
});

/** Checks the chain of the stored lines; returns their number and the last hash. */
function chained(store: Store): { records: number; head: string } {
  let previous = GENESIS;
  let records = 0;
  for (const line of store.records("s1", 1)) {
    const { integrity } = JSON.parse(line) as LogRecord;
    records += 1;
    expect(integrity).toMatchObject({ sequence: records, previous });
    previous = integrity.hash;
  }
  return { records, head: previous };
}

/** Commits one record and one ticket at a time. */
async function commitUntilRefused(store: Store, lease: Lease, from = 0, most = 1_000) {
  let { last_sequence: committed, head } = value(store.session("s1"));
  expect(committed).toBe(from);
  for (; committed < from + most; committed++) {
    const record = seal(unsealed(committed + 1), { sequence: committed + 1, previous: head });
    const changes = [{ put: "ticket", id: String(committed), value: "x".repeat(500) }];
    const result = await store.commit(lease, { expected: committed, records: [record], changes });
    if (!result.ok) return { committed, failure: result.error };
    head = record.hash;
  }
  return { committed, failure: failureOf({ ok: false, error: { code: "internal", message: "never refused" } }) };
}
