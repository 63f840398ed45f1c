import type { Presentation } from "../kernel/presentation.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import type { SessionEvent } from "../runtime/bus.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import type { Cause } from "./cause.ts";
import type { ListedSubject } from "./subject-columns.ts";
import type { ChildWaiting, Unheard, Waiting } from "./waiting.ts";

/** A session that has been silent this long shows that it is alive, in ms: automatic builds kill silent processes. */
export const HEARTBEAT_MS = 30_000;

/** Shows a session. It only watches: nothing that it does, or fails to do, affects the session. */
export interface Reporter {
  /** Set if it shows the state after all records, and so needs every earlier one. Others only get those that later lines depend on. */
  readonly needsAll?: boolean;
  begin(opening: Opening): void;
  event(event: SessionEvent): void;
  /** A person is needed, and none is asked here: shows how to answer from anywhere. */
  asked(waiting: Waiting): void;
  /** A child session waits for a person, who answers the child itself. */
  childWaits(child: ChildWaiting): void;
  /** Called after the last event. */
  end(ending: Ending): void;
  /** Stops what the reporter shows by itself. Always called, with or without `end`. */
  close(): void;
}

/** What is known of a session before its first event. */
export interface Opening {
  readonly session_id: string;
  /** How the session's mode shows its subjects; undefined while the session is not there, or if its mode is unknown. */
  readonly presentation: () => Presentation | undefined;
  readonly version: string;
  readonly requirement: string | undefined;
  readonly workspace: string;
  /** The folder with the output of the session's agents. */
  readonly output: string;
  /** Whether this command resumes the session. */
  readonly resumed: boolean;
  /** Whether the session was closed before and is only shown. */
  readonly closed?: boolean;
  /** Time that the agents get to end when the session is stopped, in seconds. */
  readonly kill_grace_s: number;
  /** Set if another process runs the session: what Ctrl-C does here, and the number of earlier records that are not shown. */
  readonly elsewhere?: { readonly ctrl_c: "stops" | "detaches"; readonly skipped: number };
  /** Records that are not shown, but explain later ones. */
  readonly earlier: Iterable<UnsealedRecord>;
  readonly now: () => Standing;
  /** The session's time, in ms since 1970. The wall clock may differ from that of its records. */
  readonly time: () => number;
  readonly counts: () => Readonly<Record<string, number>>;
}

/** How a command that ran a session leaves it. */
export interface Ending {
  readonly session_id: string;
  readonly presentation: Presentation;
  /** Whether no role costs money, as far as is known, so that no cost is shown. */
  readonly free: boolean;
  readonly exit_code: number;
  readonly state: string;
  /** Why it stopped, or why it ended as it did; for people. */
  readonly message: string | undefined;
  readonly failure: Failure | undefined;
  /** Why the role failed that the session stopped for. */
  readonly cause: Cause | undefined;
  readonly outcome: string | undefined;
  readonly tickets: readonly TicketLine[];
  /** Number of turns that were cut off when the session's scheduler left. */
  readonly interrupted_turns: number;
  readonly usage: JsonObject;
  /** How long this command ran the session; undefined if it did not. */
  readonly elapsed_ms: number | undefined;
  /** The result of a mode without tickets. */
  readonly result: JsonObject | undefined;
  readonly roles: readonly Role[];
  readonly waiting: readonly Waiting[];
  /** Messages that the session did not take before it closed. */
  readonly unheard: readonly Unheard[];
  readonly children: readonly ChildWaiting[];
  /** The file of the final report, if there is one. */
  readonly report: string | undefined;
  /** The files kept of its work, in the plan's order; none while the session is open. */
  readonly kept: readonly string[];
  /** Where its work is, if its tickets work in copies. */
  readonly where?: string | undefined;
  /** The folder with the session's record. */
  readonly log: string;
  readonly next: readonly string[];
}

/** A ticket as the final table shows it. */
export interface TicketLine extends Omit<ListedSubject, "id" | "max_attempts" | "begun" | "since"> {
  readonly ticket_id: string;
  readonly outputs: readonly string[];
  /** The tickets that it waits for, or waited for. */
  readonly dependencies?: readonly string[];
}
