import type { Tone } from "../tone.ts";

/** What the script of a report's page is given, ready to show. It holds foreign text, which the page only ever sets as text. */
export interface PageData {
  readonly title: string;
  readonly session_id: string;
  readonly outcome: string;
  readonly tone: Tone;
  /** Label and text of what sums the session up. */
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** A long text for each heading, of a session without tickets. */
  readonly parts: readonly PagePart[];
  readonly proof: PageProof;
  readonly lists: readonly PageList[];
  /** When the first record was received, in ms since 1970: the times of envelopes count from it. */
  readonly began: number;
  /** How many envelopes there are, and how many of them are in each further block of data. */
  readonly envelopes: number;
  readonly block: number;
}

export interface PagePart {
  readonly title: string;
  readonly text: string;
  readonly points: readonly string[];
}

export interface PageProof {
  readonly tone: Tone;
  readonly word: string;
  readonly lines: readonly (readonly [tone: Tone, name: string, text: string])[];
  readonly problems: readonly string[];
}

/** A section with a list: of tickets, reviews, checks, … */
export interface PageList {
  readonly id: string;
  readonly title: string;
  /** Said where the list is empty. */
  readonly empty: string;
  readonly columns: readonly PageColumn[];
  readonly rows: readonly PageRow[];
}

export interface PageColumn {
  readonly heading: string;
  /** Its width in characters; the column without one takes the rest. */
  readonly width?: number;
  readonly align?: "right";
  /** It has the tone of the row. */
  readonly toned?: true;
}

/** A row: its cells, its tone, and what is shown when it is opened. */
export interface PageRow {
  readonly cells: readonly string[];
  readonly tone: Tone;
  readonly details: readonly PageDetail[];
}

/** A text with its label; `code` keeps its lines as they are. */
export type PageDetail = readonly [label: string, text: string, style?: "code"];

/** An envelope; the time is in ms since `began`, and the disposition empty if it is `applied`. */
export type PageEnvelope = readonly [
  sequence: number,
  after_ms: number,
  source: string,
  target: string,
  payload_type: string,
  ticket: string,
  disposition: string,
  line: string,
  payload: string,
];

/** The id of the data block, and of those with the envelopes, which are counted from 0. */
export const DATA_ID = "data";
export const ENVELOPES_ID = "envelopes-";
