import type { Presentation } from "../kernel/presentation.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Spent } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { SessionEvent } from "../runtime/bus.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import type { ChildWaiting, Unheard, Waiting } from "./waiting.ts";

/** Shows a session. It only looks: nothing it does or fails to do moves the session. */
export interface Reporter {
  /** A record that is not shown, but explains later ones. Comes before `begin`. */
  earlier?(record: UnsealedRecord): void;
  /** It shows the state that all records led to, and is told of each earlier one. Otherwise only of those that later lines need. */
  readonly needsAll?: boolean;
  begin(opening: Opening): void;
  event(event: SessionEvent): void;
  /** A person is needed, and none is asked here: shows how to answer from anywhere. */
  asked(waiting: Waiting): void;
  /** A child session waits for a person, who answers the child itself. */
  childWaits(child: ChildWaiting): void;
  /** No event comes after it. */
  end(ending: Ending): void;
  /** Stops what the reporter shows by itself. Called in any case, with or without `end`. */
  close(): void;
}

/** What is known of a session before its first event. */
export interface Opening {
  readonly session_id: string;
  readonly version: string;
  readonly requirement: string | undefined;
  readonly workspace: string;
  /** The folder with the output of its agents. */
  readonly output: string;
  /** Whether this command resumes the session. */
  readonly resumed: boolean;
  /** The session was closed before and is only shown. */
  readonly closed?: boolean;
  /** Seconds the agents get to end when the session is stopped. */
  readonly kill_grace_s: number;
  /** Bosun's own worker does all the work, though its crew was not named. */
  readonly bundled_worker?: boolean;
  /** Set if another process runs the session: what Ctrl-C does here, and how many earlier records are not shown. */
  readonly elsewhere?: { readonly ctrl_c: "stops" | "detaches"; readonly skipped: number };
  readonly now: () => Standing;
  /** How many tickets are in each state. */
  readonly counts: () => Readonly<Record<string, number>>;
}

/** How a command that ran a session leaves it. */
export interface Ending {
  readonly session_id: string;
  readonly presentation: Presentation;
  /** No role costs money as far as anyone can tell, so there is nothing to say about it. */
  readonly free: boolean;
  readonly exit_code: number;
  readonly state: string;
  /** Why it stopped, or why it ended as it did; for people. */
  readonly message: string | undefined;
  readonly failure: Failure | undefined;
  readonly outcome: string | undefined;
  readonly tickets: readonly TicketLine[];
  /** How many turns were cut off when its scheduler left. */
  readonly interrupted_turns: number;
  readonly usage: JsonObject;
  /** How long this command ran the session; undefined if it did not. */
  readonly elapsed_ms: number | undefined;
  /** The result of a mode without tickets. */
  readonly result: JsonObject | undefined;
  readonly waiting: readonly Waiting[];
  /** Messages that the session closed before it took. */
  readonly unheard: readonly Unheard[];
  /** What its child sessions wait for. */
  readonly children: readonly ChildWaiting[];
  /** The file of the final report, if there is one. */
  readonly report: string | undefined;
  /** The files that were kept of its work, in the plan's order; none while it is open. */
  readonly kept: readonly string[];
  /** The folder with the session's record. */
  readonly log: string;
  /** The commands to type next. */
  readonly next: readonly string[];
}

/** A ticket as the last table shows it. */
export interface TicketLine {
  readonly ticket_id: string;
  readonly status: string;
  readonly title: string;
  readonly attempt: number;
  readonly reason?: string | undefined;
  /** The limit whose end gave it up. */
  readonly spent?: string | undefined;
  /** Of a ticket in error: what its worker said was wrong. */
  readonly said?: string | undefined;
  readonly blocked_by?: string | undefined;
  readonly owner?: string | undefined;
  /** Its turn or its checks were cut off when the session's scheduler left. */
  readonly interrupted?: boolean | undefined;
  readonly outputs: readonly string[];
  /** The tickets that it waits for, or waited for. */
  readonly dependencies?: readonly string[];
  /** What its turns have used; undefined before the first has ended. */
  readonly usage?: Spent | undefined;
}
