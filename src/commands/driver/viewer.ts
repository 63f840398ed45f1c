import { err, ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import { StoredFeed } from "../../runtime/feed/stored.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { Store } from "../../store/store.ts";
import { inboxControl } from "../interaction/control.ts";
import { loadReading, retellingOf } from "../lookup/modes.ts";
import { Driver, type DriverParts } from "./driver.ts";
import { vanished } from "./scheduler-log.ts";

export interface ViewerParts
  extends Pick<DriverParts, "context" | "home" | "store" | "reporter" | "answers" | "detach"> {
  /** The same store for writing, if the person at this terminal is asked. */
  readonly inbox: Store | undefined;
  readonly session_id: string;
  /** The sequence of the first record that is shown. */
  readonly first: number;
  /** Whether the session was already running (`StoredFeed`). */
  readonly joins?: boolean;
  /** Called when the person at this terminal leaves a question open. */
  readonly left: () => void;
}

export type Viewer = Awaited<ReturnType<typeof openViewer>>;

/** The driver of a session that this process does not run. It only reads; answers go through the inbox. Throws a `StorageError`. */
export async function openViewer(parts: ViewerParts) {
  const { home, store, inbox, session_id, first, joins = false, left } = parts;
  const over = new AbortController();
  const control = inboxControl(inbox, session_id, left, over.signal);
  const { output } = sessionPaths(home, session_id);
  const feed = await StoredFeed.open({ store, session_id, output, first, joins, loadReading });
  const retell = await retellingOf(store, session_id);
  const driver = new Driver({ ...parts, feed, retell, control, ask: inbox !== undefined, attended: () => true });
  const close = () => {
    over.abort();
    driver.close();
  };
  return {
    feed,
    driver,
    close,
    /**
     * Shows the session until `isOver`; undefined, and nobody is asked here any more, if `enough` is aborted before. `internal` if its
     * scheduler left without recording an end.
     */
    async follow(isOver: () => boolean, enough: AbortSignal): Promise<Result<SessionEnd, Failure> | undefined> {
      // Load it now: hours later, another version may be installed in its place.
      const row = store.session(session_id);
      if (row.ok) await loadReading(row.value.mode);
      const end = await Promise.race([feed.follow(isOver, AbortSignal.any([over.signal, enough])), control.trouble]);
      if (!enough.aborted || isOver()) return end ? ok(end) : err(vanished(home, session_id));
      await driver.interaction.end();
      close();
      return undefined;
    },
  };
}
