import type { Ledger } from "../../kernel/ledger.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import type { SessionState } from "../../kernel/state.ts";
import type { Json } from "../../lib/json.ts";
import { Bus } from "../bus.ts";
import type { SessionFeed } from "./feed.ts";
import { FollowedState } from "./standing.ts";

/** The part of a session in this process that its feed needs. */
export interface LiveSession {
  readonly session_id: string;
  readonly ledger: Ledger;
  readonly presentation: Presentation;
  readonly bus: Bus;
  state(read: (title: Json) => string): SessionState;
}

/** The feed of a session that runs in this process. Must be created in the same turn of the event loop as the session, so that it misses nothing. */
export function liveFeed(session: LiveSession): SessionFeed {
  const { session_id, ledger, presentation } = session;
  const bus = new Bus();
  // No viewer shows the titles of a feed.
  const followed = new FollowedState(session.state(() => ""));
  const { asks } = followed.state;
  const told = new Set<string>();
  session.bus.subscribe((event) => {
    if (event.kind === "record") followed.add(event.record);
    bus.emit(event);
    if (event.kind !== "record") return;
    for (const ask_id of told) if (!asks.has(ask_id)) told.delete(ask_id);
    for (const ask of asks.values()) {
      if (ask.record > event.sequence || told.has(ask.ask_id)) continue;
      told.add(ask.ask_id);
      bus.emit({ kind: "ask", ask });
    }
  });
  return {
    session_id,
    presentation,
    subscribe: (listener) => bus.subscribe(listener),
    standing: () => followed.standing(ledger.figures),
    counts: () => followed.counts,
    asks: () => [...asks.values()].filter(({ ask_id }) => told.has(ask_id)),
  };
}
