import { TurnOutput } from "../../runtime/feed/turn-output.ts";
import type { ToldTurn } from "../../protocol/telling.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { RecordFormatter } from "../record-formatter.ts";
import type { FormatOptions, RecordLine } from "../record-event.ts";

/** One line of a story, with its time in ms since 1970. The text is untrusted. */
export interface StoryLine extends RecordLine {
  readonly at: number;
}

/** Maximum number of lines shown that a running agent printed before a viewer attached. */
const LINES_BEFORE = 200;

/** Number of lines kept for each ticket and for the session; up to twice as many until the next trim. */
const OF_A_TICKET = 400;
const OF_THE_SESSION = 200;

/** The latest events of the session and of each ticket. */
export class Stories {
  readonly #events: StoryLine[] = [];
  readonly #tickets = new Map<string, StoryLine[]>();

  get events(): readonly StoryLine[] {
    return this.#events;
  }

  of(ticket_id: string): readonly StoryLine[] {
    return this.#tickets.get(ticket_id) ?? [];
  }

  /** Adds an event to the session and to its ticket. */
  add(line: StoryLine): void {
    keep(this.#events, line, OF_THE_SESSION);
    this.addTo(line);
  }

  /** Adds a line to its ticket only, such as output of its agent. */
  addTo(line: StoryLine): void {
    if (line.ticket === undefined) return;
    const story = this.#tickets.get(line.ticket) ?? [];
    this.#tickets.set(line.ticket, story);
    keep(story, line, OF_A_TICKET);
  }
}

/** Trims in bulk, because removing the first line each time takes time in proportion to the list's length. */
function keep(list: StoryLine[], line: StoryLine, most: number): void {
  list.push(line);
  if (list.length >= most * 2) list.splice(0, list.length - most);
}

export function storyOf(record: UnsealedRecord, formatter: RecordFormatter, options: FormatOptions): StoryLine[] {
  const at = Date.parse(record.record.received_at);
  return formatter.format(record, options).map((line) => ({ at, ...line }));
}

/** A line that an agent printed. The embedded worker prefixes the output of its commands with `| ` itself. */
export function outputLine(
  {
    subject,
    role_id,
    text,
  }: { readonly subject?: string | undefined; readonly role_id: string; readonly text: string },
  at: number,
): StoryLine {
  return { at, ticket: subject, text: `${role_id} | ${text.replace(/^\| /, "")}`, style: "dim" };
}

/** Reads what the agent of an open turn has printed so far from its files in the folder `output`. */
export function outputBefore(output: string, { turn_id, run, role_id, subject, since }: ToldTurn): StoryLine[] {
  const lines = new TurnOutput(output, { turn_id, run }, false).read(true).slice(-LINES_BEFORE);
  return lines.map(({ text }) => outputLine({ role_id, subject, text }, Date.parse(since)));
}
