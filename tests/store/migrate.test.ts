import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Database, databasePath, openForWriting } from "../../src/store/database.ts";
import { bundledMigrations, migrate, type Migration } from "../../src/store/migrate.ts";
import { getSession, openReader, openStore } from "../../src/store/sqlite-store.ts";
import { child, openFiles, temporaryDirectory } from "./rig.ts";
import { failureOf, value } from "../results.ts";

const FIRST: Migration = { number: 1, name: "first", sql: "CREATE TABLE one (a INTEGER) STRICT;", sha256: "1" };
const SECOND: Migration = { number: 2, name: "second", sql: "CREATE TABLE two (a INTEGER) STRICT;", sha256: "2" };

function database(home = temporaryDirectory()): Database {
  const opened = value(openForWriting(home));
  onTestFinished(() => void opened.close());
  return opened;
}

function schema(of: Database): string[] {
  return of
    .prepare<[], string>("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name")
    .pluck()
    .all();
}

// Shows a change of the schema for review: write `dump` to the file after adding a migration.
test("the schema is the reviewed one", () => {
  const migrated = database();
  value(migrate(migrated, bundledMigrations()));
  const dump = `${schema(migrated).join(";\n\n")};\n`;
  expect(dump).toBe(readFileSync(join(import.meta.dirname, "schema.sql"), "utf8"));
});

