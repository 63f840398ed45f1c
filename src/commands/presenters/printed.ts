import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { clipped, safeLine, safeText } from "../../ui/display.ts";
import type { Output } from "../../ui/terminal.ts";
import { counted } from "../../ui/words.ts";

/** A turn whose agent may have printed something. */
export interface PrintingTurn {
  readonly turn_id: string;
  readonly role_id: string;
  readonly attempt: number | undefined;
}

/** Of each file the end is shown, of many files the newest; in lines, bytes and files. */
const LINES_SHOWN = 20;
const BYTES_READ = 64 * 1024;
const FILES_SHOWN = 10;

/** Longer lines are cut there, in columns. */
const WIDEST_LINE = 1_000;

const NAME = /^(.+)\.(\d+)\.(stdout|stderr)\.log$/;

/** What the agents of these turns printed besides their messages, the newest last: where all of it lies and, with `ends`, the end of it. */
export function showPrinted(out: Output, folder: string, turns: Iterable<PrintingTurn>, ends: boolean): void {
  const files = filesOf(folder, turns);
  if (files.length === 0) return;
  out.line("What agents printed:");
  const untold = files.length - FILES_SHOWN;
  if (untold > 0) out.line(`  ${counted(untold, "earlier file")} in ${safeLine(folder)}`);
  for (const { path, turn, stream } of files.slice(-FILES_SHOWN)) {
    const attempt = turn.attempt === undefined ? "" : `, attempt ${turn.attempt}`;
    out.line(`  ${out.style("bold", `${safeLine(turn.role_id)}${attempt}, ${stream}`)}: ${safeLine(path)}`);
    if (ends) for (const line of endOf(path)) out.line(`    ${line}`);
  }
}

interface PrintedFile {
  readonly path: string;
  readonly turn: PrintingTurn;
  readonly stream: string;
}

function filesOf(folder: string, turns: Iterable<PrintingTurn>): PrintedFile[] {
  const byTurn = new Map<string, { readonly run: number; readonly stream: string; readonly name: string }[]>();
  for (const name of namesIn(folder)) {
    const [, turn_id, run, stream] = NAME.exec(name) ?? [];
    if (turn_id === undefined || stream === undefined) continue;
    byTurn.set(turn_id, [...(byTurn.get(turn_id) ?? []), { run: Number(run), stream, name }]);
  }
  return [...turns].flatMap((turn) =>
    (byTurn.get(turn.turn_id) ?? [])
      .toSorted((one, other) => one.run - other.run || other.stream.localeCompare(one.stream))
      .map(({ name, stream }) => ({ path: join(folder, name), turn, stream })),
  );
}

/** A session whose agents printed nothing has no such folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The last lines of a file, safe for a terminal. It is no evidence: one that cannot be read is said to be so, and no failure. */
function endOf(path: string): string[] {
  try {
    const file = openSync(path, "r");
    try {
      const { size } = fstatSync(file);
      const bytes = Buffer.alloc(Math.min(size, BYTES_READ));
      const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
      const lines = safeText(bytes.toString("utf8", 0, read))
        .trimEnd()
        .split("\n");
      // Of what was not read as a whole the first line is only the end of one.
      const whole = size > bytes.length && lines.length > 1 ? lines.slice(1) : lines;
      const isAll = size <= bytes.length && whole.length <= LINES_SHOWN;
      const shown = whole
        .slice(-LINES_SHOWN)
        .map((line) => (line.length > WIDEST_LINE ? clipped(line, WIDEST_LINE) : line));
      return isAll ? shown : ["… (the file has the beginning)", ...shown];
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return [`(it cannot be read: ${error instanceof Error ? safeLine(error.message) : ""})`];
  }
}
