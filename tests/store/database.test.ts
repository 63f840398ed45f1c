import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { err, ok } from "../../src/lib/result.ts";
import { failure } from "../../src/protocol/failure.ts";
import {
  type Database,
  databasePath,
  guarded,
  openForReading,
  openForWriting,
  write,
} from "../../src/store/database.ts";
import { isLocked, lockPath, takeLock } from "../../src/store/lock.ts";
import { child, cleanUp, closeLater, temporaryDirectory } from "./rig.ts";
import { failureOf, value } from "../results.ts";

afterEach(cleanUp);

function writable(home: string): Database {
  const database = value(openForWriting(home));
  closeLater(() => database.close());
  database.exec("CREATE TABLE t (a INTEGER) STRICT");
  return database;
}

function rows(database: Database): unknown {
  return database.prepare("SELECT count(*) FROM t").pluck().get();
}

test("a commit is on the disk when it returns, whatever the library's default", () => {
  const database = writable(temporaryDirectory());
  const pragma = (name: string) => database.pragma(name, { simple: true });
  expect([pragma("journal_mode"), pragma("synchronous"), pragma("foreign_keys")]).toEqual(["wal", 2, 1]);
});

test("a reader in the middle of reading neither holds up a writer nor sees what it wrote", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const reader = value(openForReading(home));
  closeLater(() => reader.close());
  reader.exec("BEGIN");
  expect(rows(reader)).toBe(0);
  value(write(database, () => ok(database.exec("INSERT INTO t VALUES (1)"))));
  expect(rows(reader)).toBe(0);
  reader.exec("COMMIT");
  expect(rows(reader)).toBe(1);
});

test("nothing stands of a transaction that gives a failure or throws", () => {
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

test("nobody writes between what a transaction reads and what it writes", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const other = value(openForWriting(home));
  closeLater(() => other.close());
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

test("what a reader's connection may not do is not done", () => {
  const home = temporaryDirectory();
  const database = writable(home);
  const reader = value(openForReading(home));
  closeLater(() => reader.close());
  expect(failureOf(write(reader, () => ok(reader.exec("INSERT INTO t VALUES (1)")))).message).toContain(
    databasePath(home),
  );
  expect(rows(database)).toBe(0);
});

test.each([
  ["a table that is not there", "INSERT INTO nowhere VALUES (1)", "SQLITE_ERROR"],
  ["a value of another type", "INSERT INTO t VALUES ('x')", "SQLITE_CONSTRAINT_DATATYPE"],
  ["a key of another type", "CREATE TABLE k (a INTEGER PRIMARY KEY); INSERT INTO k VALUES ('x')", "SQLITE_MISMATCH"],
])("a wrong statement, with %s, is a bug and no failure of the disk", (_, sql, code) => {
  const database = writable(temporaryDirectory());
  const wrong = () => write(database, () => ok(database.exec(sql)));
  expect(wrong).toThrow(expect.objectContaining({ code }) as Error);
});

test("a bug is no failure of the disk, though Node gives it a code", () => {
  const wrong = () => guarded("/somewhere", () => ok(Buffer.alloc(-1)));
  expect(wrong).toThrow(expect.objectContaining({ code: "ERR_OUT_OF_RANGE" }) as Error);
});

test.each(["ENOSPC", "EDQUOT"])("a directory that cannot be made for want of space (%s) is told as that", (code) => {
  const refused = guarded("/somewhere", () => {
    throw Object.assign(new Error(code), { code, syscall: "mkdir" });
  });
  expect(failureOf(refused)).toMatchObject({ code: "storage_full", message: expect.stringContaining(code) as string });
});

test("a lock that somebody only asks about is not held, and taking it waits for the asking to end", async () => {
  const path = lockPath(temporaryDirectory(), "s1");
  expect(isLocked(path)).toBe(false);
  value(takeLock(path))?.release();
  for (let round = 0; round < 5; round++) {
    const asking = child("asker.ts", path);
    expect(await asking.line()).toBe("asking");
    expect(isLocked(path)).toBe(false);
    // It goes on asking for several times as long as is waited at once.
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

test("a lock is held also by one who does not keep it, until its process ends", async () => {
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
