import { setTimeout as delay } from "node:timers/promises";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { recordedEnd } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { NOTIFIED, type SentNotification } from "../../runtime/notifications.ts";
import { recordsOf } from "../../store/kept-record.ts";
import type { StoredSession } from "../../store/store.ts";
import type { Opening } from "../../ui/reporter.ts";
import { programVersion } from "../context/program.ts";
import { loadReading } from "../lookup/modes.ts";
import { figuresOf, stateOf, valuesOf } from "../lookup/state.ts";
import { ChildrenWatch } from "../presenters/children-waiting.ts";
import { buildEnding, storedSnapshot } from "../presenters/ending.ts";
import { latestNotes, type Standing, workload } from "../../runtime/feed/standing.ts";
import { lastWords } from "./scheduler-log.ts";
import { ViewerAsks, type ViewerAsksParts } from "./viewer-asks.ts";

/** How often the store is asked whether anything has changed, in ms; a look costs one pragma. */
const LOOK_EVERY_MS = 40;

/** A session that another process runs, and this terminal. */
export interface ViewerParts extends ViewerAsksParts {
  /** The sequence of the first record that is shown. */
  readonly first: number;
}

/**
 * Shows a session from its stored records alone, and asks what it asks, while another process runs it. Whatever becomes of the
 * viewer, the session does not notice: it only reads, and answers go through the inbox like anybody's.
 */
export class Viewer {
  readonly #parts: ViewerParts;
  readonly #asks: ViewerAsks;
  readonly #children: ChildrenWatch;
  readonly #statuses = new Map<string, string>();
  readonly #began = performance.now();
  /** The time of the last record before the first that is shown. */
  #since = "";
  /** What went wrong with notifications, each told once. */
  readonly #troubles = new Set<string>();
  #last = 0;
  #version: number | undefined;
  /** Who works on what, at the latest look. */
  #workload: ReturnType<typeof workload> = workload([], [], []);
  #trouble: { readonly error: unknown } | undefined;

