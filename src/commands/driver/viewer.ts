import { err, ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { SessionEnd } from "../../runtime/bus.ts";
import { StoredFeed } from "../../runtime/feed/stored.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { inboxControl } from "../interaction/control.ts";
import { loadReading, retellingOf } from "../lookup/modes.ts";
import type { ReporterName } from "../options/run-options.ts";
import { storedSnapshot } from "../presenters/ending.ts";
import { Driver } from "./driver.ts";
import { vanished } from "./scheduler-log.ts";

export interface ViewerParts {
  readonly context: CommandContext;
  readonly home: string;
  readonly store: StoreReader;
  /** The same store for writing, if the person at this terminal is asked. */
  readonly inbox: Store | undefined;
  readonly session_id: string;
  readonly reporter: ReporterName;
  /** The sequence of the first record that is shown. */
  readonly first: number;
  /** Whether the session was already running (`StoredFeed`). */
  readonly joins?: boolean;
  /** Called when the person at this terminal leaves a question open. */
  readonly left: () => void;
  /** Called when the person at the dashboard leaves the session running. */
  readonly detach?: (() => void) | undefined;
}

/** The driver of a session that this process does not run. It only reads; answers go through the inbox. */
export interface Viewer {
  readonly feed: StoredFeed;
  readonly driver: Driver;
  /** Shows the session until `isOver`, or `enough` is aborted. `internal` if its scheduler left without recording an end. */
  follow(isOver: () => boolean, enough?: AbortSignal): Promise<Result<SessionEnd, Failure>>;
  end(end: Result<SessionEnd, Failure>, more: Parameters<Driver["end"]>[2]): Promise<Result<number, Failure>>;
  close(): void;
}

/** Throws a `StorageError`. */
export async function openViewer(parts: ViewerParts): Promise<Viewer> {
  const { context, home, store, inbox, session_id, reporter, first, joins = false, left, detach } = parts;
  const over = new AbortController();
  const control = inboxControl(inbox, session_id, left, over.signal);
  const feed = await StoredFeed.open({
    store,
    session_id,
    output: sessionPaths(home, session_id).output,
    first,
    joins,
    loadReading,
  });
  const ask = inbox !== undefined;
  const driver = new Driver({
    context,
    home,
    store,
    feed,
    retell: await retellingOf(store, session_id),
    control,
    reporter,
    ask,
    detach,
    attended: () => true,
  });
  return {
    feed,
    driver,
    async follow(isOver, enough) {
      // Load it now: hours later, another version may be installed in its place.
      const row = store.session(session_id);
      if (row.ok) await loadReading(row.value.mode);
      const ended = AbortSignal.any([over.signal, ...(enough ? [enough] : [])]);
      const end = await Promise.race([feed.follow(isOver, ended), control.trouble]);
      return end ? ok(end) : err(vanished(home, session_id));
    },
    end: (end, more) => driver.end(end, () => storedSnapshot(store, home, session_id), more),
    close() {
      over.abort();
      driver.close();
    },
  };
}
