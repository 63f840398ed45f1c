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
import { afterEach, describe, expect, test } from "vitest";
import { databasePath } from "../../src/store/database.ts";
import { keptRecord, measuredRecord } from "../../src/store/kept-record.ts";
import { lockPath } from "../../src/store/lock.ts";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import { StorageError } from "../../src/store/storage-error.ts";
import type { StoreReader } from "../../src/store/store.ts";
import { chain, cleanUp, closeLater, openFiles, OWNER, temporaryDirectory } from "./rig.ts";
import { failureOf, value } from "../results.ts";

afterEach(cleanUp);

const ACTOR = { user: "anna", host: "here", via: "cli" };
const RECORDS = 100;

/** A home with one session that has something of everything, and nobody who has it open. */
async function homeWithSession(): Promise<string> {
  const home = temporaryDirectory();
  const store = value(openStore(home));
  value(await store.create({ session_id: "s1", mode: "m", workspace: "/w", created_at: "2026-01-01T00:00:00Z" }));
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
  closeLater(() => reader.close());
  return reader;
}

/** Writes over all but the first page, as a disk that loses its blocks: who has read some of them already still has those. */
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

/** That the home's database is damaged, and what to do. */
function damagedAt(home: string) {
  return {
    code: "storage",
    message: expect.stringContaining(databasePath(home)) as string,
    hint: `Keep the file as it is. Every record is a file in the logs, too: \`bosun replay ${join(home, "logs")}/SESSION --verify\` proves one. Start a new home with --home to go on.`,
  };
}

/** What a read is refused with. */
function refusalOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error instanceof StorageError ? error.failure : error;
  }
  return "not refused";
}

describe("a database that is damaged while it is open is told as damaged", () => {
  test.each<[string, (reader: StoreReader) => unknown]>([
    ["the sessions", (reader) => reader.sessions()],
    ["the holder of a session", (reader) => reader.holder("s1")],
    ["a record", (reader) => reader.record("s1", 1)],
    ["records", (reader) => [...reader.records("s1", 1)]],
  ])("by who reads %s, and has read nothing before", async (_, read) => {
    const home = await homeWithSession();
    const reader = readerOf(home);
    damage(home);
    const damaged = damagedAt(home);
    expect(refusalOf(() => read(reader))).toMatchObject(damaged);
    expect(failureOf(reader.session("s1"))).toMatchObject(damaged);
    expect(failureOf(await reader.load("s1"))).toMatchObject(damaged);
  });

  test.each<[string, (reader: StoreReader) => unknown]>([
    ["another record", (reader) => reader.record("s1", RECORDS)],
    ["records", (reader) => [...reader.records("s1", 1)]],
    ["sealed records", (reader) => [...reader.sealed("s1", 1)]],
    ["a value", (reader) => reader.value("s1", "ticket", "T-1")],
    ["the artifacts", (reader) => reader.artifacts("s1")],
    ["the inbox", (reader) => reader.inbox.pending("s1")],
  ])("by who reads %s, and knows the session already", async (_, read) => {
    const home = await homeWithSession();
    const reader = readerOf(home);
    reader.record("s1", 1);
    damage(home);
    expect(refusalOf(() => read(reader))).toMatchObject(damagedAt(home));
  });
});

test("something else where the database should be is told to readers, who leave nothing open", () => {
  const home = temporaryDirectory();
  writeFileSync(databasePath(home), "This is no database. ".repeat(1_000));
  expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
  expect(openFiles(process.pid)).not.toContain(databasePath(home));
});

test("a home that cannot be looked into is not taken for none", () => {
  const home = join(temporaryDirectory(), "home");
  symlinkSync(home, home);
  const told = { code: "storage", message: `The database cannot be used: ${databasePath(home)} (ELOOP).` };
  expect(failureOf(openReader(home))).toMatchObject(told);
});

test("a pipe in the database's place is told, and not waited for", () => {
  const home = temporaryDirectory();
  execFileSync("mkfifo", [databasePath(home)]);
  // Somebody else who has it open, so that opening it would end.
  const other = openSync(databasePath(home), constants.O_RDWR);
  const told = { code: "storage", message: `The database is no file: ${databasePath(home)}.` };
  expect(failureOf(openReader(home))).toMatchObject(told);
  expect(failureOf(openStore(home))).toMatchObject(told);
  closeSync(other);
});

