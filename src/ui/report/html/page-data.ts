import type { ResultPart, Tone } from "../../../kernel/presentation.ts";

/** The data for the script of a report's page, ready to show. It contains untrusted text, which the page only ever sets as text. */
export interface PageData {
  readonly title: string;
  readonly session_id: string;
  readonly outcome: string;
  readonly tone: Tone;
  /** Label and text of each figure in the summary. */
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** A long text for each heading, in a session without tickets. */
  readonly parts: readonly ResultPart[];
  readonly proof: PageProof;
  readonly lists: readonly PageList[];
  /** When the first record was received, in ms since 1970. The times of envelopes are relative to it. */
  readonly began: number;
  /** Number of envelopes in total, and in each of their data blocks. */
  readonly envelopes: number;
  readonly block: number;
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
  /** Shown if the list is empty. */
  readonly empty: string;
  readonly columns: readonly PageColumn[];
  readonly rows: readonly PageRow[];
}

export interface PageColumn {
  readonly heading: string;
  /** Width in characters; the column without one takes the rest. */
  readonly width?: number;
  readonly align?: "right";
  /** Whether it has the tone of the row. */
  readonly toned?: true;
}

/** A row: its cells, its tone, and the details shown when it is opened. */
export interface PageRow {
  readonly cells: readonly string[];
  readonly tone: Tone;
  readonly details: readonly PageDetail[];
}

/** A labelled text; `code` keeps its line breaks. */
export type PageDetail = readonly [label: string, text: string, style?: "code"];

/** An envelope. The time is in ms since `began`; the disposition is empty if it is `applied`. */
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

/** The id of the data block, and the id prefix of the envelope blocks, which are numbered from 0. */
export const DATA_ID = "data";
export const ENVELOPES_ID = "envelopes-";
