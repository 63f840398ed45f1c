import { Bus, type SessionEvent } from "../bus.ts";
import type { ReadableSession } from "../notifications.ts";
import type { SessionFeed } from "./feed.ts";
import { TurnNotes, workload } from "./standing.ts";
import { totalOf } from "../usage.ts";
import { SubjectCounts } from "./subject-counts.ts";

/** The part of a session in this process that its feed needs. */
export interface LiveSession extends Pick<ReadableSession, "session_id" | "ledger" | "view"> {
  readonly bus: Bus;
}

/** The feed of a session that runs in this process. Must be created in the same turn of the event loop as the session, so that it misses nothing. */
export function liveFeed(session: LiveSession): SessionFeed {
  const { session_id, ledger } = session;
  const bus = new Bus();
  const notes = new TurnNotes();
  const told = new Set<string>();
  // Counted when a viewer first asks, because that takes long for a large session.
  let subjects: SubjectCounts | undefined;
  const tellAsks = (committed: number) => {
    for (const ask_id of told) if (!ledger.asks.has(ask_id)) told.delete(ask_id);
    for (const [ask_id, ask] of ledger.asks) {
      if (ask.record > committed || told.has(ask_id)) continue;
      told.add(ask_id);
      bus.emit({ kind: "ask", ask });
    }
  };
  session.bus.subscribe((event: SessionEvent) => {
    // The session emits an ask before the record that it is about. The feed emits it afterwards.
    if (event.kind === "ask") return;
    if (event.kind === "record") {
      notes.add(event.record);
      subjects?.add(event.record);
    } else if (event.kind === "turn_ended") notes.drop(event);
    bus.emit(event);
    if (event.kind === "record") tellAsks(event.sequence);
  });
  return {
    session_id,
    subscribe: (listener) => bus.subscribe(listener),
    standing() {
      const { turns, checks, holds, asks, figures } = ledger;
      const found = workload(turns.values(), checks.values(), holds.values());
      return {
        state: stateOf(session),
        counts: session.view().counts,
        turns: figures.turns,
        usage: totalOf(figures),
        waiting: asks.size,
        ...found,
        running: notes.of(found.running),
      };
    },
    counts: () => (subjects ??= new SubjectCounts(session.view().subjects)).counts,
    asks: () => [...ledger.asks.values()].filter(({ ask_id }) => told.has(ask_id)),
  };
}

function stateOf(session: LiveSession): string {
  const { paused, closed } = session.ledger.figures;
  return paused === true && !closed ? "paused" : session.view().state;
}
