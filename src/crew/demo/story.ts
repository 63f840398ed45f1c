import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Item } from "../survey/finding.ts";
import type { Question } from "./session.ts";

/** What happens in the demo, in this order: sections of text for people, or one JSON object a line for programs. */
export type DemoEvent =
  | { readonly type: "hello"; readonly source: string; readonly home: string; readonly pid: number }
  | {
      readonly type: "scratch";
      readonly source: string;
      readonly work: string;
      /** The commit that was cloned; null where the files were copied. */
      readonly head: string | null;
      /** The number of files with changes that no commit holds, which the clone therefore lacks; null if unknown. */
      readonly uncommitted: number | null;
    }
  | { readonly type: "questions"; readonly count: number }
  | ({ readonly type: "question"; readonly answer: string; readonly by: "terminal" | "default" } & Question)
  | { readonly type: "plan"; readonly tasks: readonly PlannedTask[] }
  | ({ readonly type: "record"; readonly sequence: number } & UnsealedRecord)
  | ({ readonly type: "killed" } & Crash)
  | ({ readonly type: "resumed" } & Recovery)
  | { readonly type: "closed"; readonly session_id: string; readonly tickets: number; readonly sent_back: number }
  | {
      readonly type: "findings";
      readonly count: number;
      readonly items: readonly FoundItem[];
      readonly clean: readonly string[];
    }
  | { readonly type: "verified"; readonly records: number; readonly decisions: string }
  | ({ readonly type: "tampered" } & Tampering)
  | ({ readonly type: "result" } & DemoResult)
  | { readonly type: "failed"; readonly exit_code: number; readonly error: Failure };

export type Tell = (event: DemoEvent) => void;

export interface PlannedTask {
  readonly task_id: string;
  readonly description: string;
  readonly dependencies: readonly string[];
}

/** The moment after the kill. */
export interface Crash {
  /** The dead scheduler's. */
  readonly pid: number;
  readonly records: number;
  /** The tickets that were done. */
  readonly done: readonly string[];
  /** The programs of agents and checks that were running. Those in a sandbox die with the scheduler. */
  readonly left: readonly { readonly pid: number; readonly name: string }[];
}

/** What the next scheduler did first. */
export interface Recovery {
  readonly pid: number;
  /** How many of the programs that were running are gone. */
  readonly ended: number;
  /** How many turns it runs again. */
  readonly repeated: number;
  /** How many records it found. */
  readonly records: number;
}

/** A finding of the survey, with the kind that it came from. */
export type FoundItem = Pick<Item, "severity" | "file" | "line" | "text"> & { readonly kind: string };

/** One byte changed in a copy of the log. */
export interface Tampering {
  readonly file: string;
  readonly sequence: number;
  readonly from: string;
  readonly to: string;
  /** What the change makes a reader believe. */
  readonly lie: string;
  /** What the verification says of the record. */
  readonly found: string;
}

/** What is left when the demo ends. */
export interface DemoResult {
  readonly exit_code: number;
  readonly session_id: string;
  readonly report: string;
  readonly findings: string;
  readonly log: string;
  /** The scratch folder if it is kept. */
  readonly kept: string | null;
  readonly elapsed_ms: number;
  readonly next: readonly { readonly what: string; readonly command: string }[];
}