  constructor(parts: ViewerParts) {
    this.#parts = parts;
    this.#children = new ChildrenWatch(parts.store, parts.session_id, parts.reporter);
    this.#asks = new ViewerAsks(parts, (error) => {
      this.#trouble = { error };
    });
  }

  /** Looks who works on what, for the first line about a session that has long been at work. */
  async findUnderWay(): Promise<void> {
    const { store, session_id } = this.#parts;
    const stored = await store.load(session_id);
    if (!stored.ok) return;
    const found = workloadIn(stored.value);
    this.#workload = { ...found, running: latestNotes(store, stored.value.session).of(found.running) };
  }

  /**
   * Shows what the session is about and, unless nobody runs it, what Ctrl-C does here. Records before the first that is shown are
   * only counted.
   */
  begin(opening: Omit<Opening, "session_id" | "version" | "output" | "now">, ctrl_c?: "stops" | "detaches"): void {
    const { home, session_id, first, reporter } = this.#parts;
    for (const record of this.#records(first - 1)) {
      reporter.earlier?.(record);
      this.#since = record.record.received_at;
    }
    reporter.begin({
      ...opening,
      session_id,
      version: programVersion(),
      output: sessionPaths(home, session_id).output,
      ...(ctrl_c === undefined ? {} : { elsewhere: { ctrl_c, skipped: opening.resumed ? 0 : this.#last } }),
      now: () => this.#standing(),
    });
  }

  /** Shows the session until nobody runs it any more, or the person at this terminal has had enough. */
  async watch(gone: () => boolean, enough?: AbortSignal): Promise<void> {
    // What its end is shown with is loaded now: hours later another version may be installed where it lay.
    const row = this.#parts.store.session(this.#parts.session_id);
    if (row.ok) await loadReading(row.value.mode);
    for (;;) {
      // Asked before the records, so that what its last owner wrote is still shown.
      const over = gone();
      const moved = await this.#look();
      if (this.#trouble) throw this.#trouble.error;
      if (over || enough?.aborted === true) break;
      this.#asks.ask();
      if (moved) await this.#children.look();
      await delay(LOOK_EVERY_MS, undefined, enough ? { signal: enough } : {}).catch(() => {});
    }
    await this.#asks.end();
  }

  /** Shows that the session is being stopped. */
  async stopping(): Promise<void> {
    const { reporter, store, session_id } = this.#parts;
    void this.#asks.end();
    const stored = await store.load(session_id);
    const turns = stored.ok ? valuesOf(stored.value, "turn") : [];
    const running = turns.filter(({ status }) => status === "open").length;
    reporter.event({ kind: "stopping", reason: "signal", running });
  }

  /**
   * Shows how the session was left, and gives the exit code: `exited`, its scheduler's own, where this process had it run. Failures as
   * `readSession`.
   */
  async end(exited?: number): Promise<Result<number, Failure>> {
    const { store, home, session_id, reporter } = this.#parts;
    const snapshot = await storedSnapshot(store, home, session_id);
    if (!snapshot.ok) return snapshot;
    const recorded = recordedEnd(snapshot.value.ledger.figures);
    const end = recorded ? ok(recorded) : err(vanished(home, session_id));
    const elapsed_ms = exited === undefined ? undefined : performance.now() - this.#began;
    const ending = buildEnding(home, snapshot.value, { end, exited, elapsed_ms });
    reporter.end(ending);
    return ok(ending.exit_code);
  }

  async #look(): Promise<boolean> {
    const { store, session_id, reporter } = this.#parts;
    const version = store.version();
    if (version === this.#version) return false;
    this.#version = version;
    for (const record of this.#records()) {
      const { integrity: _, ...told } = record;
      reporter.event({ kind: "record", sequence: this.#last, record: told });
    }
    const stored = await store.load(session_id);
    for (const told of stored.ok ? valuesOf(stored.value, NOTIFIED) : []) this.#warn(told);
    if (stored.ok) this.#workload = workloadIn(stored.value);
    this.#asks.look(stored.ok ? valuesOf(stored.value, "ask") : []);
    return true;
  }

  #warn({ at, trouble }: SentNotification): void {
    if (trouble === undefined || at < this.#since || this.#troubles.has(trouble)) return;
    this.#troubles.add(trouble);
    this.#parts.reporter.event({ kind: "warning", text: trouble });
  }

  *#records(to?: number): Generator<LogRecord> {
    const { store, session_id } = this.#parts;
    for (const record of recordsOf(store, session_id, this.#last + 1, to)) {
      this.#last += 1;
      count(record, this.#statuses);
      yield record;
    }
  }

  #standing(): Standing {
    const { store, session_id } = this.#parts;
    const state = stateOf(store, session_id);
    const figures = figuresOf(store, session_id);
    const counts: Record<string, number> = {};
    const statuses = new Map(this.#statuses);
    // What is not shown yet has happened all the same.
    for (const record of recordsOf(store, session_id, this.#last + 1)) count(record, statuses);
    for (const status of statuses.values()) counts[status] = (counts[status] ?? 0) + 1;
    return { state, counts, turns: figures?.turns ?? 0, waiting: this.#asks.count, ...this.#workload };
  }
}

function workloadIn(stored: StoredSession): Pick<Standing, "running" | "checking" | "held"> {
  return workload(valuesOf(stored, "turn"), valuesOf(stored, "check"), valuesOf(stored, "hold"));
}

function count({ record }: LogRecord, statuses: Map<string, string>): void {
  for (const { ticket_id, to } of record.effects ?? []) statuses.set(ticket_id, to);
}

function vanished(home: string, session_id: string): Failure {
  const what = `The scheduler of ${session_id} has gone before the session was over${lastWords(home, session_id)}`;
  return failure("internal", what, { hint: "What was committed is safe." });
}
