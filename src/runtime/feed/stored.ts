import { setTimeout as delay } from "node:timers/promises";
import type { LedgerAsk, LedgerFigures, LedgerValues } from "../../kernel/ledger.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { latestNotes, type Standing, TurnNotes, workload } from "./standing.ts";
import { recordsOf } from "../../store/kept-record.ts";
import type { SessionRow, StoredSession, StoreReader } from "../../store/store.ts";
import { Bus, type SessionEnd, type SessionEvent, type TurnAbout } from "../bus.ts";
import { recordedEnd } from "../exit.ts";
import { NOTIFIED, type SentNotification } from "../notifications.ts";
import type { SessionFeed } from "./feed.ts";
import { TurnOutput } from "./turn-output.ts";

/** How often the store and the output files are looked at, in ms. A look at an unchanged store costs one pragma. */
const LOOK_EVERY_MS = 40;

export interface StoredFeedParts {
  readonly store: StoreReader;
  readonly session_id: string;
  /** The folder with what the session's agents print. */
  readonly output: string;
  /** The sequence of the first record that is told. */
  readonly first: number;
  /**
   * Whether the feed joins a session at work. Then only records are told of the past, and turns that are under way are in `standing`: their
   * `turn_ended` is told, and what they print from now on. Otherwise everything from the first record on is told.
   */
  readonly joins: boolean;
}

/** A turn whose agent works, and what it prints. */
interface RunningTurn {
  readonly about: TurnAbout;
  readonly output: TurnOutput;
}

/** The stored state that a look goes by. */
interface Look {
  readonly row: SessionRow;
  readonly figures: LedgerFigures | undefined;
  readonly asks: readonly LedgerAsk[];
  readonly workload: ReturnType<typeof workload>;
  /** The processes of turns by turn id. */
  readonly processes: ReadonlyMap<string, { readonly pid: number; readonly run: number }>;
  readonly told: readonly SentNotification[];
}

/**
 * The feed of a session that another process runs, or nobody: from the store, which it polls, and the output files. It only reads, so the
 * session does not notice it.
 */
export class StoredFeed implements SessionFeed {
  readonly #parts: StoredFeedParts;
  readonly #bus = new Bus();
  /** The status of each subject, from the effects of the records told so far. */
  readonly #statuses = new Map<string, string>();
  readonly #asks = new Map<string, { readonly ask: LedgerAsk; isTold: boolean }>();
  /** Turns that were given, and are not known to have begun. */
  readonly #given = new Map<string, TurnAbout>();
  readonly #running = new Map<string, RunningTurn>();
  /** Turns that began after the stored state of this look was read, so it cannot say whether they have ended. */
  readonly #unsettled = new Set<string>();
  readonly #warnings = new Set<string>();
  #notes = new TurnNotes();
  #last: number;
  /** The sequence of the last record of the past. */
  #past = 0;
  /** When the last record before the first that is told was received. */
  #since = "";
  #version: number | undefined;
  #look: Look | undefined;
  #isStopping = false;

  private constructor(parts: StoredFeedParts) {
    this.#parts = parts;
    this.#last = parts.first - 1;
  }

  /** Throws a `StorageError`. A session that does not exist yet may come. */
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
    const counts: Record<string, number> = {};
    for (const status of this.#statuses.values()) counts[status] = (counts[status] ?? 0) + 1;
    const { row, figures, asks, workload: found } = this.#look ?? {};
    return {
      state: row?.state ?? "",
      counts,
      turns: figures?.turns ?? 0,
      waiting: asks?.length ?? 0,
      running: this.#notes.of(found?.running ?? []),
      checking: found?.checking ?? [],
      held: found?.held ?? [],
    };
  }

