import { basename, dirname, join } from "node:path";
import { entriesOf, isDirectory, repositoryRoot } from "../../config/found.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { parseRecord, readPlainFile, recordName } from "../../log/reader.ts";
import { MAX_RECORD_BYTES } from "../../protocol/limits.ts";

/** How many homes are named at most. */
const MOST_NAMED = 3;

/**
 * Where the sessions of a moved repository are, a sentence for each home: homes beside the missing `home` whose workspace is gone, and had the
 * same name as this directory's repository or the same parent. Reads log files only: opening a database would migrate it.
 */
export function leftHomes(home: string, directory: string): string[] {
  const here = repositoryRoot(directory) ?? directory;
  const mayBeHere = (workspace: string) =>
    !isDirectory(workspace) && (basename(workspace) === basename(here) || dirname(workspace) === dirname(here));
  const homes = namesIn(dirname(home)).flatMap((name) => {
    const other = join(dirname(home), name);
    const workspace = workspacesIn(join(other, "logs")).find(mayBeHere);
    if (workspace === undefined) return [];
    return `Sessions of ${workspace}, which no longer exists, are in another home: bosun status --home ${shellWord(other)}`;
  });
  return homes.slice(0, MOST_NAMED);
}

/** The workspaces of a home's sessions, from their first records. */
function workspacesIn(logs: string): string[] {
  return namesIn(logs).flatMap((session_id) => {
    const bytes = readPlainFile(join(logs, session_id, recordName(1, "session_opened")), MAX_RECORD_BYTES);
    const workspace = bytes === null ? undefined : parseRecord(bytes.toString("utf8"))?.payload.workspace;
    return typeof workspace === "string" ? [workspace] : [];
  });
}

function namesIn(folder: string): string[] {
  const entries = entriesOf(folder);
  return entries.ok ? (entries.value ?? []).map(({ name }) => name) : [];
}
