import type { Presentation } from "../kernel/presentation.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { SessionEvent } from "../runtime/bus.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import type { ChildWaiting, Unheard, Waiting } from "./waiting.ts";

/** Shows a running session to somebody. It only looks: what it does or fails to do never moves the session. */
export interface Reporter {
  /** A record from before what is shown, which says something of later ones. Comes before the beginning. */
  earlier?(record: UnsealedRecord): void;
  /** The session is about to run. */
  begin(opening: Opening): void;
  event(event: SessionEvent): void;
  /** A person is asked, and how it can be answered from anywhere. */
  asked(waiting: Waiting): void;
  /** A child session waits for a person, which is said to it and not here. */
  childWaits(child: ChildWaiting): void;
  /** The last word; nothing comes after it. */
  end(ending: Ending): void;
  /** It says nothing by itself any more: whoever had it begin closes it, whether or not there was an end to tell. */
  close(): void;
}

/** What is known of a session before it runs. */
export interface Opening {
  readonly session_id: string;
  readonly version: string;
  readonly requirement: string | undefined;
  readonly workspace: string;
  /** The folder with what agents print. */
  readonly output: string;
  /** Whether this command takes up a session that was there before. */
  readonly resumed: boolean;
  /** It was closed before, and is only shown. */
  readonly closed?: boolean;
  /** Seconds the agents get to end when the session is stopped. */
  readonly kill_grace_s: number;
  /** All work goes to Bosun's own worker, though nobody named its crew. */
  readonly bundled_worker?: boolean;
  /** Where another process runs it: what Ctrl-C does at this terminal, and how many earlier records are not shown. */
  readonly elsewhere?: { readonly ctrl_c: "stops" | "detaches"; readonly skipped: number };
  /** The tickets as they stand now, for the heartbeat. */
  readonly now: () => Standing;
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
  readonly usage: JsonObject;
  /** How long this command ran it; undefined if it did not. */
  readonly elapsed_ms: number | undefined;
  /** What a mode without tickets came to. */
  readonly result: JsonObject | undefined;
  readonly waiting: readonly Waiting[];
  /** What was put to it and not heard before it closed. */
  readonly unheard: readonly Unheard[];
  /** What its child sessions wait for. */
  readonly children: readonly ChildWaiting[];
  /** Where the final report lies, if there is one. */
  readonly report: string | undefined;
  /** The folder with the session's record. */
  readonly log: string;
  /** Commands that make sense now. */
  readonly next: readonly string[];
}

/** A ticket as the last table shows it. */
export interface TicketLine {
  readonly ticket_id: string;
  readonly status: string;
  readonly title: string;
  readonly attempt: number;
  readonly reason?: string | undefined;
  readonly blocked_by?: string | undefined;
  readonly owner?: string | undefined;
  readonly outputs: readonly string[];
}
