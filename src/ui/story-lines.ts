import { safeLine, wrapped } from "./display.ts";
import type { RecordLine } from "./telling.ts";
import type { Output } from "./terminal.ts";
import { localTime } from "./time.ts";

/** Width of the column of ticket ids. */
export const TICKET_WIDTH = 16;

/** In fewer columns the session's id, which is in the first line, and columns would take the room of what happened. */
const NARROW = 60;

/** What happened as a line: when, in which session where that is to be told, to which ticket, and what. Of a narrow terminal it takes as many as it must. */
export function storyLines(
  out: Output,
  at: Date,
  { ticket, text, command, style }: RecordLine,
  session_id?: string,
): string[] {
  const time = localTime(at);
  const name = safeLine(ticket ?? "-");
  const typed = command === undefined ? [] : [safeLine(command)];
  const styled = (line: string) => (style ? out.style(style, line) : line);
  if (out.width < NARROW) {
    const [first = "", ...more] = wrapped(`${time.slice(0, 8)} ${name} ${text}`, out.width, 2);
    return [first.trimStart(), ...more, ...typed.map((words) => `  ${words}`)].map(styled);
  }
  const session = session_id === undefined ? "" : `${session_id} `;
  return [`${time} ${session}${name.padEnd(TICKET_WIDTH)} ${styled([safeLine(text), ...typed].join(" "))}`];
}
