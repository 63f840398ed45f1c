import type { JsonObject } from "../lib/json.ts";

/** How reports and commands show the sessions of a mode to a person. */
export interface Presentation {
  /** What one of its subjects is called, such as `ticket`. */
  readonly subjectName: string;
  /**
   * What a subject's statement is called, such as `position`, if subjects state something and do no work. Before the
   * first statement, a subject's title is its id.
   */
  readonly statementName?: string;
  /** The states of subjects that count as done and as begun in the progress of a session. */
  readonly progress: { readonly done: readonly string[]; readonly begun: readonly string[] };
  /** Whether a person can have a failed subject tried again. */
  readonly retries: boolean;
  /** A sentence for each reason with which this mode closes a session; reasons common to all modes need none. */
  readonly closingReasons?: Readonly<Record<string, string>>;
  /** The ids of the subjects in a final report that failed and that a person may want to look into and retry. */
  worthRetrying?(report: JsonObject): readonly string[];
  /** The `result` of a final report, in parts. */
  parts(result: JsonObject): readonly ResultPart[];
}

/** One part of a result: its heading, its text, and points below it. The texts come from agents. */
export interface ResultPart {
  readonly title: string;
  readonly text: string;
  readonly points: readonly string[];
}
