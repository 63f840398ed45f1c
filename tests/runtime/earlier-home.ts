import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { LogRecord } from "../../src/protocol/record.ts";
import { eventLines } from "../../src/log/events.ts";
import { recordName } from "../../src/log/reader.ts";
import { temporaryDirectory } from "./rig.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures/homes/debate-rows-1");

/** What each command printed with the version that made the home, without hints and paths, and what its report says since: seats and vendors. */
export const VIEWS = readFileSync(join(FIXTURES, "views.ndjson"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as { readonly command: string; readonly shown: unknown });

/**
 * A home of the last version in which the rows of a debate had version 1 (commit 857fa9fc): a closed debate, one that was stopped while a debater
 * waits to be asked again, and one that waits for a person since its scheduler died in a turn.
 */
export function earlierHome(): string {
  const home = temporaryDirectory();
  cpSync(join(FIXTURES, "sessions"), join(home, "sessions"), { recursive: true });
  const database = new Database(join(home, "bosun.db"));
  database.exec(readFileSync(join(FIXTURES, "home.sql"), "utf8"));
  const records = database
    .prepare<[], { session_id: string; sequence: number; payload_type: string; line: string }>(
      "SELECT session_id, sequence, payload_type, line FROM records JOIN sessions USING (session) ORDER BY session, sequence",
    )
    .all();
  database.close();
  for (const { session_id, sequence, payload_type, line } of records) {
    const log = join(home, "logs", session_id);
    mkdirSync(log, { recursive: true });
    writeFileSync(join(log, recordName(sequence, payload_type)), line);
    writeFileSync(join(log, "events.log"), eventLines(sequence, JSON.parse(line) as LogRecord), { flag: "a" });
  }
  return home;
}
