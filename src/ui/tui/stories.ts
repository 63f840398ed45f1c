import { TurnOutput } from "../../runtime/feed/turn-output.ts";
import type { TurnModel } from "../model/model.ts";
import type { Style } from "../terminal.ts";

/** One line of what happened, with its instant in ms since 1970. The text may be foreign. */
export interface StoryLine {
  readonly at: number;
  readonly ticket: string | undefined;
  readonly text: string;
  readonly style?: Style | undefined;
}

/** So many lines of what a running agent printed before a viewer came are shown. */
const LINES_BEFORE = 200;

/** So many lines are kept of a ticket, and of the session. */
const OF_A_TICKET = 400;
const OF_THE_SESSION = 200;

/** What happened lately, to the session and to each ticket. */
export class Stories {
  readonly #events: StoryLine[] = [];
  readonly #tickets = new Map<string, StoryLine[]>();

  get events(): readonly StoryLine[] {
    return this.#events;
  }

  of(ticket_id: string): readonly StoryLine[] {
    return this.#tickets.get(ticket_id) ?? [];
  }

  /** An event of the session, kept with its ticket too. */
  add(line: StoryLine): void {
    keep(this.#events, line, OF_THE_SESSION);
    this.addTo(line);
  }

  /** What is kept with its ticket alone, such as what its agent prints. */
  addTo(line: StoryLine): void {
    if (line.ticket === undefined) return;
    const story = this.#tickets.get(line.ticket) ?? [];
    this.#tickets.set(line.ticket, story);
    keep(story, line, OF_A_TICKET);
  }
}

/** Removes in bulk: shifting each time costs as much as the list is long. */
function keep(list: StoryLine[], line: StoryLine, most: number): void {
  list.push(line);
  if (list.length >= most * 2) list.splice(0, list.length - most);
}

/** A line that an agent printed. The embedded worker marks what its commands print in the same way. */
export function outputLine(
  { subject, role_id, text }: { readonly subject?: string; readonly role_id: string; readonly text: string },
  at: number,
): StoryLine {
  return { at, ticket: subject, text: `${role_id} | ${text.replace(/^\| /, "")}`, style: "dim" };
}

/** What the agent of an open turn has printed so far, from its files in the folder `output`. */
export function outputBefore(output: string, { turn_id, run, role_id, ticket_id, since }: TurnModel): StoryLine[] {
  const lines = new TurnOutput(output, { turn_id, run }, false).read(true).slice(-LINES_BEFORE);
  const about = { role_id, ...(ticket_id === undefined ? {} : { subject: ticket_id }) };
  return lines.map(({ text }) => outputLine({ ...about, text }, Date.parse(since)));
}
