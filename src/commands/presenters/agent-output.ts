import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { clipped, safeLine, safeText } from "../../ui/display.ts";
import type { Output } from "../../ui/terminal.ts";
import { counted } from "../../ui/words.ts";

/** A turn whose agent may have printed something besides its messages. */
export interface AgentTurn {
  readonly turn_id: string;
  readonly role_id: string;
  readonly attempt: number | undefined;
}

/** Maximum of what is shown: the last lines, within this many bytes, of the newest files. */
const LINES_SHOWN = 20;
const BYTES_READ = 64 * 1024;
const FILES_SHOWN = 10;

/** Maximum width of a line, in columns. */
const WIDEST_LINE = 1_000;

const NAME = /^(.+)\.(\d+)\.(stdout|stderr)\.log$/;

/** Shows what the agents of these turns printed, newest last: the files and, with `ends`, their last lines. */
export function showAgentOutput(out: Output, folder: string, turns: Iterable<AgentTurn>, ends: boolean): void {
  const files = filesOf(folder, turns);
  if (files.length === 0) return;
  out.line("What agents printed:");
  const omitted = files.length - FILES_SHOWN;
  if (omitted > 0) out.line(`  ${counted(omitted, "earlier file")} in ${safeLine(folder)}`);
  for (const { path, turn, stream } of files.slice(-FILES_SHOWN)) {
    const attempt = turn.attempt === undefined ? "" : `, attempt ${turn.attempt}`;
    out.line(`  ${out.style("bold", `${safeLine(turn.role_id)}${attempt}, ${stream}`)}: ${safeLine(path)}`);
    if (ends) for (const line of endOf(path)) out.line(`    ${line}`);
  }
}

interface OutputFile {
  readonly path: string;
  readonly turn: AgentTurn;
  readonly stream: string;
}

/** The files of these turns, each turn's in the order of its runs. */
function filesOf(folder: string, turns: Iterable<AgentTurn>): OutputFile[] {
  const named = namesIn(folder).flatMap((name) => {
    const [, turn_id = "", run, stream = ""] = NAME.exec(name) ?? [];
    return run === undefined ? [] : [{ path: join(folder, name), turn_id, run: Number(run), stream }];
  });
  const byTurn = Map.groupBy(
    named.toSorted((one, other) => one.run - other.run || other.stream.localeCompare(one.stream)),
    ({ turn_id }) => turn_id,
  );
  return [...turns].flatMap((turn) => (byTurn.get(turn.turn_id) ?? []).map((file) => ({ ...file, turn })));
}

/** The folder is missing if no agent printed anything. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The last lines of a file, safe for a terminal. An unreadable file is not a failure. */
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
      // The first line may be cut.
      const whole = size > bytes.length && lines.length > 1 ? lines.slice(1) : lines;
      const isAll = size <= bytes.length && whole.length <= LINES_SHOWN;
      const shown = whole
        .slice(-LINES_SHOWN)
        .map((line) => (line.length > WIDEST_LINE ? clipped(line, WIDEST_LINE) : line));
      return isAll ? shown : ["… (the beginning is in the file)", ...shown];
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return [`(cannot be read: ${error instanceof Error ? safeLine(error.message) : ""})`];
  }
}
