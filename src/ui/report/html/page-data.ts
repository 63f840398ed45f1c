import type { ResultPart, Tone } from "../../../kernel/presentation.ts";

/** A report as every format for people shows it, and the data of its page. Its texts are untrusted: the page only ever sets them as text. */
export interface PageData {
  readonly title: string;
  readonly session_id: string;
  readonly outcome: string;
  readonly tone: Tone;
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** A long text for each heading, in a session without tickets. */
  readonly parts: readonly ResultPart[];
  readonly proof: PageProof;
  readonly lists: readonly PageList[];
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

export interface PageRow {
  readonly cells: readonly string[];
  readonly tone: Tone;
  /** What the row tells besides its cells, or in place of the cell with the same name. */
  readonly more: readonly PageDetail[];
}

/** A labelled text; `code` keeps its line breaks. */
export type PageDetail = readonly [label: string, text: string, style?: "code"];

/** The id of the page's data block. */
export const DATA_ID = "data";

/** All that a row tells, by the headings of its columns. */
export function detailsOf({ columns }: PageList, { cells, more }: PageRow): PageDetail[] {
  const shown = columns.map(({ heading }, index): PageDetail => [heading, cells[index] ?? ""]);
  const own = shown.filter(
    ([heading, text]) => !["", "-"].includes(text) && !more.some(([label]) => label === heading),
  );
  return [...own, ...more];
}
