import { setTimeout as delay } from "node:timers/promises";
import type { LedgerAsk, LedgerFigures, LedgerValues } from "../../kernel/ledger.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { latestNotes, type Standing, TurnNotes, workload } from "./standing.ts";
import { recordsOf } from "../../store/kept-record.ts";
import type { SessionRow, StoredSession, StoreReader } from "../../store/store.ts";
import { Bus, type SessionEnd, type SessionEvent } from "../bus.ts";
import { recordedEnd } from "../exit.ts";
import { NOTIFIED, type SentNotification } from "../notifications.ts";
import type { SessionFeed } from "./feed.ts";
import { totalOf } from "../usage.ts";
import { SubjectCounts } from "./subject-counts.ts";
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
  /**
   * Whether the feed joins a running session. If so, the past is emitted as records only. Running turns are in `standing`; their further
   * output and their `turn_ended` are emitted. Otherwise everything from the first record on is emitted.
   */
  readonly joins: boolean;
}

/** The stored state that a poll reads. */
interface Look {
  readonly row: SessionRow;
  readonly figures: LedgerFigures | undefined;
  readonly asks: readonly LedgerAsk[];
  readonly workload: ReturnType<typeof workload>;
  readonly processes: TurnProcesses;
  readonly notifications: readonly SentNotification[];
}

/** The feed of a session that another process runs. Polls the store and the output files, and only reads. */
export class StoredFeed implements SessionFeed {
  readonly #parts: StoredFeedParts;
  readonly #bus = new Bus();
  /** Counts from the records emitted so far. */
  readonly #subjects = new SubjectCounts();
  readonly #asks = new Map<string, { readonly ask: LedgerAsk; isTold: boolean }>();
  readonly #turns: StoredTurns;
  readonly #warnings = new Set<string>();
  #notes = new TurnNotes();
  #last: number;
  /** The sequence of the last record of the past. */
  #past = 0;
  /** When the last record before `first` was received. */
  #since = "";
  #version: number | undefined;
  #look: Look | undefined;
  #isStopping = false;

  private constructor(parts: StoredFeedParts) {
    this.#parts = parts;
    this.#last = parts.first - 1;
    this.#turns = new StoredTurns(parts.output, (event) => {
      if (event.kind === "turn_ended") this.#notes.drop(event);
      this.#bus.emit(event);
    });
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

  subscribe(listener: (event: SessionEvent) => void): () => void {
    return this.#bus.subscribe(listener);
  }

  standing(): Standing {
    const { row, figures, asks, workload: found } = this.#look ?? {};
    return {
      state: row?.state ?? "",
      counts: this.counts(),
      turns: figures?.turns ?? 0,
      usage: figures && totalOf(figures),
      waiting: asks?.length ?? 0,
      running: this.#notes.of(found?.running ?? []),
      checking: found?.checking ?? [],
      held: found?.held ?? [],
    };
  }

  counts(): Readonly<Record<string, number>> {
    return this.#subjects.counts;
  }

  asks(): readonly LedgerAsk[] {
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
      this.#look = await this.#read();
      if (this.#look) this.#turns.begin(this.#look.processes);
      for (const record of this.#records()) this.#tell(record);
      if (this.#look) this.#compare(this.#look);
    }
    if (!isOver) this.#tellAsks(asked);
  }

  async #open(): Promise<void> {
    const { store, session_id, first, joins } = this.#parts;
    const look = await this.#read();
    if (look === undefined) return;
    this.#past = joins ? look.row.last_sequence : first - 1;
    for (const record of recordsOf(store, session_id, 1, this.#past)) {
      this.#subjects.add(record);
      if (record.integrity.sequence < first) this.#since = record.record.received_at;
    }
    if (!joins) return;
    this.#look = look;
    this.#notes = latestNotes(store, look.row);
    this.#turns.join(look.workload.running, look.processes);
  }

  async #read(): Promise<Look | undefined> {
    const { store, session_id } = this.#parts;
    const stored = await store.load(session_id);
    if (!stored.ok) return undefined;
    const values = <C extends keyof LedgerValues>(collection: C) => valuesIn<LedgerValues[C]>(stored.value, collection);
    const processes = Array.from(stored.value.rows("process"), ({ id, value }) => [id, value] as const);
    return {
      row: stored.value.session,
      figures: values("figures")[0],
      asks: values("ask"),
      workload: workload(values("turn"), values("check"), values("hold")),
      processes: new Map(processes as unknown as Iterable<[string, { pid: number; run: number }]>),
      notifications: valuesIn<SentNotification>(stored.value, NOTIFIED),
    };
  }

  *#records(): Generator<LogRecord> {
    for (const record of recordsOf(this.#parts.store, this.session_id, this.#last + 1)) {
      this.#last += 1;
      yield record;
    }
  }

  #tell({ integrity, ...record }: LogRecord): void {
    const isNew = integrity.sequence > this.#past;
    if (isNew) {
      this.#subjects.add(record);
      this.#notes.add(record);
      this.#turns.before(record);
    }
    this.#bus.emit({ kind: "record", sequence: integrity.sequence, record });
    if (!isNew) return;
    this.#turns.after(record);
    if (isStop(record)) this.stopping();
  }

  /** Emits what is in the stored state but in no record. */
  #compare({ asks, notifications }: Look): void {
    this.#turns.settle();
    const open = new Set(asks.map(({ ask_id }) => ask_id));
    for (const ask_id of this.#asks.keys()) if (!open.has(ask_id)) this.#asks.delete(ask_id);
    for (const ask of asks) if (!this.#asks.has(ask.ask_id)) this.#asks.set(ask.ask_id, { ask, isTold: false });
    for (const { at, trouble } of notifications) {
      if (trouble === undefined || at < this.#since || this.#warnings.has(trouble)) continue;
      this.#warnings.add(trouble);
      this.#bus.emit({ kind: "warning", text: trouble });
    }
  }

  /** Emits the asks of the previous poll that are still open. Most others were answered in advance. */
  #tellAsks(asked: readonly { readonly ask: LedgerAsk; isTold: boolean }[]): void {
    for (const known of asked) {
      if (this.#asks.get(known.ask.ask_id) !== known) continue;
      known.isTold = true;
      this.#bus.emit({ kind: "ask", ask: known.ask });
    }
  }
}

function valuesIn<T>(stored: StoredSession, collection: string): T[] {
  return Array.from(stored.rows(collection), ({ value }) => value as unknown as T);
}

function isStop({ payload_type, payload, record }: UnsealedRecord): boolean {
  return payload_type === "user_command" && payload.command === "stop" && record.disposition === "applied";
}
