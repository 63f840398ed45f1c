import { isLost, isOver, type Presentation } from "../kernel/presentation.ts";
import type { SubjectState } from "../kernel/state.ts";
import { formatDuration } from "../lib/durations.ts";
import { costFigure } from "../log/usage-words.ts";
import type { ChangedFiles } from "../protocol/record.ts";
import type { Spent } from "../protocol/payload.ts";
import type { Cause } from "./cause.ts";
import { clipped } from "./display.ts";
import { statusWords } from "./status.ts";
import { PROSE_WIDTH } from "./table.ts";

/** A subject as lists show it: of a screen's model, or of a final table. What a list does not know is undefined. */
export interface ListedSubject
  extends Readonly<Pick<SubjectState, "id" | "status" | "title" | "attempt">>,
    Readonly<Partial<Pick<SubjectState, "owner" | "max_attempts" | "reason" | "spent" | "since">>> {
  readonly blocked_by?: string | undefined;
  /** On what a subject that has not begun depends. */
  readonly waits_for?: string | undefined;
  /** How far the merge of its work is, or with what it was sent back. */
  readonly merging?: string | undefined;
  /** Whether its turn or its checks were cut off. */
  readonly interrupted?: boolean | undefined;
  /** When its first turn was given. */
  readonly begun?: string | undefined;
  /** What its turns have used; undefined before the first. */
  readonly usage?: Spent | undefined;
  readonly outputs?: readonly string[];
  /** What its latest report says was done. */
  readonly summary?: string | undefined;
  readonly changed_files?: ChangedFiles | undefined;
  readonly cause?: Cause | undefined;
}

/** A list of subjects: the dashboard's, the table of `status` and of the end, a report's in every form, a GitHub job's. */
type ListName = "dashboard" | "table" | "report" | "summary";

export interface SubjectList {
  readonly name: ListName;
  readonly presentation: Presentation | undefined;
  /** In ms since 1970; open subjects count their time until then. */
  readonly now?: number;
}

/** A column of a list, which every form of the list shows. */
export interface ListColumn<T> {
  readonly heading: string;
  /** Maximum width, and that on the dashboard, in columns; the last column takes the rest. */
  readonly width?: number;
  readonly narrow?: number;
  readonly align?: "right";
  /** Whether it has the tone of the row. */
  readonly toned?: true;
  readonly cell: (entry: T) => string;
}

export type SubjectColumn = ListColumn<ListedSubject>;

/** The columns of a list, in their order. A new one needs an entry here, and nothing else. */
export function columnsOf({ name, presentation, now = 0 }: SubjectList): SubjectColumn[] {
  const { subjectName = "subject", statementName } = presentation ?? {};
  const all: readonly (SubjectColumn & { readonly of?: readonly ListName[]; readonly isHidden?: boolean })[] = [
    { heading: subjectName, width: 24, cell: ({ id }) => id, of: ["table", "report", "summary"] },
    {
      heading: "state",
      width: 40,
      toned: true,
      cell: (subject) => stateOf(subject, presentation),
      of: ["table", "report", "summary"],
    },
    // A subject that states something is its own owner.
    { heading: "owner", width: 16, narrow: 8, cell: ({ owner = "-" }) => owner, isHidden: statementName !== undefined },
    { heading: "try", width: 5, narrow: 3, align: "right", cell: triesOf },
    {
      heading: "time",
      width: 8,
      narrow: 6,
      align: "right",
      cell: (subject) => timeOf(subject, presentation, now, name === "dashboard" ? 1_000 : 1),
      of: ["dashboard", "report"],
    },
    { heading: "cost", width: 8, narrow: 6, align: "right", cell: costOf, of: ["dashboard", "report", "summary"] },
    {
      heading: statementName ?? "what",
      cell: (subject) => whatOf(subject, name, presentation),
      of: ["table", "report", "summary"],
    },
  ];
  return all.filter(({ of, isHidden }) => isHidden !== true && (of === undefined || of.includes(name)));
}

/** The state with its reason; an interrupted subject keeps its recorded state. */
function stateOf(subject: ListedSubject, presentation: Presentation | undefined): string {
  const { status, interrupted, blocked_by, waits_for, reason, spent, merging } = subject;
  if (interrupted === true) return `interrupted (${status})`;
  if (merging !== undefined) return merging;
  const awaited = blocked_by ?? waits_for;
  if (awaited !== undefined) return `waits for ${awaited}`;
  // The cause says more than the reason, which is a code.
  if (lossOf(subject, presentation) !== undefined) return statusWords(status);
  return statusWords(status, reason === undefined ? undefined : [reason, spent].filter(Boolean).join(", "));
}

function triesOf({ attempt, max_attempts }: ListedSubject): string {
  if (attempt === 0) return "-";
  return max_attempts === undefined || attempt > max_attempts ? String(attempt) : `${attempt}/${max_attempts}`;
}

/** The time from a subject's first turn to the end of its work or, if it is not over, to now. */
function timeOf(
  { begun, since = "", status }: ListedSubject,
  presentation: Presentation | undefined,
  now: number,
  unit: number,
): string {
  if (begun === undefined) return "-";
  const end = isOver(presentation, status) ? Date.parse(since) : now;
  return formatDuration(Math.floor((end - Date.parse(begun)) / unit) * unit);
}

function costOf({ usage }: ListedSubject): string {
  return usage === undefined || usage.cost_usd === 0 ? "-" : costFigure(usage);
}

/** What it states or, of work, what it is and what came of it. */
function whatOf(subject: ListedSubject, list: ListName, presentation: Presentation | undefined): string {
  const { id, title, outputs = [] } = subject;
  if (presentation?.statementName !== undefined) return title === id ? "-" : title;
  const loss = list === "table" ? undefined : lossOf(subject, presentation);
  if (loss !== undefined) return `${title}: ${loss.words}`;
  return list === "table" && outputs.length > 0 ? `${clipped(title, PROSE_WIDTH)} -> ${outputs.join(", ")}` : title;
}

/** Why it failed, unless it is tried again. */
function lossOf({ status, cause }: ListedSubject, presentation: Presentation | undefined): Cause | undefined {
  return isLost(presentation, status) ? cause : undefined;
}