describe("a database with other tables than the migrations make is told as damaged, and is no bug", () => {
  test.each([
    ["lacks a table", "DROP TABLE inbox"],
    ["lacks a column", "ALTER TABLE sessions DROP COLUMN epoch"],
    ["does not know of its migrations", "DELETE FROM migrations"],
  ])("where it %s", async (_, sql) => {
    const home = await homeWithSession();
    edit(home, sql);
    expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
    expect(failureOf(openStore(home))).toMatchObject(damagedAt(home));
  });

  test("where it is another program's", () => {
    const home = temporaryDirectory();
    edit(home, "CREATE TABLE sessions (id)");
    expect(failureOf(openReader(home))).toMatchObject(damagedAt(home));
    expect(failureOf(openStore(home))).toMatchObject(damagedAt(home));
  });
});

test("a pipe in a lock's place is held by nobody, and not waited for", async () => {
  const home = await homeWithSession();
  rmSync(lockPath(home, "s1"));
  execFileSync("mkfifo", [lockPath(home, "s1")]);
  const other = openSync(lockPath(home, "s1"), constants.O_RDWR);
  expect(readerOf(home).holder("s1")).toBeUndefined();
  closeSync(other);
});

test.each<readonly [string, (path: string) => void]>([
  ["a pipe", (path) => execFileSync("mkfifo", [path])],
  ["a directory", (path) => mkdirSync(path)],
  ["something else", (path) => writeFileSync(path, "something else ".repeat(100))],
])("%s in a lock's place is held by nobody, and told by its name to who takes it", async (_, put) => {
  const home = await homeWithSession();
  const path = lockPath(home, "s1");
  rmSync(path);
  put(path);
  expect(readerOf(home).holder("s1")).toBeUndefined();
  const store = value(openStore(home));
  closeLater(() => store.close());
  const refused = { code: "storage", message: `What stands in the place of a session's lock is none: ${path}.` };
  expect(failureOf(await store.acquire("s1", OWNER))).toMatchObject(refused);
  rmSync(path, { recursive: true });
  value(await store.acquire("s1", OWNER));
});

test("a lock that something is written into while it is held stays held", async () => {
  const home = await homeWithSession();
  const store = value(openStore(home));
  closeLater(() => store.close());
  value(await store.acquire("s1", OWNER));
  // By another process: whoever holds it would lose it.
  execFileSync("sh", ["-c", 'yes "something else" | head -c 2000 >"$0"', lockPath(home, "s1")]);
  expect(readerOf(home).holder("s1")).toEqual(OWNER);
});

describe("a record that was committed", () => {
  const LOST = { code: "storage", message: expect.stringContaining("record 2 of s1 is lost") as string };

  test("and is gone from between others is lost, and not the end", async () => {
    const home = await homeWithSession();
    edit(home, "DELETE FROM records WHERE sequence = 2");
    const reader = readerOf(home);
    const lines = reader.records("s1", 1);
    expect(lines.next().value).toBe(reader.record("s1", 1));
    expect(refusalOf(() => lines.next())).toMatchObject(LOST);
    expect(refusalOf(() => keptRecord(reader, "s1", 2))).toMatchObject(LOST);
  });

  test("and is none any more is lost", async () => {
    const home = await homeWithSession();
    edit(home, "UPDATE records SET line = substr(line, 1, 100) WHERE sequence = 2");
    expect(refusalOf(() => keptRecord(readerOf(home), "s1", 2))).toMatchObject(LOST);
  });

  test("has as many bytes as its file, whatever it is written in", async () => {
    const home = await homeWithSession();
    const line = '{"payload":{"summary":"Grüße 🚢"}}';
    edit(home, `UPDATE records SET line = '${line}' WHERE sequence = 2`);
    writeFileSync(join(home, "line"), line);
    const { record, bytes } = measuredRecord(readerOf(home), "s1", 2);
    expect(record.payload).toEqual({ summary: "Grüße 🚢" });
    expect(bytes).toBe(statSync(join(home, "line")).size);
  });
});
