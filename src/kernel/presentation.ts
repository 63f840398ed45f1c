import type { JsonObject } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";

/** How reports and commands show the sessions of a mode to a person. */
export interface Presentation {
  /** The noun for a subject, such as `ticket`. */
  readonly subjectName: string;
  /**
   * The noun for a subject's statement, such as `position`, in modes whose subjects state something instead of doing work. Before the first
   * statement, a subject's title is its id.
   */
  readonly statementName?: string;
  /** How each status of a subject is shown, the most urgent first. */
  readonly statuses: Readonly<Record<string, StatusShown>>;
  /** Whether a person can retry a failed subject. */
  readonly retries: boolean;
  /** A sentence for each reason with which this mode closes a session; reasons common to all modes need none. */
  readonly closingReasons?: Readonly<Record<string, string>>;
  /** The ids of failed subjects in a final report that a person may want to look into and retry. */
  worthRetrying?(report: JsonObject): readonly string[];
  /** The messages of agents that have a line of their own, and the fields of which the first that is there is its text. */
  readonly lines?: { readonly [K in PayloadType]?: readonly string[] };
  /** A file of its own that a final report leads to, beside the report: its path from the workspace, and its text. */
  document?(report: JsonObject): { readonly path: string; readonly text: string };
  /** The ids of those whose judgements a `result` brings together: how independent they are is shown with it. */
  seats?(result: JsonObject): readonly string[];
  /** The `result` of a final report, in parts. */
  parts(result: JsonObject): readonly ResultPart[];
}

/** One part of a result: its heading, its text, and the points below it. The text is untrusted: it comes from agents. */
export interface ResultPart {
  readonly title: string;
  readonly text: string;
  readonly points: readonly string[];
}

export interface StatusShown {
  /** One character, so that a status is never told by its colour alone. */
  readonly icon: string;
  readonly tone: Tone;
  /** What it means for the session's progress. Subjects that depend on a stuck or failed one cannot begin. */
  readonly stage: "waiting" | "open" | "begun" | "stuck" | "failed" | "done";
  /** The reason shown for it while a dependency is stuck or has failed. */
  readonly held_up?: string;
  /** The reason shown for it while no agent, person or check works on it. */
  readonly unattended?: string;
}

export type Tone = "good" | "bad" | "warn" | "busy" | "quiet" | "plain";

/** How a status is shown; one that the mode does not know plainly. */
export function shownStatus(presentation: Pick<Presentation, "statuses"> | undefined, status: string): StatusShown {
  const { statuses = {} } = presentation ?? {};
  const known = Object.hasOwn(statuses, status) ? statuses[status] : undefined;
  return known ?? { icon: "-", tone: "plain", stage: "open" };
}

/** Whether nothing more happens to a subject with this status by itself. */
export function isOver(presentation: Pick<Presentation, "statuses"> | undefined, status: string): boolean {
  const { stage } = shownStatus(presentation, status);
  return stage === "done" || stage === "failed";
}

/** Whether a subject with this status has failed, or is stuck until somebody acts. */
export function isLost(presentation: Pick<Presentation, "statuses"> | undefined, status: string): boolean {
  const { stage } = shownStatus(presentation, status);
  return stage === "failed" || stage === "stuck";
}

/** The place of a status among those of its mode: the lower, the more urgent. An unknown one comes last. */
export function urgencyOf(presentation: Presentation | undefined, status: string): number {
  const place = statusesOf(presentation).indexOf(status);
  return place < 0 ? Infinity : place;
}

/** The statuses of a mode, or those of some stages, the most urgent first. */
export function statusesOf(
  presentation: Presentation | undefined,
  ...stages: readonly StatusShown["stage"][]
): string[] {
  const statuses = Object.entries(presentation?.statuses ?? {});
  return statuses.flatMap(([status, { stage }]) => (stages.length === 0 || stages.includes(stage) ? [status] : []));
}
