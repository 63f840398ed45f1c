import { existsSync, renameSync, rmSync } from "node:fs";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { databasePath, openForReading, openForWriting, write } from "./database.ts";
import { bundledMigrations, migrate } from "./migrate.ts";
import { queriesOn } from "./queries.ts";
import { apply, openStore } from "./sqlite-store.ts";
import { guarded } from "./storage-failure.ts";
import type { Commit, NewSession } from "./store.ts";

/** Whether a home's database, which is made if it is missing, is damaged. Fails for one that cannot be used for another reason. */
export function isDatabaseDamaged(home: string): Fallible<boolean> {
  const path = databasePath(home);
  const store = openStore(home);
  if (store.ok) store.value.close();
  const opened = store.ok ? openForReading(home) : store;
  if (!opened.ok) return opened.error.details?.damaged === true ? ok(true) : opened;
  const checked = guarded(path, () => ok(opened.value.pragma("quick_check", { simple: true }) !== "ok"));
  opened.value.close();
  return checked.ok || checked.error.details?.damaged !== true ? checked : ok(true);
}

/**
 * Replaces all rows of a session in a home's database, in one transaction: its inbox rows may have been taken long ago. The caller holds the
 * session's lock.
 */
export function replaceSession(home: string, session: NewSession, commit: Commit): Fallible<void> {
  const opened = openForWriting(home);
  if (!opened.ok) return opened;
  const database = opened.value;
  const { session_id } = session;
  try {
    const migrated = migrate(database, bundledMigrations());
    if (!migrated.ok) return migrated;
    // Children keep the name of their parent, whether its rows are there or not.
    database.pragma("foreign_keys = OFF");
    const queries = queriesOn(database);
    return write(database, () => {
      for (const table of ["records", "state", "artifacts", "inbox", "inbox_outcomes", "sessions"])
        database.prepare(`DELETE FROM ${table} WHERE session = ?`).run(queries.sessions.key(session_id) ?? 0);
      queries.sessions.insert(session);
      const key = queries.sessions.key(session_id) as number;
      return apply(queries, { lease: { session_id, epoch: 0 }, key }, commit);
    });
  } finally {
    database.close();
  }
}

/** Puts the complete database of the home `made` in the place of a home's damaged one, which is moved aside. Returns its new path. */
export function replaceDatabase(home: string, made: string, label: string): Fallible<string> {
  const path = databasePath(home);
  const aside = `${path}.${label}.damaged`;
  return guarded(path, () => {
    // SQLite would apply the old `-wal` to the new database.
    for (const suffix of ["-wal", "-shm", ""]) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
    renameSync(databasePath(made), path);
    rmSync(made, { recursive: true });
    return ok(aside);
  });
}
