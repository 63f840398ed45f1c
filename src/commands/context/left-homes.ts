import { basename, dirname, join } from "node:path";
import { entriesOf, isDirectory, repositoryRoot } from "../../config/found.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { parseRecord, readPlainFile, recordName } from "../../log/reader.ts";
import { MAX_RECORD_BYTES } from "../../protocol/limits.ts";

/** More are not told of: who moves one repository after another knows where to look. */
const MOST_TOLD = 3;

/**
 * Where the work of a repository is that was moved, in a sentence for each: in a home beside the one that `directory` would have and that
 * is not there. Sessions of it worked in what is gone, and had this one's name or lay beside it. Only files of logs are read, since whoever
 * opens the database of another version brings it up to date.
 */
export function leftHomes(home: string, directory: string): string[] {
  const here = repositoryRoot(directory) ?? directory;
  const mayBeHere = (workspace: string) =>
    !isDirectory(workspace) && (basename(workspace) === basename(here) || dirname(workspace) === dirname(here));
  const told = namesIn(dirname(home)).flatMap((name) => {
    const other = join(dirname(home), name);
    const workspace = workspacesIn(join(other, "logs")).find(mayBeHere);
    if (workspace === undefined) return [];
    return `What was done in ${workspace}, which is not there any more, is in another home: bosun status --home ${shellWord(other)}`;
  });
  return told.slice(0, MOST_TOLD);
}

/** Where the sessions of a home worked, by their first records. */
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
