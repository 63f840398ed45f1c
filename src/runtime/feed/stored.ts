import { setTimeout as delay } from "node:timers/promises";
import type { LedgerFigures } from "../../kernel/ledger.ts";
import type { ModeReader } from "../../kernel/mode.ts";
import type { Presentation } from "../../kernel/presentation.ts";
import { emptyState, standingState } from "../../kernel/state.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import type { ToldAsk } from "../../protocol/telling.ts";
import { FollowedState, NOTED, type Standing } from "./standing.ts";
import { keptRecord, latestOf, recordsOf } from "../../store/kept-record.ts";
import type { SessionRow, StoredSession, StoreReader } from "../../store/store.ts";
import { Bus, type SessionEnd, type SessionEvent } from "../bus.ts";
import { recordedEnd } from "../exit.ts";
import { NOTIFIED, type SentNotification } from "../notifications.ts";
import type { SessionFeed } from "./feed.ts";
import { type StoredState, valuesOf } from "../stored-state.ts";
import { StoredTurns, type TurnProcesses } from "./stored-turns.ts";

/** Poll interval for the store and the output files, in ms. Polling an unchanged store costs one pragma. */
const LOOK_EVERY_MS = 40;

export interface StoredFeedParts {
  readonly store: StoreReader;
  readonly session_id: string;
  /** The folder with the output of the session's agents. */
  readonly output: string;
  /** The sequence of the first record to emit. */
  readonly first: number;
  /** Reads sessions of a mode; undefined for an unknown one, whose state is then only what new records tell. */
  readonly readerOf: (mode: string) => ModeReader<unknown> | undefined;
  /** The state of a stored session. Throws a `StorageError`. */
  readonly stateOf: (
    store: StoreReader,
    stored: StoredSession,
    mode: ModeReader<unknown>,
  ) => Promise<StoredState<unknown>>;
  /**
   * Whether the feed joins a running session. If so, the past is emitted as records only. Running turns are in `standing`; their further
   * output and their `turn_ended` are emitted. Otherwise everything from the first record on is emitted.
   */
  readonly joins: boolean;
}

/** What a poll reads besides records. */
interface Look {
  readonly figures: LedgerFigures | undefined;
  readonly processes: TurnProcesses;
  readonly notifications: readonly SentNotification[];
}

/** The feed of a session that another process runs. Polls the store and the output files, and only reads. */
export class StoredFeed implements SessionFeed {
  readonly #parts: StoredFeedParts;
  readonly #bus = new Bus();
  readonly #asks = new Map<string, { readonly ask: ToldAsk; isTold: boolean }>();
  readonly #turns: StoredTurns;
  readonly #warnings = new Set<string>();
  #followed = new FollowedState(emptyState());
  /** The sequence of the record that led to the first state. */
  #base = 0;
  #last: number;
  /** The sequence of the last record of the past. */
  #past = 0;
  /** When the last record before `first` was received. */
  #since = "";
  #version: number | undefined;
  #look: Look | undefined;
  #isStopping = false;
  #mode: ModeReader<unknown> | undefined;

  private constructor(parts: StoredFeedParts) {
    this.#parts = parts;
    this.#last = parts.first - 1;
    this.#turns = new StoredTurns(parts.output, (event) => this.#bus.emit(event));
  }

  /** Throws a `StorageError`. A session that does not exist yet may still appear. */
  static async open(parts: StoredFeedParts): Promise<StoredFeed> {
    const feed = new StoredFeed(parts);
    await feed.#open();
    return feed;
  }

  get session_id(): string {
    return this.#parts.session_id;
  }

  get presentation(): Presentation | undefined {
    return this.#mode?.presentation;
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    return this.#bus.subscribe(listener);
  }

  standing(): Standing {
    return this.#followed.standing(this.#look?.figures);
  }

  counts(): Readonly<Record<string, number>> {
    return this.#followed.counts;
  }

