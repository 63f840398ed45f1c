import type { Failure } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";

/** What the demo tells, in its order: as lines for people, or one JSON object a line for programs. */
export type DemoEvent =
  | { readonly type: "hello"; readonly bosun: string; readonly source: string; readonly home: string }
  | {
      readonly type: "scratch";
      readonly source: string;
      readonly work: string;
      /** The commit that was cloned; null where there was none and the files were copied. */
      readonly head: string | null;
      /** Files with changes that are in no commit, so not in the clone either; null where nobody could say. */
      readonly uncommitted: number | null;
    }
  | { readonly type: "questions"; readonly count: number }
  | ({ readonly type: "question" } & AnsweredQuestion)
  | { readonly type: "plan"; readonly summary: string; readonly tasks: readonly PlannedTask[] }
  | ({ readonly type: "record"; readonly sequence: number } & UnsealedRecord)
  | ({ readonly type: "killed" } & Crash)
  | ({ readonly type: "resumed" } & Recovery)
  | { readonly type: "closed"; readonly session_id: string; readonly tickets: number; readonly sent_back: number }
  | { readonly type: "findings"; readonly count: number; readonly items: readonly FoundItem[] }
  | { readonly type: "verified"; readonly records: number; readonly decisions: string }
  | ({ readonly type: "tampered" } & Tampering)
  | ({ readonly type: "result" } & DemoResult)
  | { readonly type: "failed"; readonly exit_code: number; readonly error: Failure };

export interface AnsweredQuestion {
  readonly question_id: string;
  readonly text: string;
  readonly why: string | null;
  readonly options: readonly string[];
  readonly default: string | null;
  readonly answer: string;
  /** Whether it was asked at this terminal, or took its default without being asked. */
  readonly by: "terminal" | "default";
}

export interface PlannedTask {
  readonly task_id: string;
  readonly description: string;
  readonly dependencies: readonly string[];
}

/** The moment in which the scheduler was killed. */
export interface Crash {
  /** Of the scheduler; it is gone. */
  readonly pid: number;
  /** How many records were committed. */
  readonly records: number;
  readonly done: readonly string[];
  /** Programs that were at work, each by the role whose turn was open, or as a check of the scheduler's own. In a sandbox they died with it. */
  readonly left: readonly { readonly who: string; readonly ticket_id: string | null; readonly pid: number }[];
}

/** What the next scheduler made of it. */
export interface Recovery {
  readonly pid: number;
  /** How many of the programs that were at work are no more. */
  readonly ended: number;
  /** How many turns were begun again. */
  readonly repeated: number;
  /** Records from before that are there, byte for byte. */
  readonly records: number;
}

/** One thing that the crew found. */
export interface FoundItem {
  readonly kind: string;
  readonly severity: string;
  readonly file: string;
  readonly line: number | null;
  readonly text: string;
}

/** A changed byte in a copy of the log, and what the proof says of it. */
export interface Tampering {
  readonly file: string;
  readonly sequence: number;
  readonly from: string;
  readonly to: string;
  /** What a reader of the copy would be made to believe. */
  readonly lie: string;
  readonly found: string;
}

/** Where everything is that stays. */
export interface DemoResult {
  readonly exit_code: number;
  readonly session_id: string;
  readonly report: string;
  readonly findings: string;
  readonly log: string;
  /** The scratch folder, if it was to be kept. */
  readonly kept: string | null;
  readonly elapsed_ms: number;
  readonly next: readonly { readonly what: string; readonly command: string }[];
}
