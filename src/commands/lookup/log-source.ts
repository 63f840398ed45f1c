import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDirectory } from "../../lib/files.ts";
import { err, ok } from "../../lib/result.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { listFolder, type Listing, recordFile } from "../../log/reader.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { databasePath } from "../../store/database.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { trashOf } from "../../store/trash.ts";
import { hanging, safeLine } from "../../ui/display.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { homeOf, withHome } from "../context/home.ts";
import { readHomeOf } from "./homes.ts";
import { findSession, resolveSession, SHOW } from "./resolve.ts";

/** A log folder, and its session if this home knows it. */
export interface LogSource {
  readonly folder: string;
  readonly home: string | undefined;
  readonly row: SessionRow | undefined;
  /** Whether a process runs the session. */
  readonly isHeld: boolean;
}

export function typedName({ row, folder }: Pick<LogSource, "row" | "folder">): string {
  return row?.session_id ?? shellWord(safeLine(folder));
}

/** A path names a log folder, anything else a session. Only a session's own folder is compared with its database. */
export async function sourceOf(context: CommandContext, named: string | undefined): Promise<Fallible<LogSource>> {
  // An empty word (an unset variable) is not the current directory.
  const path = named === undefined || named === "" ? undefined : resolve(context.directory, named);
  const isPath = named !== undefined && (named.includes("/") || named === ".");
  const home = homeOf(context);
  if (path !== undefined && (isPath || !home.ok || !existsSync(databasePath(home.value)))) {
    if (isDirectory(path)) return ok(folderAlone(path));
    if (isPath)
      return fails("usage", `There is no folder ${named}.`, { hint: "Name a session, or a folder below logs/." });
  }
  return withHome(await readHomeOf(context, named), async ({ home, store }) => {
    // A session without records in the database may have some in its folder.
    const row = named === undefined ? resolveSession(store, named, SHOW) : findSession(store, named);
    if (!row.ok) return path !== undefined && isDirectory(path) ? ok(folderAlone(path)) : row;
    return ok(logOf(home, store, row.value));
  });
}

export function logOf(home: string, store: StoreReader, row: SessionRow): LogSource {
  const { session_id } = row;
  return { folder: sessionPaths(home, session_id).log, home, row, isHeld: store.holder(session_id) !== undefined };
}

/** The files of a log. If the folder is missing and the session is known, the failure says how to write it again. */
export function listingOf({ folder, row }: LogSource): Fallible<Listing> {
  const listing = listFolder(folder);
  if (listing.ok || listing.error.code !== "not_found" || row === undefined) return listing;
  return err({ ...listing.error, hint: `To write it again from the database: bosun resume ${row.session_id}.` });
}

/** For a folder that is not a log. */
export const NO_RECORDS = "There are no records in it. Name a session, or a folder below logs/.";

export function notALog({ folder }: LogSource): Failure {
  return failure("environment", `${safeLine(folder)} is not a session's log. ${NO_RECORDS}`);
}

function folderAlone(folder: string): LogSource {
  return { folder, home: undefined, row: undefined, isHeld: false };
}

/** The log folders of a home that can be read, with the sequence of the last record in each. A link is none, nor one in the trash. */
export function logFolders(home: string): Map<string, number> {
  const logs = join(home, "logs");
  const found = new Map<string, number>();
  try {
    for (const { name } of readdirSync(logs, { withFileTypes: true }).filter((one) => one.isDirectory())) {
      const last = lastIn(join(logs, name));
      if (last > 0) found.set(name, last);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
  for (const { session_id } of trashOf(home)) found.delete(session_id);
  return found;
}

/** There may be very many names. Those of records are the ones that begin with digits, and their order is that of the sequences. */
function lastIn(folder: string): number {
  let last = "";
  for (const name of readdirSync(folder)) if (name > last && name < ":") last = name;
  return recordFile(last)?.sequence ?? 0;
}

/** Names the log folders that have records which the database does not have. */
export function tellUnknownLogs({ terminal: { err } }: CommandContext, home: string, store: StoreReader): void {
  const folders = logFolders(home);
  for (const { session_id, last_sequence } of store.sessions())
    if (last_sequence >= (folders.get(session_id) ?? 0) || store.holder(session_id)) folders.delete(session_id);
  if (folders.size === 0) return;
  const names = safeLine([...folders.keys()].join(", "));
  const what = `The database does not have all records of these folders in ${safeLine(join(home, "logs"))}: ${names}`;
  for (const line of hanging(what, err.width, 2)) err.line(line);
  err.line(`  To add them: ${localize(err, "bosun rebuild")}`);
}
