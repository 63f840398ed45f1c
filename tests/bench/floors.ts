import { hash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";

/** The work that no scheduler with the same promises can avoid: as many records, as large, in as many commits. */
export interface FloorOrder {
  readonly home: string;
  readonly tickets: number;
  readonly records: number;
  readonly commits: number;
  readonly bytes_per_record: number;
  readonly files: boolean;
}

/**
 * For each record: writes its text, chains its hash, inserts its row, replaces a row of state; commits by group; with `files` writes and
 * renames a file. No rules, agents or dependencies. In ms of wall time and of processor time.
 */
export function writeFloor(order: FloorOrder): { readonly working: number; readonly working_cpu: number } {
  const { home, tickets, records, commits, bytes_per_record, files } = order;
  const database = new SqliteDatabase(join(home, "floor.db"));
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(`
    CREATE TABLE record (sequence INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
    CREATE TABLE state (id INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT`);
  const insert = database.prepare("INSERT INTO record VALUES (?, ?)");
  const replace = database.prepare("INSERT OR REPLACE INTO state VALUES (?, ?)");
  const folder = join(home, "floor");
  if (files) mkdirSync(folder);
  const group = Math.max(1, Math.round(records / commits));
  const text = "x".repeat(Math.max(0, bytes_per_record - 150));
  let previous = "";
  const cpu = process.cpuUsage();
  const began = performance.now();
  for (let sequence = 1; sequence <= records; ) {
    const lines: [sequence: number, line: string][] = [];
    database.exec("BEGIN IMMEDIATE");
    for (let n = 0; n < group && sequence <= records; n++, sequence++) {
      const ticket = sequence % tickets;
      const line = JSON.stringify({ sequence, previous, ticket, payload: { text } });
      previous = hash("sha256", line);
      insert.run(sequence, line);
      replace.run(ticket, `{"ticket":${ticket},"sequence":${sequence},"status":"in_progress"}`);
      lines.push([sequence, line]);
    }
    database.exec("COMMIT");
    if (!files) continue;
    for (const [number, line] of lines) {
      writeFileSync(join(folder, ".new"), line);
      renameSync(join(folder, ".new"), join(folder, `${number}.json`));
    }
  }
  const working = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  database.close();
  return { working, working_cpu: (user + system) / 1_000 };
}

/** The least that any verification does: read, parse and hash each file. In ms. */
export function readFloor(folder: string): {
  readonly working: number;
  readonly records: number;
  readonly bytes: number;
} {
  const began = performance.now();
  let records = 0;
  let bytes = 0;
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith(".json")) continue;
    const text = readFileSync(join(folder, name), "utf8");
    JSON.parse(text);
    hash("sha256", text);
    records += 1;
    bytes += text.length;
  }
  return { working: performance.now() - began, records, bytes };
}

/** The least that a resume does: read and parse every value of the session's state. In ms. */
export function loadFloor(home: string): { readonly working: number; readonly values: number } {
  const began = performance.now();
  const database = new SqliteDatabase(join(home, "bosun.db"), { readonly: true });
  const values = new Map<string, unknown>();
  const rows = database.prepare<[], [collection: string, id: string, value: string]>(
    "SELECT collection, id, value FROM state",
  );
  for (const [collection, id, value] of rows.raw().iterate()) values.set(`${collection} ${id}`, JSON.parse(value));
  database.close();
  return { working: performance.now() - began, values: values.size };
}