  asks(): readonly ToldAsk[] {
    return [...this.#asks.values()].flatMap(({ ask, isTold }) => (isTold ? [ask] : []));
  }

  /** Emits what happens until `isOver`, or until `enough` is aborted. Returns how the session ended, if that is recorded. Throws a `StorageError`. */
  async follow(isOver: () => boolean, enough?: AbortSignal): Promise<SessionEnd | undefined> {
    for (;;) {
      // Checked before the poll, so that everything the last owner wrote is emitted.
      const over = isOver();
      await this.look(over);
      if ((over && !this.#turns.isUnsettled) || enough?.aborted === true) break;
      if (!over) await delay(LOOK_EVERY_MS, undefined, enough ? { signal: enough } : {}).catch(() => {});
    }
    const end = this.#look?.figures && recordedEnd(this.#look.figures);
    if (end && enough?.aborted !== true) this.#bus.emit({ kind: "ended", end });
    return end;
  }

  /** Call when this process has asked the session's owner to stop; the stop is recorded only once it is done. */
  stopping(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#bus.emit({ kind: "stopping", reason: "signal", running: this.#turns.count });
  }

  /** Emits what has happened since the last poll. Once the owner is gone (`isOver`), no ask is emitted, since no answer would be taken. */
  async look(isOver: boolean): Promise<void> {
    this.#turns.tellOutput();
    const version = this.#parts.store.version();
    const asked = [...this.#asks.values()].filter(({ isTold }) => !isTold);
    if (version !== this.#version || this.#turns.isUnsettled) {
      this.#version = version;
      const { store, session_id } = this.#parts;
      const stored = await store.load(session_id);
      this.#look = stored.ok ? lookAt(stored.value) : undefined;
      if (stored.ok) this.#learn(stored.value.session);
      if (this.#look) this.#turns.begin(this.#look.processes);
      for (const record of recordsOf(store, session_id, this.#last + 1)) {
        this.#last += 1;
        this.#tell(record);
      }
      if (this.#look) this.#compare(this.#look);
    }
    if (isOver) return;
    // Those of the previous poll that are still open: most others were answered in advance.
    for (const known of asked) {
      if (this.#asks.get(known.ask.ask_id) !== known) continue;
      known.isTold = true;
      this.#bus.emit({ kind: "ask", ask: known.ask });
    }
  }

  /** Takes the state of a session that has records from its rows. */
  async #open(): Promise<void> {
    const { store, session_id, first, stateOf, joins } = this.#parts;
    const stored = await store.load(session_id);
    if (!stored.ok) return;
    const { session } = stored.value;
    const mode = this.#learn(session);
    this.#past = joins ? session.last_sequence : first - 1;
    if (first > 1) this.#since = keptRecord(store, session_id, first - 1).record.received_at;
    if (this.#past === 0) return;
    this.#base = session.last_sequence;
    if (mode) {
      const engine = { mode, ...(await stateOf(store, stored.value, mode)) };
      // No viewer shows the titles of a feed.
      this.#followed = new FollowedState(standingState(engine, () => ""));
    }
    if (!joins) return;
    for (const record of latestOf(store, session, NOTED)) this.#followed.note(record);
    this.#look = lookAt(stored.value);
    this.#turns.join(this.#followed.running, this.#look.processes);
  }

  #learn({ mode }: SessionRow): ModeReader<unknown> | undefined {
    return (this.#mode ??= this.#parts.readerOf(mode));
  }

  #tell({ integrity, ...record }: LogRecord): void {
    const isNew = integrity.sequence > this.#past;
    if (integrity.sequence > this.#base) this.#followed.add(record);
    if (isNew) this.#turns.before(record);
    this.#bus.emit({ kind: "record", sequence: integrity.sequence, record });
    if (!isNew) return;
    this.#turns.after(record);
    if (isStop(record)) this.stopping();
  }

  /** Emits what is in the stored state but in no record. */
  #compare({ notifications }: Look): void {
    this.#turns.settle();
    const { asks } = this.#followed.state;
    for (const ask_id of this.#asks.keys()) if (!asks.has(ask_id)) this.#asks.delete(ask_id);
    for (const ask of asks.values())
      if (!this.#asks.has(ask.ask_id)) this.#asks.set(ask.ask_id, { ask, isTold: false });
    for (const { at, trouble } of notifications) {
      if (trouble === undefined || at < this.#since || this.#warnings.has(trouble)) continue;
      this.#warnings.add(trouble);
      this.#bus.emit({ kind: "warning", text: trouble });
    }
  }
}

function lookAt(stored: StoredSession): Look {
  return {
    figures: valuesOf<LedgerFigures>(stored, "figures").get("figures"),
    processes: valuesOf(stored, "process"),
    notifications: [...valuesOf<SentNotification>(stored, NOTIFIED).values()],
  };
}

function isStop({ payload_type, payload, record }: UnsealedRecord): boolean {
  return payload_type === "user_command" && payload.command === "stop" && record.disposition === "applied";
}
