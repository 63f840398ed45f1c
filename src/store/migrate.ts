import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { crashPoint } from "../lib/crash-point.ts";
import { shipped } from "../lib/files.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { backUp } from "./backup.ts";
import { type Database, write } from "./database.ts";

/** One numbered file of `migrations/`. It never changes after its release: every database that it made stores its hash. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/;

const LEDGER = `
CREATE TABLE IF NOT EXISTS migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT`;

/** This program's migrations, in order. Throws if their files are missing, since the installation is then broken. */
export function bundledMigrations(): readonly Migration[] {
  const folder = shipped("migrations");
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const match = FILE_NAME.exec(file);
      if (match === null) return [];
      const sql = readFileSync(join(folder, file), "utf8");
      const sha256 = createHash("sha256").update(sql).digest("hex");
      return [{ number: Number(match[1]), name: match[2] ?? "", sql, sha256 }];
    });
}

/**
 * Migrates a database to the newest schema, in one transaction; an older database is backed up first. Safe to run in several processes at
 * once. Does nothing if the database is up to date. Fails with `newer_database` if a later version of the program made it, `storage` if it was
 * made by other migrations or the backup fails.
 */
export function migrate(database: Database, migrations: readonly Migration[]): Fallible<void> {
  const before = appliedCount(database, migrations, database.name);
  if (!before.ok) return before;
  if (before.value === migrations.length) return ok(undefined);
  const migrated = write(database, () => {
    // Another process may have migrated it meanwhile.
    const applied = appliedCount(database, migrations, database.name);
    if (!applied.ok) return applied;
    const { value: number } = applied;
    const saved: Fallible<unknown> =
      number === 0 || number === migrations.length ? ok(undefined) : backUp(database.name, number);
    if (!saved.ok) return saved;
    database.exec(LEDGER);
    const applying = database.prepare("INSERT INTO migrations VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))");
    for (const { number: next, name, sha256, sql } of migrations.slice(number)) {
      database.exec(sql);
      applying.run(next, name, sha256);
    }
    return ok(undefined);
  });
  if (migrated.ok) crashPoint("database_made");
  return migrated;
}

/** Number of migrations applied to the database at `path`. Fails like `migrate`. */
export function appliedCount(database: Database, migrations: readonly Migration[], path: string): Fallible<number> {
  const ledger = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'").get();
  if (ledger === undefined) return ok(0);
  const rows = database
    .prepare<[], { number: number; name: string; sha256: string }>(
      "SELECT number, name, sha256 FROM migrations ORDER BY number",
    )
    .all();
  for (const [index, row] of rows.entries()) {
    const migration = migrations[index];
    if (migration === undefined) {
      const versions = `schema ${row.number}; this one knows ${migrations.length}`;
      return fails("newer_database", `The database ${path} was made by a newer Bosun (${versions}).`, {
        hint: "Update Bosun with `npm install -g bosun`, or choose another home with --home.",
      });
    }
    if (row.sha256 !== migration.sha256) {
      return fails(
        "storage",
        `The database ${path} was made by another migration ${row.number} (${row.name}) than this program's.`,
        {
          hint: "It belongs to a development version of Bosun. Use that version, or choose another home with --home.",
        },
      );
    }
  }
  return ok(rows.length);
}

/** A view of the state rows as a migration leaves them. */
const VIEW = /^CREATE TEMP VIEW told AS[\s\S]*?;$/m;

/** Shows a reader of an older database its rows as the missing migrations would leave them. Writes nothing. */
export function showMigrated(database: Database, missing: readonly Migration[]): void {
  for (const { sql } of missing) {
    const [view] = VIEW.exec(sql) ?? [];
    if (view !== undefined) database.exec(view.replace("TEMP VIEW told", "TEMP VIEW state"));
  }
}
