import type { Failure } from "../../protocol/failure.ts";
import type { ResumeTerms } from "../../runtime/resume.ts";
import type { RunOptions } from "../options/run-options.ts";
import type { RunInput } from "../options/run-input.ts";
import type { PersonMessage } from "../interaction/person-message.ts";

/** What is new about a session that a command takes up. */
export interface TakeUp extends Omit<ResumeTerms, "roles"> {
  /** What is put to it before it goes on. */
  readonly facts?: readonly PersonMessage[];
}

/** What a scheduler in a process of its own is to do: everything was checked by whoever gives the order, so it asks nobody. */
export type Order = { readonly session_id: string; readonly runOptions: RunOptions } & (
  | { readonly do: "begin"; readonly input: RunInput }
  | { readonly do: "take_up"; readonly change: TakeUp }
);

/**
 * What the process that asked says to its scheduler: what to do, and how long to wait for somebody to come to a terminal when only
 * a person can move the session, in ms. And `left`: the person who asked is not going to answer.
 */
export type LauncherMessage =
  | { readonly kind: "order"; readonly order: Order; readonly patience_ms: number }
  | { readonly kind: "left" };

/** What the scheduler says back, once: the session is on record, or why it is not. */
export type SchedulerMessage = { readonly kind: "begun" } | { readonly kind: "failed"; readonly failure: Failure };
