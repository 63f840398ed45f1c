import { readdirSync } from "node:fs";
import { join } from "node:path";
import { recordFile } from "../../log/reader.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";

/** The log folders of a home that can be read, with the sequence of the last record in each. A link is none. */
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
  err.line(`The database does not have all records of these folders in ${safeLine(join(home, "logs"))}: ${names}`);
  err.line(`  To add them: ${localize(err, "bosun rebuild")}`);
}
