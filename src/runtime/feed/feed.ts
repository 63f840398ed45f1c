import type { LedgerAsk } from "../../kernel/ledger.ts";
import type { SessionEvent } from "../bus.ts";
import type { Standing } from "./standing.ts";

/**
 * What a session does, as one stream of events with two sources: `liveFeed` inside the process that runs the session, and `StoredFeed`
 * in any other process. Everything that shows a session uses a feed, so every viewer shows the same.
 *
 * Both sources keep this order: a turn's `turn_started` comes after its request, its console lines before the record that ends it,
 * and its `turn_ended` after that record. An `ask` comes after the record that asks, also for what was open before the feed began.
 * What agents say about their progress is in their records, and the latest of it in `standing`.
 */
export interface SessionFeed {
  readonly session_id: string;
  /** Calls back with every event from now on. Returns the function that ends this. */
  subscribe(listener: (event: SessionEvent) => void): () => void;
  /** How the session stands now. */
  standing(): Standing;
  /** How many subjects are in each state after the records told so far. Cheaper than `standing`. */
  counts(): Readonly<Record<string, number>>;
  /** What the session waits for a person for, as far as it was told with `ask` and is still open. */
  asks(): readonly LedgerAsk[];
}
