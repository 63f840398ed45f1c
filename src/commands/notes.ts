import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { readFolder, recordIn } from "../log/reader.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeJson } from "../ui/display.ts";
import { notedIn } from "../ui/report/report-model.ts";
import { timelineLines } from "../ui/timeline.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { listingOf, notALog, sourceOf, typedName } from "./lookup/log-source.ts";

interface NotesOptions extends PagerOption {
  readonly json?: boolean;
}

/** `bosun notes`: lists all that the workers of a session noted for each other. */
export function register(command: Command): Action<NotesOptions> {
  command
    .argument("[session-or-folder]", "a session, or a log folder (default: the running session, else the newest)")
    .option("--json", "one JSON object a line");
  addPagerOption(command);
  return (context, words, options) =>
    paged(context, options, options.json !== true, (shown) => notes(shown, words, options));
}

async function notes(context: CommandContext, [named]: readonly string[], { json }: NotesOptions): Promise<Exit> {
  const source = await sourceOf(context, named);
  if (!source.ok) return source;
  const { folder } = source.value;
  const listing = listingOf(source.value);
  if (!listing.ok) return listing;
  const { files } = listing.value;
  if (files.length === 0) return err(notALog(source.value));
  const { out } = context.terminal;
  let isEmpty = true;
  const reports = files.filter(({ payload_type }) => payload_type === "report");
  for (const { sequence, bytes } of readFolder(folder, { files: reports, foreign: [] })) {
    const record = recordIn(bytes);
    for (const note of record === null ? [] : notedIn(sequence, record)) {
      isEmpty = false;
      const { at, ticket_id: ticket, role_id, text } = note;
      if (json === true) out.line(safeJson(note));
      else for (const line of timelineLines(out, new Date(at), { ticket, text: `${role_id}: ${text}` })) out.line(line);
    }
  }
  if (json === true) return ok(EXIT_DONE);
  if (isEmpty) out.line("No worker has noted anything for the others.");
  tellNext(out, `bosun report ${typedName(source.value)}`);
  return ok(EXIT_DONE);
}
