import { changeLines } from "../kernel/changes.ts";
import type { ChangedFiles } from "../protocol/record.ts";
import { clipped, wrapped } from "./display.ts";
import type { Output } from "./terminal.ts";
import { counted } from "./words.ts";

/** Maximum number of files in all, of which each ticket shows at least 3. `bosun report` has more. */
const MAX_FILES = 30;

const MAX_TICKETS = 20;

const SUMMARY_WIDTH = 400;

/** What came of the work on a ticket. Untrusted text. */
interface WorkDone {
  readonly id: string;
  readonly summary?: string | undefined;
  readonly changed_files?: ChangedFiles | undefined;
}

/** What was done in each ticket, in its worker's words, and the files that it changed. */
export function workDoneLines(all: readonly WorkDone[], subject: string, output: Output): string[] {
  const done = all.filter(({ summary, changed_files }) => summary !== undefined || changed_files !== undefined);
  const most = Math.max(3, Math.floor(MAX_FILES / done.length));
  const lines = done
    .slice(0, MAX_TICKETS)
    .flatMap(({ id, summary = "", changed_files }) => [
      ...wrapped(clipped(`${id}: ${summary}`, SUMMARY_WIDTH), output.width, 2),
      ...changeLines(changed_files, most).map((line) => output.style("dim", `    ${clipped(line, output.width - 4)}`)),
    ]);
  if (done.length > MAX_TICKETS) lines.push(`  and ${counted(done.length - MAX_TICKETS, `more ${subject}`)}`);
  return lines.length === 0 ? [] : ["", output.style("bold", "What was done"), ...lines];
}
