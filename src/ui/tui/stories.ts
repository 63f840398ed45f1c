import type { Style } from "../terminal.ts";

/** One line of what happened, with its instant in ms since 1970. The text may be foreign. */
export interface Said {
  readonly at: number;
  readonly ticket: string | undefined;
  readonly text: string;
  readonly style?: Style | undefined;
}

/** So many lines are kept of a ticket, and of the session. */
const OF_A_TICKET = 400;
const OF_THE_SESSION = 200;

/** What happened lately, to the session and to each ticket. */
export class Stories {
  readonly #events: Said[] = [];
  readonly #tickets = new Map<string, Said[]>();

  get events(): readonly Said[] {
    return this.#events;
  }

  of(ticket_id: string): readonly Said[] {
    return this.#tickets.get(ticket_id) ?? [];
  }

  /** An event of the session, kept with its ticket too. */
  add(said: Said): void {
    keep(this.#events, said, OF_THE_SESSION);
    this.addTo(said);
  }

  /** What is kept with its ticket alone, such as what its agent prints. */
  addTo(said: Said): void {
    if (said.ticket === undefined) return;
    const story = this.#tickets.get(said.ticket) ?? [];
    this.#tickets.set(said.ticket, story);
    keep(story, said, OF_A_TICKET);
  }
}

/** Removes in bulk: shifting each time costs as much as the list is long. */
function keep(list: Said[], said: Said, most: number): void {
  list.push(said);
  if (list.length >= most * 2) list.splice(0, list.length - most);
}
