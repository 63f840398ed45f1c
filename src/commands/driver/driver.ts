import { err, ok } from "../../lib/result.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { SessionEnd, SessionEvent } from "../../runtime/bus.ts";
import type { GivenAnswer } from "../../config/answers.ts";
import { EXIT_PERSON_NEEDED } from "../../runtime/exit.ts";
import type { SessionFeed } from "../../runtime/feed/feed.ts";
import type { Retell } from "../../runtime/retelling.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { sessionTime } from "../../runtime/time/session-time.ts";
import { keptRecord, latestOf, recordsOf } from "../../store/kept-record.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import { CONTEXT_TYPES } from "../../ui/record-formatter.ts";
import { githubReporter } from "../../ui/github.ts";
import { jsonReporter } from "../../ui/json.ts";
import { plainReporter } from "../../ui/plain.ts";
import type { Opening, Reporter } from "../../ui/reporter.ts";
import { silentReporter } from "../../ui/silent.ts";
import { Dashboard } from "../../ui/tui/dashboard.ts";
import type { ChildWaiting } from "../../ui/waiting.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { programVersion } from "../context/program.ts";
import { showUnused } from "../interaction/answers.ts";
import {
  type Asker,
  inboxControl,
  Interaction,
  type InteractionParts,
  nobody,
  type SessionControl,
} from "../interaction/interaction.ts";
import { DashboardAsker } from "../interaction/dashboard-asker.ts";
import { PromptAsker } from "../interaction/prompt-asker.ts";
import type { ReporterName } from "../options/run-options.ts";
import { buildEnding, notYetShown, storedSnapshot, waitingChildren } from "../presenters/ending.ts";
import { StoredFeed } from "../../runtime/feed/stored.ts";
import { readerOf } from "../../modes/index.ts";
import { retellingOf, stateOf } from "../lookup/modes.ts";
import { vanished } from "./scheduler-process.ts";

/** How often to poll whether a child session waits for a person, in ms. */
const LOOK_EVERY_MS = 500;

export interface DriverParts extends Omit<InteractionParts, "asker"> {
  readonly context: CommandContext;
  readonly home: string;
  readonly store: StoreReader;
  readonly feed: SessionFeed;
  readonly retell: Retell;
  readonly control: SessionControl;
  readonly reporter: ReporterName;
  /** Whether the person at this terminal is asked. */
  readonly ask: boolean;
  /** What was said beforehand: the driver shows at the end which of it was not used. */
  readonly answers?: readonly GivenAnswer[];
  /** Makes this process leave the session to the one that runs it; undefined if this process runs it. */
  readonly detach?: (() => void) | undefined;
}

/** What the driver does not know about a session that it shows. */
export type SessionOpening = Omit<
  Opening,
  "session_id" | "presentation" | "earlier" | "version" | "output" | "now" | "time" | "counts"
>;

/**
 * Shows a session and gets answers to what it asks, whichever process runs it: first `begin`, then events from the feed, then `end`. `close`
 * comes last in any case.
 */
export class Driver {
  readonly interaction: Interaction;
  readonly #parts: DriverParts;
  readonly #reporter: Reporter;
  readonly #steering: DashboardAsker | undefined;
  /** What was shown of what child sessions wait for. */
  readonly #shown = new Set<string>();
  readonly #began = performance.now();
  #looking: NodeJS.Timeout | undefined;

  constructor(parts: DriverParts) {
    this.#parts = parts;
    const { context, home, store, feed, control } = parts;
    const { session_id } = feed;
    const left = () => control.leave("a person left a question open");
    const broken = (error: unknown) => control.broken(error);
    const asking = { context, home, store, session_id, broken };
    let asker: Asker | undefined;
    if (parts.reporter === "tui") {
      const steering = parts.ask ? new DashboardAsker(asking, control) : undefined;
      this.#steering = steering;
      const dashboard = new Dashboard({ terminal: context.terminal, steering, detach: parts.detach });
      if (steering) steering.dashboard = dashboard;
      this.#reporter = dashboard;
      asker = steering;
    } else {
      this.#reporter = reporterFor(parts.reporter, context);
      if (parts.ask) asker = new PromptAsker({ ...asking, left });
    }
    asker ??= nobody(this.#reporter);
    this.interaction = new Interaction({ ...parts, asker });
  }

  /** Shows what the session is about. The `skipped` earlier records are not shown, but may explain later ones. */
  begin(opening: SessionOpening, skipped: number): void {
    const { home, store, feed, control, reporter } = this.#parts;
    const { session_id } = feed;
    this.#reporter.begin({
      ...opening,
      session_id,
      presentation: () => feed.presentation,
      earlier: this.#earlierRecords(skipped),
      version: programVersion(),
      output: sessionPaths(home, session_id).output,
      now: () => feed.standing(),
      time: () => sessionTime(store, session_id, true),
      counts: () => feed.counts(),
    });
    feed.subscribe((event) => this.#reporter.event(this.#retold(event)));
    feed.subscribe((event) => this.interaction.event(event));
    const show = async () => this.#showChildren(await waitingChildren(store, session_id));
    const look = () => void show().catch((error: unknown) => control.broken(error));
    if (reporter !== "silent") this.#looking = setInterval(look, LOOK_EVERY_MS);
  }