  asks(): readonly LedgerAsk[] {
    return [...this.#asks.values()].flatMap(({ ask, isTold }) => (isTold ? [ask] : []));
  }

  /**
   * Tells what happens until `isOver`, or `enough` is aborted. Gives how the session was left as far as that is recorded. Throws a
   * `StorageError`.
   */
  async follow(isOver: () => boolean, enough?: AbortSignal): Promise<SessionEnd | undefined> {
    for (;;) {
      // Asked before the look, so that everything the last owner wrote is told.
      const over = isOver();
      await this.look(over);
      if ((over && this.#unsettled.size === 0) || enough?.aborted === true) break;
      if (!over) await delay(LOOK_EVERY_MS, undefined, enough ? { signal: enough } : {}).catch(() => {});
    }
    const end = this.#look?.figures && recordedEnd(this.#look.figures);
    if (end && enough?.aborted !== true) this.#bus.emit({ kind: "ended", end });
    return end;
  }

  /** To be called when this process has asked the session's owner to stop, which is on record only when it has stopped. */
  stopping(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#bus.emit({ kind: "stopping", reason: "signal", running: this.#running.size });
  }

  /** Tells what has happened since the last look. Once the owner is gone (`isOver`) nobody takes an answer, so no ask is told. */
  async look(isOver: boolean): Promise<void> {
    for (const turn of this.#running.values()) this.#tellOutput(turn);
    const version = this.#parts.store.version();
    const asked = [...this.#asks.values()].filter(({ isTold }) => !isTold);
    if (version !== this.#version || this.#unsettled.size > 0) {
      this.#version = version;
      // Read before the records: then every turn that the state has without its end has none among the records of earlier looks.
      this.#look = await this.#read();
      this.#unsettled.clear();
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
      this.#count(record);
      if (record.integrity.sequence < first) this.#since = record.record.received_at;
    }
    if (!joins) return;
    this.#look = look;
    this.#notes = latestNotes(store, look.row);
    for (const { turn_id, role_id, subject } of look.workload.running) {
      const run = look.processes.get(turn_id)?.run;
      if (run !== undefined) this.#adopt({ turn_id, run, role_id, ...(subject === undefined ? {} : { subject }) });
    }
  }

  #adopt(about: TurnAbout): void {
    this.#running.set(about.turn_id, { about, output: new TurnOutput(this.#parts.output, about, true) });
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
      told: valuesIn<SentNotification>(stored.value, NOTIFIED),
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
      this.#count(record);
      this.#notes.add(record);
      if (record.payload_type !== "turn_request") this.#tellTurnBefore(record);
    }
    this.#bus.emit({ kind: "record", sequence: integrity.sequence, record });
    if (!isNew) return;
    if (record.payload_type === "turn_request") this.#give(record);
    if (isStop(record)) this.stopping();
  }

  #count({ record }: UnsealedRecord): void {
    for (const { ticket_id, to } of record.effects ?? []) this.#statuses.set(ticket_id, to);
  }

  #give({ target, record }: UnsealedRecord): void {
    const { turn_id, run = 1, ticket_id } = record;
    if (turn_id === undefined || record.disposition !== "applied") return;
    // An earlier run of the turn is over.
    this.#end(turn_id);
    this.#given.set(turn_id, {
      turn_id,
      run,
      role_id: target,
      ...(ticket_id === undefined ? {} : { subject: ticket_id }),
    });
  }

  /** What a record about a turn comes after: the turn's begin, and the lines its agent printed until then. */
  #tellTurnBefore({ record: { turn_id, run } }: UnsealedRecord): void {
    if (turn_id === undefined) return;
    const given = this.#given.get(turn_id);
    if (given && (run ?? given.run) === given.run) {
      const pid = this.#pidOf(given);
      this.#start(given, pid);
      if (pid === undefined) this.#unsettled.add(turn_id);
    }
    const running = this.#running.get(turn_id);
    if (running) this.#tellOutput(running);
  }

  #pidOf({ turn_id, run }: TurnAbout): number | undefined {
    const found = this.#look?.processes.get(turn_id);
    return found?.run === run ? found.pid : undefined;
  }

  #start(about: TurnAbout, pid: number | undefined): void {
    this.#given.delete(about.turn_id);
    this.#running.set(about.turn_id, { about, output: new TurnOutput(this.#parts.output, about, false) });
    this.#bus.emit({ kind: "turn_started", ...about, ...(pid === undefined ? {} : { pid }) });
  }

  #end(turn_id: string): void {
    const running = this.#running.get(turn_id);
    if (!running) return;
    this.#tellOutput(running, true);
    this.#running.delete(turn_id);
    this.#bus.emit({ kind: "turn_ended", ...running.about });
  }

  #tellOutput({ about, output }: RunningTurn, toEnd = false): void {
    for (const line of output.read(toEnd)) this.#bus.emit({ kind: "console", ...about, ...line });
  }

  /** Tells what the stored state has and no record says. */
  #compare({ asks, processes, told }: Look): void {
    for (const given of [...this.#given.values()]) {
      const pid = this.#pidOf(given);
      if (pid !== undefined) this.#start(given, pid);
    }
    for (const { about } of [...this.#running.values()]) {
      const isAtWork = processes.get(about.turn_id)?.run === about.run;
      if (!isAtWork && !this.#unsettled.has(about.turn_id)) this.#end(about.turn_id);
    }
    const open = new Set(asks.map(({ ask_id }) => ask_id));
    for (const ask_id of this.#asks.keys()) if (!open.has(ask_id)) this.#asks.delete(ask_id);
    for (const ask of asks) if (!this.#asks.has(ask.ask_id)) this.#asks.set(ask.ask_id, { ask, isTold: false });
    for (const { at, trouble } of told) {
      if (trouble === undefined || at < this.#since || this.#warnings.has(trouble)) continue;
      this.#warnings.add(trouble);
      this.#bus.emit({ kind: "warning", text: trouble });
    }
  }

  /** Tells of those asks of the look before that are still open: what is answered beforehand is answered at once, and was asked of nobody. */
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
