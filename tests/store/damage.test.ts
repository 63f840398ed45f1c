import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import { databasePath } from "../../src/store/database.ts";
import { keptRecord, measuredRecord } from "../../src/store/kept-record.ts";
import { lockPath } from "../../src/store/lock.ts";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import { StorageError } from "../../src/store/storage-error.ts";
import type { StoreReader } from "../../src/store/store.ts";
import { ACTOR, session } from "./contract-rig.ts";
import { chain, OWNER } from "./records.ts";
import { openFiles, temporaryDirectory } from "./rig.ts";
import { failureOf, value } from "../results.ts";

const RECORDS = 100;

/** A closed home with one session that has records, state, an artifact and an inbox row. */
async function homeWithSession(): Promise<string> {
  const home = temporaryDirectory();
  const store = value(openStore(home));
  value(await store.create(session("s1")));
  const lease = value(await store.acquire("s1", OWNER));
  value(
    await store.commit(lease, {
      expected: 0,
      records: chain(RECORDS),
      changes: [{ put: "ticket", id: "T-1", value: "ö" }],
      artifacts: [{ sequence: 1, label: "log", uri: "a", path: "a", digest: "sha256:aa", size_bytes: 1 }],
    }),
  );
  value(await store.inbox.put("s1", {}, ACTOR));
  store.close();
  return home;
}

function readerOf(home: string): StoreReader {
  const reader = value(openReader(home));
  onTestFinished(() => reader.close());
  return reader;
}

/** Overwrites all pages but the first, as a disk that loses its blocks. Connections keep the pages they have read. */
function damage(home: string): void {
  const path = databasePath(home);
  const page = 8_192;
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(statSync(path).size - page, 0xff), 0, undefined, page);
  closeSync(file);
}

function edit(home: string, sql: string): void {
  const database = new SqliteDatabase(databasePath(home));
  database.exec(sql);
  database.close();
}

/** The failure of a damaged database. */
function damagedAt(home: string) {
  return {
    code: "storage",
    message: expect.stringContaining(databasePath(home)) as string,
    hint: expect.stringContaining(`bosun replay ${join(home, "logs")}/SESSION --verify`) as string,
  };
}

/** The failure that a read throws. */
function thrownBy(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error instanceof StorageError ? error.failure : error;
  }
  return "nothing thrown";
}

describe("a database damaged while it is open is reported as damaged", () => {
  test.each<[string, (reader: StoreReader) => unknown]>([
    ["sessions", (reader) => reader.sessions()],
    ["holders", (reader) => reader.holder("s1")],
    ["single records", (reader) => reader.record("s1", 1)],
    ["records", (reader) => [...reader.records("s1", 1)]],
  ])("when %s are read first", async (_, read) => {
    const home = await homeWithSession();
    const reader = readerOf(home);
    damage(home);
    const damaged = damagedAt(home);
    expect(thrownBy(() => read(reader))).toMatchObject(damaged);
    expect(failureOf(reader.session("s1"))).toMatchObject(damaged);
    expect(failureOf(await reader.load("s1"))).toMatchObject(damaged);
  });

  test.each<[string, (reader: StoreReader) => unknown]>([
    ["single records", (reader) => reader.record("s1", RECORDS)],
    ["records", (reader) => [...reader.records("s1", 1)]],
    ["sealed records", (reader) => [...reader.sealed("s1", 1)]],
    ["values", (reader) => reader.value("s1", "ticket", "T-1")],
    ["artifacts", (reader) => reader.artifacts("s1")],
    ["inbox rows", (reader) => reader.inbox.pending("s1")],
  ])("when %s are read after the session", async (_, read) => {
    const home = await homeWithSession();
    const reader = readerOf(home);
    reader.record("s1", 1);
    damage(home);
    expect(thrownBy(() => read(reader))).toMatchObject(damagedAt(home));
  });
});

test("a reader refuses a file that is not a database, and closes it", () => {
  const home = temporaryDirectory();
  writeFileSync(databasePath(home), "This is no database. ".repeat(1_000));
  expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
  expect(openFiles(process.pid)).not.toContain(databasePath(home));
});