  #retold(event: SessionEvent): SessionEvent {
    if (event.kind !== "record") return event;
    return { ...event, record: this.#parts.retell(event.sequence, event.record) };
  }

  /** A command answers them, because a prompt belongs to one session. */
  #showChildren(children: readonly ChildWaiting[]): void {
    for (const child of notYetShown(children, this.#shown)) this.#reporter.childWaits(child);
  }

  *#earlierRecords(skipped: number): Generator<UnsealedRecord> {
    const { store, feed, retell } = this.#parts;
    const { session_id } = feed;
    if (skipped === 0) return;
    if (this.#reporter.needsAll === true) {
      for (const record of recordsOf(store, session_id, 1, skipped)) yield retell(record.integrity.sequence, record);
      return;
    }
    yield keptRecord(store, session_id, 1);
    yield* latestOf(store, { session_id, last_sequence: skipped }, CONTEXT_TYPES);
  }

  /**
   * Shows how the session was left, which is read from the store: after a failed commit, memory is ahead of it. Returns the exit code:
   * `exited`, the scheduler's own, if it is known. Fails with what ended the session, else as `storedSnapshot` does. Throws a `StorageError`.
   */
  async end(
    end: Fallible<SessionEnd>,
    { exited, isTimed }: { readonly exited?: number; readonly isTimed: boolean },
  ): Promise<Exit> {
    clearInterval(this.#looking);
    await this.interaction.end();
    const elapsed_ms = isTimed ? performance.now() - this.#began : undefined;
    const { context, store, home, feed, answers = [] } = this.#parts;
    const left = await catchStorage(() => storedSnapshot(store, home, feed.session_id));
    // The first failure is the cause; the other only follows from it.
    if (!left.ok) return end.ok ? left : end;
    const ending = buildEnding(home, left.value, { end, exited, elapsed_ms });
    this.#showChildren(ending.children);
    this.#reporter.end(ending);
    const { ledger, waiting } = left.value;
    const isLeft = ending.exit_code === EXIT_PERSON_NEEDED || ledger.figures.closed !== undefined;
    if (answers.length > 0 && isLeft) await showUnused(context.terminal.err, store, feed.session_id, answers, waiting);
    const isAccepted = ending.outcome === "done" || ending.outcome === "failed";
    const merged = isAccepted ? await this.#steering?.mergeAccepted() : undefined;
    return ok(merged || ending.exit_code);
  }

  close(): void {
    clearInterval(this.#looking);
    this.#reporter.close();
  }
}

function reporterFor(name: Exclude<ReporterName, "tui">, { terminal, environment }: CommandContext): Reporter {
  switch (name) {
    case "json":
      return jsonReporter(terminal.out);
    case "silent":
      return silentReporter(terminal);
    case "plain":
      return plainReporter(terminal);
    case "github":
      return githubReporter(terminal, environment.GITHUB_STEP_SUMMARY);
  }
}

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
  const feed = await StoredFeed.open({ store, session_id, output, first, joins, readerOf, stateOf });
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
    async follow(isOver: () => boolean, enough: AbortSignal): Promise<Fallible<SessionEnd> | undefined> {
      const end = await Promise.race([feed.follow(isOver, AbortSignal.any([over.signal, enough])), control.trouble]);
      if (!enough.aborted || isOver()) return end ? ok(end) : err(vanished(home, session_id));
      await driver.interaction.end();
      close();
      return undefined;
    },
  };
}
