import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { type Database, databasePath, openForWriting, write } from "./database.ts";
import { guarded } from "./storage-failure.ts";

/** The tables with rows of sessions. */
export const TABLES = ["sessions", "records", "state", "artifacts", "inbox", "inbox_outcomes"] as const;

/** The columns that number the rows of all sessions. */
const NUMBERED: Readonly<Record<string, string>> = { artifacts: "artifact", inbox: "id" };

const NAMED = "WHERE session_id IN (SELECT value FROM json_each(?))";

/** Copies all rows of sessions from one home's database to that of another, in one transaction. It has none of them; both have the tables of this version. */
export function copySessions(from: string, to: string, ids: readonly string[]): Fallible<void> {
  return changing(to, (database) => {
    // Children keep the name of their parent, whether its rows are there or not.
    database.pragma("foreign_keys = OFF");
    database.prepare("ATTACH ? AS origin").run(databasePath(from));
    return write(database, () => {
      const free = database.prepare<[], number>("SELECT coalesce(max(session), 0) FROM sessions").pluck().get() ?? 0;
      for (const table of TABLES) {
        const number = NUMBERED[table];
        const all = database.prepare<[string], string>("SELECT name FROM pragma_table_info(?)").pluck().all(table);
        const columns = all.filter((name) => name !== "session" && name !== number).join(", ");
        const copy = `INSERT INTO main.${table} (session, ${columns}) SELECT session + ?, ${columns} FROM origin.${table}
          WHERE session IN (SELECT session FROM origin.sessions ${NAMED}) ORDER BY session, ${number ?? 2}`;
        database.prepare(copy).run(free, JSON.stringify(ids));
      }
      return ok(undefined);
    });
  });
}

/** Deletes all rows of sessions, in one transaction. The caller holds their locks. */
export function deleteSessions(home: string, ids: readonly string[]): Fallible<void> {
  return changing(home, (database) =>
    write(database, () => ok(void database.prepare(`DELETE FROM sessions ${NAMED}`).run(JSON.stringify(ids)))),
  );
}

/** Gives the space of deleted rows back to the file system. */
export function compact(home: string): Fallible<void> {
  return changing(home, (database) => ok(void database.exec("VACUUM")));
}

function changing(home: string, change: (database: Database) => Fallible<void>): Fallible<void> {
  const opened = openForWriting(home);
  if (!opened.ok) return opened;
  try {
    return guarded(databasePath(home), () => change(opened.value));
  } finally {
    opened.value.close();
  }
}
