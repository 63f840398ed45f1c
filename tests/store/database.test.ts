import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import SqliteDatabase from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { err, ok } from "../../src/lib/result.ts";
import { failure } from "../../src/protocol/failure.ts";
import { type Database, databasePath, openForReading, openForWriting, write } from "../../src/store/database.ts";
import { isLocked, lockPath, takeLock } from "../../src/store/lock.ts";
import { guarded } from "../../src/store/storage-failure.ts";
import { child, temporaryDirectory } from "./rig.ts";
import { failureOf, value } from "../results.ts";

function writable(home: string): Database {
  const database = value(openForWriting(home));
  onTestFinished(() => void database.close());
  database.exec("CREATE TABLE t (a INTEGER) STRICT");
  return database;
}

function rows(database: Database): unknown {
  return database.prepare("SELECT count(*) FROM t").pluck().get();
}

test("opens with WAL, synchronous=FULL and foreign keys", () => {
  const database = writable(temporaryDirectory());
  const pragma = (name: string) => database.pragma(name, { simple: true });
  expect([pragma("journal_mode"), pragma("synchronous"), pragma("foreign_keys")]).toEqual(["wal", 2, 1]);
});

test("a reading transaction neither blocks a writer nor sees its commit", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const reader = value(openForReading(home));
  onTestFinished(() => void reader.close());
  reader.exec("BEGIN");
  expect(rows(reader)).toBe(0);
  value(write(database, () => ok(database.exec("INSERT INTO t VALUES (1)"))));
  expect(rows(reader)).toBe(0);
  reader.exec("COMMIT");
  expect(rows(reader)).toBe(1);
});

test("a reader rolls back what a process left that was killed before the switch to WAL", () => {
  const [from, home] = [temporaryDirectory(), temporaryDirectory()];
  const killed = new SqliteDatabase(databasePath(from));
  onTestFinished(() => void killed.close());
  killed.exec("PRAGMA cache_size = 1; CREATE TABLE t (a INTEGER) STRICT; BEGIN");
  for (let inserted = 0; inserted < 5000; inserted++) killed.exec("INSERT INTO t VALUES (1)");
  // As the files are when the process dies here: more was written than the cache holds, and its journal is hot.
  for (const name of readdirSync(from)) copyFileSync(join(from, name), join(home, name));
  const reader = value(openForReading(home));
  onTestFinished(() => void reader.close());
  expect(rows(reader)).toBe(0);
});

test("rolls back a transaction that returns a failure or throws", () => {
  const database = writable(temporaryDirectory());
  const refused = write(database, () => {
    database.exec("INSERT INTO t VALUES (1)");
    return err(failure("usage", "No."));
  });
  expect(failureOf(refused).code).toBe("usage");
  expect(() =>
    write(database, () => {
      database.exec("INSERT INTO t VALUES (2)");
      throw new Error("a bug");
    }),
  ).toThrow("a bug");
  expect(rows(database)).toBe(0);
  value(write(database, () => ok(database.exec("INSERT INTO t VALUES (3)"))));
  expect(rows(database)).toBe(1);
});

test("no other connection writes during a write transaction", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const other = value(openForWriting(home));
  onTestFinished(() => void other.close());
  other.pragma("busy_timeout = 0");
  const insert = (into: Database) => ok(into.exec("INSERT INTO t VALUES (1)"));
  const written = write(database, () => {
    expect(rows(database)).toBe(0);
    expect(failureOf(write(other, () => insert(other))).message).toContain("locked");
    return insert(database);
  });
  expect(written.ok).toBe(true);
  value(write(other, () => insert(other)));
  expect(rows(database)).toBe(2);
});

test("a connection for reading cannot write", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const reader = value(openForReading(home));
  onTestFinished(() => void reader.close());
  expect(failureOf(write(reader, () => ok(reader.exec("INSERT INTO t VALUES (1)")))).message).toContain(
    databasePath(home),
  );
  expect(rows(database)).toBe(0);
});

test.each([
  ["an unknown table", "INSERT INTO nowhere VALUES (1)", "nowhere"],
  ["a value of the wrong type", "INSERT INTO t VALUES ('x')", "TEXT value"],
  ["a key of the wrong type", "CREATE TABLE k (a INTEGER PRIMARY KEY); INSERT INTO k VALUES ('x')", "mismatch"],
])("takes %s for a database of another program", (_, sql, why) => {
  const database = writable(temporaryDirectory());
  const refused = failureOf(write(database, () => ok(database.exec(sql))));
  expect(refused).toMatchObject({ code: "storage", details: { damaged: true } });
  expect(refused.message).toContain(why);
});

test("throws an error of Node that is not from the system", () => {
  const wrong = () => guarded("/somewhere", () => ok(Buffer.alloc(-1)));
  expect(wrong).toThrow(expect.objectContaining({ code: "ERR_OUT_OF_RANGE" }) as Error);
});

test.each(["ENOSPC", "EDQUOT"])("gives storage_full when a directory cannot be made (%s)", (code) => {
  const refused = guarded("/somewhere", () => {
    throw Object.assign(new Error(code), { code, syscall: "mkdir" });
  });
  expect(failureOf(refused)).toMatchObject({ code: "storage_full", message: expect.stringContaining(code) as string });
});

test("asking about a lock does not hold it, and taking it waits for the asking", async () => {
  const path = lockPath(temporaryDirectory(), "s1");
  expect(isLocked(path)).toBe(false);
  value(takeLock(path))?.release();
  for (let round = 0; round < 5; round++) {
    const asking = child("asker.ts", path);
    expect(await asking.line()).toBe("asking");
    expect(isLocked(path)).toBe(false);
    // It goes on for several times as long as takeLock waits once.
    asking.process.stdin?.write("enough\n");
    const lock = value(takeLock(path));
    expect(lock).not.toBeNull();
    expect(isLocked(path)).toBe(true);
    const before = performance.now();
    expect(value(takeLock(path))).toBeNull();
    expect(performance.now() - before).toBeLessThan(1_000);
    lock?.release();
    await asking.gone;
  }
});

test("a lock that nobody references is still held until its process ends", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const path = lockPath(temporaryDirectory(), "s1");
  expect(value(takeLock(path))).not.toBeNull();
  for (let round = 0; round < 3; round++) {
    collect();
    await nextTurn();
  }
  expect(isLocked(path)).toBe(true);
});
