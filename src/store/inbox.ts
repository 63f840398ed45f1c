import type { JsonObject } from "../lib/json.ts";
import type { Actor } from "../protocol/record.ts";
import type { Database } from "./database.ts";
import type { InboxRow } from "./store.ts";

interface Row {
  readonly id: number;
  readonly body: string;
  readonly actor: string;
}

/** The rows of `inbox`: what waits for a session's owner. */
export function inboxQueries(database: Database) {
  const put = database.prepare<[number, string, string]>(
    "INSERT INTO inbox (session, body, actor, put_at) VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))",
  );
  const pending = database.prepare<[number], Row>("SELECT id, body, actor FROM inbox WHERE session = ? ORDER BY id");
  const take = database.prepare<[number, number]>("DELETE FROM inbox WHERE session = ? AND id = ?");

  return {
    put: (session: number, body: JsonObject, actor: Actor): number =>
      Number(put.run(session, JSON.stringify(body), JSON.stringify(actor)).lastInsertRowid),
    pending: (session: number): InboxRow[] =>
      pending.all(session).map((row) => ({
        id: row.id,
        body: JSON.parse(row.body) as JsonObject,
        actor: JSON.parse(row.actor) as Actor,
      })),
    take(session: number, ids: readonly number[]): void {
      for (const id of ids) take.run(session, id);
    },
  };
}