test("a home that cannot be read is not taken for a missing one", () => {
  const home = join(temporaryDirectory(), "home");
  symlinkSync(home, home);
  const told = { code: "storage", message: expect.stringContaining(`${databasePath(home)} (ELOOP)`) as string };
  expect(failureOf(openReader(home))).toMatchObject(told);
});

test("refuses a pipe in place of the database without waiting", () => {
  const home = temporaryDirectory();
  execFileSync("mkfifo", [databasePath(home)]);
  // With a writer, opening the pipe for reading returns.
  const other = openSync(databasePath(home), constants.O_RDWR);
  const told = { code: "storage", message: expect.stringContaining(databasePath(home)) as string };
  expect(failureOf(openReader(home))).toMatchObject(told);
  expect(failureOf(openStore(home))).toMatchObject(told);
  closeSync(other);
});

describe("a database with other tables than the migrations make is reported as damaged", () => {
  test.each([
    ["without a table", "DROP TABLE inbox"],
    ["without a column", "ALTER TABLE sessions DROP COLUMN epoch"],
    ["without its migrations' rows", "DELETE FROM migrations"],
  ])("%s", async (_, sql) => {
    const home = await homeWithSession();
    edit(home, sql);
    expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
    expect(failureOf(openStore(home))).toMatchObject(damagedAt(home));
  });

  test("reports another program's database as damaged", () => {
    const home = temporaryDirectory();
    edit(home, "CREATE TABLE sessions (id)");
    expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
    expect(failureOf(openStore(home))).toMatchObject(damagedAt(home));
  });
});

test.each<readonly [string, (path: string) => void]>([
  ["a pipe", (path) => execFileSync("mkfifo", [path])],
  ["a directory", (path) => mkdirSync(path)],
  ["something else", (path) => writeFileSync(path, "something else ".repeat(100))],
])("%s in place of a lock has no holder, and acquiring names its path", async (_, put) => {
  const home = await homeWithSession();
  const path = lockPath(home, "s1");
  rmSync(path);
  put(path);
  expect(readerOf(home).holder("s1")).toBeUndefined();
  const store = value(openStore(home));
  onTestFinished(() => store.close());
  const refused = { code: "storage", message: expect.stringContaining(path) as string };
  expect(failureOf(await store.acquire("s1", OWNER))).toMatchObject(refused);
  rmSync(path, { recursive: true });
  value(await store.acquire("s1", OWNER));
});

test("a lock stays held when its file is written to", async () => {
  const home = await homeWithSession();
  const store = value(openStore(home));
  onTestFinished(() => store.close());
  value(await store.acquire("s1", OWNER));
  // By another process: the holder would lose the lock by closing the file.
  execFileSync("sh", ["-c", 'yes "something else" | head -c 2000 >"$0"', lockPath(home, "s1")]);
  expect(readerOf(home).holder("s1")).toEqual(OWNER);
});

describe("a record that was committed", () => {
  const LOST = { code: "verification_failed", message: expect.stringContaining("record 2 of s1 is lost") as string };

  test("that is missing between others is lost, not the end of the log", async () => {
    const home = await homeWithSession();
    edit(home, "DELETE FROM records WHERE sequence = 2");
    const reader = readerOf(home);
    const lines = reader.records("s1", 1);
    expect(lines.next().value).toBe(reader.record("s1", 1));
    expect(thrownBy(() => lines.next())).toMatchObject(LOST);
    expect(thrownBy(() => keptRecord(reader, "s1", 2))).toMatchObject(LOST);
  });

  test("that no longer parses is lost", async () => {
    const home = await homeWithSession();
    edit(home, "UPDATE records SET line = substr(line, 1, 100) WHERE sequence = 2");
    expect(thrownBy(() => keptRecord(readerOf(home), "s1", 2))).toMatchObject(LOST);
  });

  test("has the size of its file in bytes", async () => {
    const home = await homeWithSession();
    const line = '{"payload":{"summary":"Grüße 🚢"}}';
    edit(home, `UPDATE records SET line = '${line}' WHERE sequence = 2`);
    writeFileSync(join(home, "line"), line);
    const { record, bytes } = measuredRecord(readerOf(home), "s1", 2);
    expect(record.payload).toEqual({ summary: "Grüße 🚢" });
    expect(bytes).toBe(statSync(join(home, "line")).size);
  });
});
