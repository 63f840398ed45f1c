import { readFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { expect, it } from "vitest";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { replayState } from "../../src/runtime/replayed-state.ts";
import { bundledMigrations, showMigrated } from "../../src/store/migrate.ts";
import type { StateRow } from "../../src/store/store.ts";
import { MODES } from "../runtime/sessions.ts";

const GOLDEN = join(import.meta.dirname, "..", "fixtures", "golden-logs");

it.each(["schedule-rules-16/closed", "schedule-rules-16/waiting", "debate-rules-10/closed", "debate-rules-10/waiting"])(
  "stored rows of an earlier version become those of this one, after each record of %s",
  (name) => {
    const lines = readFileSync(join(GOLDEN, `${name}.ndjson`), "utf8")
      .trimEnd()
      .split("\n");
    const { payload } = JSON.parse(lines[0] ?? "") as LogRecord;
    const mode = MODES.get(payload["mode"] as string) as Mode<unknown>;
    const changed = new Set<string>();
    for (let count = 1; count <= lines.length; count++) {
      // A fact is committed with the records that follow from it.
      if ((JSON.parse(lines[count] ?? '{"record":{}}') as LogRecord).record.kind === "decided") continue;
      const kept = lines.slice(0, count);
      const rows = [...(replayState(mode, kept)?.rows.values() ?? [])];
      const before = rows.map((row) => asBefore(row, kept));
      for (const [index, { collection }] of rows.entries()) if (before[index] !== rows[index]) changed.add(collection);
      expect(new Map(migrated(before, kept))).toEqual(
        new Map(rows.map(({ collection, id, value }) => [`${collection} ${id}`, value])),
      );
    }
    expect(name !== "schedule-rules-16/closed" || (changed.has("ask") && changed.has("turn"))).toBe(true);
  },
);

/** A row as the earlier version stored it. */
function asBefore(row: StateRow, lines: readonly string[]): StateRow {
  const { collection } = row;
  if (collection !== "ask" && collection !== "turn") return row;
  const { open: _, since: __, ...value } = row.value as JsonObject;
  if (collection === "turn" || value["kind"] !== "approval") return { ...row, value };
  // The ask named the record that led to it.
  const request = JSON.parse(lines[(value["record"] as number) - 1] ?? "") as LogRecord;
  const earlier = lines.findLastIndex((line, index) => {
    const { record } = JSON.parse(line) as LogRecord;
    return index < (value["record"] as number) - 1 && record.kind === "fact" && record.received_at <= request.timestamp;
  });
  return { ...row, value: { ...value, record: earlier + 1 } };
}

function migrated(rows: readonly StateRow[], lines: readonly string[]): [string, unknown][] {
  const database = new Sqlite(":memory:");
  const migrations = bundledMigrations();
  const [last] = migrations.slice(3, 4);
  for (const { sql } of migrations.slice(0, 3)) database.exec(sql);
  database.exec(
    "INSERT INTO sessions (session_id, mode, workspace, created_at, updated_at, head) VALUES ('s', '', '', '', '', '')",
  );
  const record = database.prepare("INSERT INTO records VALUES (1, ?, ?, NULL, '', ?)");
  for (const [index, line] of lines.entries())
    record.run(index + 1, (JSON.parse(line) as LogRecord).payload_type, line);
  const state = database.prepare("INSERT INTO state VALUES (1, ?, ?, ?)");
  for (const { collection, id, value } of rows) state.run(collection, id, JSON.stringify(value));
  const read = () =>
    (
      database.prepare("SELECT collection, id, value FROM state").all() as Record<
        "collection" | "id" | "value",
        string
      >[]
    ).map(({ collection, id, value }): [string, unknown] => [`${collection} ${id}`, JSON.parse(value)]);
  // A reader sees the same before anybody has migrated the database.
  showMigrated(database, migrations.slice(3));
  const shown = read();
  database.exec("DROP VIEW temp.state");
  database.exec(last?.sql ?? "");
  const stored = read();
  database.close();
  expect(new Map(shown)).toEqual(new Map(stored));
  return stored;
}
