import type { Failure } from "../../protocol/failure.ts";
import type { ResumeTerms } from "../../runtime/resume.ts";
import type { RunOptions } from "../options/run-options.ts";
import type { RunInput } from "../options/run-input.ts";
import type { PersonMessage } from "../interaction/person-message.ts";

/** What changes when a command resumes a session. */
export interface TakeUp extends Omit<ResumeTerms, "roles"> {
  /** Messages that it takes before it continues. */
  readonly facts?: readonly PersonMessage[];
}

/** What a scheduler in its own process has to do. The process that gives the order has checked everything, so the scheduler asks nothing. */
export type Order = { readonly session_id: string; readonly runOptions: RunOptions } & (
  | { readonly do: "begin"; readonly input: RunInput }
  | { readonly do: "take_up"; readonly change: TakeUp }
);

/**
 * From the launching process to its scheduler: the order, with how long to wait for a person when only a person can move the session, in ms;
 * `left` when the person who launched it leaves a question open.
 */
export type LauncherMessage =
  | { readonly kind: "order"; readonly order: Order; readonly patience_ms: number }
  | { readonly kind: "left" };

/** The scheduler's only reply: the session is on record, or why it is not. */
export type SchedulerMessage = { readonly kind: "begun" } | { readonly kind: "failed"; readonly failure: Failure };
