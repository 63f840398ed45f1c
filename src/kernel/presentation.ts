import type { JsonObject } from "../lib/json.ts";

/** How reports and commands show the sessions of a mode to a person. */
export interface Presentation {
  /** The noun for a subject, such as `ticket`. */
  readonly subjectName: string;
  /**
   * The noun for a subject's statement, such as `position`, in modes whose subjects state something instead of doing work. Before the first
   * statement, a subject's title is its id.
   */
  readonly statementName?: string;
  /** The states of subjects that count as done and as begun in a session's progress. */
  readonly progress: { readonly done: readonly string[]; readonly begun: readonly string[] };
  /** Whether a person can retry a failed subject. */
  readonly retries: boolean;
  /** A sentence for each reason with which this mode closes a session; reasons common to all modes need none. */
  readonly closingReasons?: Readonly<Record<string, string>>;
  /** The ids of failed subjects in a final report that a person may want to look into and retry. */
  worthRetrying?(report: JsonObject): readonly string[];
  /** The `result` of a final report, in parts. */
  parts(result: JsonObject): readonly ResultPart[];
}

/** One part of a result: its heading, its text, and the points below it. The text is untrusted: it comes from agents. */
export interface ResultPart {
  readonly title: string;
  readonly text: string;
  readonly points: readonly string[];
}
