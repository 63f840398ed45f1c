import { widthOf } from "../lib/text-layout.ts";
import { hanging, safeLine } from "./display.ts";
import type { RecordLine } from "./format-options.ts";
import type { Output } from "./terminal.ts";
import { localTime } from "./time.ts";
import { localize } from "./words.ts";

/** Width of the column of ticket ids. */
export const TICKET_WIDTH = 16;

/** The part of a line that columns may take, and with them the session's id, which is in the first line; else they take the room of what happened. */
const COLUMNS_SHARE = 0.4;

/**
 * What happened as a line: when, in which session where that is to be told, to which ticket, and what. Of a terminal it takes as many as it
 * must, broken between words.
 */
export function storyLines(
  out: Output,
  at: Date,
  { ticket, text, command, style }: RecordLine,
  session_id?: string,
): string[] {
  const time = localTime(at);
  const name = safeLine(ticket ?? "-");
  const typed = command === undefined ? undefined : localize(out, safeLine(command));
  const styled = (line: string) => (style ? out.style(style, line) : line);
  const session = session_id === undefined ? "" : `${session_id} `;
  const columns = `${time} ${session}${name.padEnd(TICKET_WIDTH)} `;
  if (widthOf(columns) > out.width * COLUMNS_SHARE)
    return hanging(`${time.slice(0, 8)} ${name} ${text}`, out.width, 2, typed).map(styled);
  const [first = "", ...more] = hanging(text, out.width, widthOf(columns), typed);
  return [columns + styled(first), ...more.map(styled)];
}