test("the migrations are numbered without gaps from 1", () => {
  const migrations = bundledMigrations();
  expect(migrations.map((migration) => migration.number)).toEqual(migrations.map((_, index) => index + 1));
  expect(migrations[0]).toMatchObject({ number: 1, name: "initial", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
});

test("migrating twice changes nothing", () => {
  const migrated = database();
  value(migrate(migrated, [FIRST]));
  migrated.exec("INSERT INTO one VALUES (1)");
  const before = schema(migrated);
  value(migrate(migrated, [FIRST]));
  expect(schema(migrated)).toEqual(before);
  expect(migrated.prepare("SELECT count(*) FROM one").pluck().get()).toBe(1);
});

test("applies the missing migrations to an older database", () => {
  const migrated = database();
  value(migrate(migrated, [FIRST]));
  migrated.exec("INSERT INTO one VALUES (1)");
  value(migrate(migrated, [FIRST, SECOND]));
  expect(migrated.prepare("SELECT number, name, sha256 FROM migrations").all()).toEqual([
    { number: 1, name: "first", sha256: "1" },
    { number: 2, name: "second", sha256: "2" },
  ]);
  expect(migrated.prepare("SELECT count(*) FROM one, (SELECT count(*) FROM two)").pluck().get()).toBe(1);
});

test("a failed migration leaves no tables and no row of its own", () => {
  const migrated = database();
  value(migrate(migrated, [FIRST]));
  const broken = { ...SECOND, sql: "CREATE TABLE two (a INTEGER) STRICT; CREATE TABLE one (a INTEGER);" };
  expect(failureOf(migrate(migrated, [FIRST, broken])).message).toContain("already exists");
  expect(schema(migrated).join()).not.toContain("two");
  value(migrate(migrated, [FIRST, SECOND]));
  expect(schema(migrated).join()).toContain("two");
});

test("writers and readers refuse a newer database, and close it", () => {
  const home = temporaryDirectory();
  const newer = database(home);
  const known = bundledMigrations().length;
  value(migrate(newer, [...bundledMigrations(), { ...SECOND, number: known + 1 }]));
  newer.close();
  for (const open of [openStore, openReader]) {
    const failure = failureOf(open(home));
    expect(failure.code).toBe("newer_database");
    expect(failure.message).toContain(databasePath(home));
    expect(failure.message).toContain(`schema ${known + 1}; this one knows ${known}`);
    expect(failure.hint).toContain("npm install -g bosun");
    expect(openFiles(process.pid)).not.toContain(databasePath(home));
  }
});

test.runIf(process.platform === "linux")(
  "a reader makes the tables of a database on a shared file system only if accepted",
  () => {
    const home = temporaryDirectory();
    value(migrate(database(home), []));
    const statfs = () => ({ type: 0x6969 });
    expect(failureOf(openReader(home, { statfs })).code).toBe("environment");
    const reader = value(openReader(home, { statfs, accept: true }));
    onTestFinished(() => reader.close());
    expect(reader.sessions()).toEqual([]);
  },
);

test("refuses a database that other migrations made", () => {
  const migrated = database();
  value(migrate(migrated, [FIRST, SECOND]));
  const failure = failureOf(migrate(migrated, [FIRST, { ...SECOND, sha256: "changed" }]));
  expect(failure.code).toBe("storage");
  expect(failure.message).toContain("migration 2 (second)");
});

test("gives storage_full for a migration that does not fit on the disk", () => {
  const migrated = database();
  value(migrate(migrated, [FIRST]));
  migrated.pragma(`max_page_count = ${migrated.pragma("page_count", { simple: true }) as number}`);
  expect(failureOf(migrate(migrated, [FIRST, SECOND])).code).toBe("storage_full");
});

/** A home with a database of version 1, with one closed session of one ticket. */
function oldHome(home = temporaryDirectory()): string {
  const old = value(openForWriting(home));
  value(migrate(old, bundledMigrations().slice(0, 1)));
  old.exec(`
    INSERT INTO sessions (session_id, mode, state, workspace, created_at, updated_at, head, last_sequence)
      VALUES ('s1', 'schedule', 'closed', '/w', '', '', 'h2', 2);
    INSERT INTO records VALUES
      (1, 1, 'session_opened', NULL, 'h1', '{"payload":{"roles":[{"role_id":"ann","type":"worker","cli_command":["ann"]}]},"record":{}}'),
      (1, 2, 'plan', NULL, 'h2', '{"payload":{"tasks":[{"task_id":"T","description":"Dig"}]},"record":{}}');
    INSERT INTO state VALUES (1, 'ticket', 'T', '{"task":[2,"/tasks/0"],"status":"done","depends_on":[],"attempt":1,"order":0}');
  `);
  old.close();
  return home;
}

const backup = (home: string) => `${databasePath(home)}.1.bak`;

function sqlite(file: string): Database {
  const opened = new SqliteDatabase(file);
  onTestFinished(() => void opened.close());
  return opened;
}

const versionOf = (file: string) => sqlite(file).prepare("SELECT max(number) FROM migrations").pluck().get();

describe("a database of an older version", () => {
  test("is backed up and migrated by a writer, with what its sessions hold", () => {
    const home = oldHome();
    value(openStore(home)).close();
    expect(versionOf(databasePath(home))).toBe(bundledMigrations().length);
    expect(versionOf(backup(home))).toBe(1);
    const [migrated, saved] = [sqlite(databasePath(home)), sqlite(backup(home))];
    expect(migrated.prepare("SELECT roles ->> '$[0].role_id' FROM sessions").pluck().get()).toBe("ann");
    expect(migrated.prepare("SELECT description FROM tickets").pluck().get()).toBe("Dig");
    expect(saved.prepare("SELECT count(*) FROM records").pluck().get()).toBe(2);
  });

  test("has what is only in the WAL in its backup", () => {
    const home = oldHome();
    const other = database(home);
    other.exec("UPDATE sessions SET requirement = 'kept'");
    value(openStore(home)).close();
    expect(sqlite(backup(home)).prepare("SELECT requirement FROM sessions").pluck().get()).toBe("kept");
    // A process of the older version that has it open goes on.
    other.exec("UPDATE sessions SET requirement = 'changed'");
  });

  test("says that nothing is known of a message that a process of the older version took", async () => {
    const home = oldHome();
    const other = database(home);
    const store = value(openStore(home));
    onTestFinished(() => store.close());
    const id = value(await store.inbox.put("s1", {}, { user: "ada", host: "here", via: "test" }));
    other.exec("DELETE FROM inbox");
    expect(store.inbox.outcome("s1", id)).toEqual({});
  });

  test("is read without being migrated", () => {
    const home = oldHome();
    database(home).exec("INSERT INTO inbox (session, body, actor, put_at) VALUES (1, '{}', '{}', '')");
    const reader = value(openReader(home));
    onTestFinished(() => reader.close());
    expect(reader.sessions()).toMatchObject([{ session_id: "s1", last_sequence: 2 }]);
    expect(reader.inbox.pending("s1")).toMatchObject([{ id: 1 }]);
    for (const from of [home, reader]) expect(value(getSession(from, "s1"))).toMatchObject({ state: "closed" });
    expect(failureOf(getSession(home, "s2")).code).toBe("not_found");
    expect(versionOf(databasePath(home))).toBe(1);
    expect(existsSync(backup(home))).toBe(false);
  });

  test("is backed up again after a crash before the migration", () => {
    const home = oldHome();
    writeFileSync(backup(home), "of before");
    writeFileSync(`${backup(home)}.tmp`, "half");
    value(openStore(home)).close();
    expect(versionOf(backup(home))).toBe(1);
    expect(existsSync(`${backup(home)}.tmp`)).toBe(false);
  });

  test.runIf(process.platform === "linux")("stays as it is if the backup does not fit on the disk", async () => {
    const home = oldHome();
    const large = database(home);
    large.exec("INSERT INTO records VALUES (1, 3, 'x', NULL, 'h3', printf('%.*c', 3000000, 'x'))");
    large.close();
    const opener = child("opener.ts", home, "1024");
    expect(await opener.line()).toBe("ready");
    opener.process.stdin?.write("go\n");
    const outcome = await opener.line();
    expect(outcome).toContain(backup(home));
    expect(outcome).toContain("MB can be written beside the database");
    await opener.gone;
    expect(versionOf(databasePath(home))).toBe(1);
    expect(readdirSync(home).filter((name) => name.includes(".bak"))).toEqual([]);
    value(openStore(home)).close();
    expect(versionOf(backup(home))).toBe(1);
  });

  test("is migrated once by five processes at once", async () => {
    const home = oldHome();
    const processes = Array.from({ length: 5 }, () => child("opener.ts", home));
    for (const each of processes) expect(await each.line()).toBe("ready");
    for (const each of processes) each.process.stdin?.write("go\n");
    const outcomes = await Promise.all(processes.map((each) => each.line()));
    await Promise.all(processes.map((each) => each.gone));
    expect(new Set(outcomes)).toEqual(new Set(["opened"]));
    expect(versionOf(backup(home))).toBe(1);
  });
});

test("twenty processes can open a new home at once", async () => {
  const home = join(temporaryDirectory(), "new", "home");
  const processes = Array.from({ length: 20 }, () => child("opener.ts", home));
  for (const each of processes) expect(await each.line()).toBe("ready");
  for (const each of processes) each.process.stdin?.write("go\n");
  const outcomes = await Promise.all(processes.map((each) => each.line()));
  await Promise.all(processes.map((each) => each.gone));
  expect(new Set(outcomes)).toEqual(new Set(["opened"]));
  const reader = value(openReader(home));
  onTestFinished(() => reader.close());
  expect(reader.sessions()).toEqual([]);
});

test.runIf(process.platform === "linux")("opening waits for another process that makes the home", async () => {
  const home = temporaryDirectory();
  const other = new SqliteDatabase(join(home, "bosun.db"));
  other.exec("CREATE TABLE t (x); BEGIN IMMEDIATE");
  const opener = child("opener.ts", home);
  expect(await opener.line()).toBe("ready");
  opener.process.stdin?.write("go\n");
  await expect.poll(() => openFiles(opener.process.pid)).toContain(join(home, "bosun.db"));
  other.exec("ROLLBACK");
  other.close();
  expect(await opener.line()).toBe("opened");
  await opener.gone;
});

test("reports a half-created home as locked instead of waiting for ever", () => {
  const home = temporaryDirectory();
  const other = new SqliteDatabase(databasePath(home));
  onTestFinished(() => void other.close());
  other.exec("CREATE TABLE t (x); BEGIN IMMEDIATE");
  // The lock is real; only the clock of the waiting runs a hundred times as fast.
  const [start, now] = [performance.now(), performance.now.bind(performance)];
  const clock = vi.spyOn(performance, "now").mockImplementation(() => start + (now() - start) * 100);
  onTestFinished(() => clock.mockRestore());
  expect(failureOf(openForWriting(home))).toMatchObject({
    code: "storage",
    message: expect.stringContaining("locked") as string,
  });
});

test("views show turns, timers and asks", () => {
  const migrated = database(oldHome());
  value(migrate(migrated, bundledMigrations()));
  migrated.exec("INSERT INTO state VALUES (1, 'turn', 't1', '{}'), (1, 'timer', 'm1', '{}'), (1, 'ask', 'a1', '{}')");
  expect(migrated.prepare("SELECT turn_id, timer_id, ask_id FROM turns, timers, asks").all()).toEqual([
    { turn_id: "t1", timer_id: "m1", ask_id: "a1" },
  ]);
});
