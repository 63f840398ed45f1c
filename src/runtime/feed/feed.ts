import type { Presentation } from "../../kernel/presentation.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import type { SessionEvent } from "../bus.ts";
import type { Standing } from "./standing.ts";

/**
 * The events of a session as one stream, with two sources: `liveFeed` inside the process that runs the session, and `StoredFeed` in any other
 * process. Everything that shows a session uses a feed, so all viewers show the same.
 *
 * Both sources keep this order: a turn's `turn_started` follows its request, its console lines precede the record that ends it, and its
 * `turn_ended` follows that record. An `ask` follows the record that asks, even if it was open before the feed began. Agents' progress reports
 * are in their records, and the latest one is in `standing`.
 */
export interface SessionFeed {
  readonly session_id: string;
  /** How the mode shows its subjects; undefined while the session is not there, or if its mode is unknown. */
  readonly presentation: Presentation | undefined;
  /** Calls back with every event from now on. Returns a function that unsubscribes. */
  subscribe(listener: (event: SessionEvent) => void): () => void;
  /** The current state of the session. */
  standing(): Standing;
  /** Number of subjects in each state after the records emitted so far. Cheaper than `standing`. */
  counts(): Readonly<Record<string, number>>;
  /** The open asks that were emitted as `ask`. */
  asks(): readonly ToldAsk[];
}
