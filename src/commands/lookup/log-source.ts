import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isDirectory } from "../../lib/files.ts";
import { err, ok } from "../../lib/result.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import { listFolder, type Listing } from "../../log/reader.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { databasePath } from "../../store/database.ts";
import type { SessionRow } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
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

/** The name of a log as a person types it. */
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
    const { session_id } = row.value;
    const isHeld = store.holder(session_id) !== undefined;
    return ok({ folder: sessionPaths(home, session_id).log, home, row: row.value, isHeld });
  });
}

/** The files of a log. If the folder is missing and the session is known, the failure says how to write it again. */
export function listingOf({ folder, row }: LogSource): Fallible<Listing> {
  const listing = listFolder(folder);
  if (listing.ok || listing.error.code !== "not_found" || row === undefined) return listing;
  return err({ ...listing.error, hint: `To write it again from the database: bosun resume ${row.session_id}.` });
}

/** For a folder that is not a log. */
export const NO_RECORDS = "There are no records in it. Name a session, or a folder below logs/.";

/** The failure for a folder without records. */
export function notALog({ folder }: LogSource): Failure {
  return failure("environment", `${safeLine(folder)} is not a session's log. ${NO_RECORDS}`);
}

function folderAlone(folder: string): LogSource {
  return { folder, home: undefined, row: undefined, isHeld: false };
}
