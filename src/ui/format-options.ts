import type { Style } from "./terminal.ts";

/** One line of a record for people: the ticket it is about, what happened, and how it should catch the eye. */
export interface RecordLine {
  readonly ticket: string | undefined;
  readonly text: string;
  /** What to type about it, which stands at the end; it is to be copied as a whole. */
  readonly command?: string | undefined;
  readonly style?: Style | undefined;
}

/** How the states of tickets catch the eye; others do not. */
export const STATE_STYLE: Readonly<Record<string, Style>> = { done: "green", error: "red", blocked: "yellow" };

/** How much is told, and what is known besides the record itself. */
export interface FormatOptions {
  /** How many columns the words of an error, a refusal or a failure get; what agents say otherwise gets fewer. */
  readonly room: number;
  /** How many of the last lines that a failed agent or check printed are shown. */
  readonly last_lines: number;
  /** The folder with what agents printed, if it is to be named. */
  readonly output?: string;
  /** The role that took the record's turn, if it is known. */
  readonly role_id?: string | undefined;
}

/** For somebody who watches. */
export const BRIEF: FormatOptions = { room: 400, last_lines: 2 };

/** For somebody who looks for a reason: nothing is cut. */
export const WHOLE: FormatOptions = { room: Number.POSITIVE_INFINITY, last_lines: 10 };
