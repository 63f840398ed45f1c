import type { RunEnd } from "../agents/cli/process.ts";
import { exitWords } from "../agents/cli/outcome.ts";
import { StderrTail } from "../agents/cli/stderr-tail.ts";
import type { LedgerAsk, LedgerHold } from "../kernel/ledger.ts";
import type { Engine } from "../kernel/engine.ts";
import { defined, type JsonObject } from "../lib/json.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { SHELL } from "../agents/gate.ts";
import type { SessionContext } from "./context.ts";
import type { LiveSession } from "./feed/live.ts";
import { type Program, runProgram } from "./program.ts";

/** What a person is notified of. `notify.on` selects the events; by default all are selected. */
export type NotifyEvent = "question" | "hold" | "stopped" | "closed";

/** One notification: all open items of one event that were not notified yet. */
export interface Notification {
  readonly event: NotifyEvent;
  /** The keys of the asks, the holds or the end that it is about. */
  readonly keys: readonly string[];
  readonly asks: readonly LedgerAsk[];
  readonly holds: readonly LedgerHold[];
  /** An earlier scheduler died while its program ran for some of these items. */
  readonly again: boolean;
}

/** The part of a session that notifications are made from. */
export interface ReadableSession extends Omit<LiveSession, "bus"> {
  /** The sequence of the last record. */
  readonly sequence: number;
  readonly engine: Engine<unknown>;
  resolve(value: JsonObject): JsonObject;
}

/** What the runtime needs to run `notify.command`. */
export interface NotificationHook {
  /** Returns the program's stdin: one line of JSON. Undefined if there is nothing left to report. */
  readonly message: (session: ReadableSession, notification: Notification) => string | undefined;
  /** The program's timeout, in ms, after which its process group is ended. */
  readonly timeout_ms: number;
}

/** The stored collection of notifications, by the key of an ask, a hold or an end. */
export const NOTIFIED = "told";

/** A value of that collection. */
export interface SentNotification {
  readonly at: Instant;
  /** The program has started for it and not ended, unless its scheduler died. */
  readonly begun?: boolean;
  /** Why the program failed. */
  readonly trouble?: string;
}

/** The key of the running program's stored process. At most one runs. */
const PROCESS_ID = "notification";

/** Starts the program only once its process is on record, so that a crash before that leaves no program without a message. */
const GATE = [SHELL, "-c", 'read -r go && exec "$@"', "notification"];

/**
 * Runs `notify.command` when a person should look. One program runs at a time, with all open items of one event that were not notified. They
 * are stored as notified when the program has ended, so each is notified at least once, and a crash in between repeats it. A program that
 * fails, hangs or is missing causes a warning.
 */
export class Notifications {
  readonly #context: SessionContext;
  readonly #session: ReadableSession;
  readonly #hook: NotificationHook | undefined;
  readonly #sent: Map<string, Pick<SentNotification, "begun">>;
  readonly #abort = new AbortController();
  /** The last stored record. */
  #stored: number;
  #begun = false;
  #running: Promise<void> | undefined;
  #lastTrouble: string | undefined;

  /** `sent` has the notifications of earlier schedulers, by key. */
  constructor(
    context: SessionContext,
    session: ReadableSession,
    hook: NotificationHook | undefined,
    sent: ReadonlyMap<string, SentNotification>,
  ) {
    this.#context = context;
    this.#session = session;
    this.#hook = context.config.notify && hook;
    this.#sent = new Map(sent);
    this.#stored = session.sequence;
    if (!this.#hook) return;
    context.bus.subscribe((event) => {
      if (event.kind === "record") this.#stored = event.sequence;
      this.#wake();
    });
  }

  /** Whether a program runs or will run. */
  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Starts to notify, beginning with what is already open. */
  begin(): void {
    this.#begun = true;
    this.#wake();
  }

  /** Ends the program and starts no other. */
  abort(): void {
    this.#abort.abort();
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  #wake(): void {
    if (!this.#begun || this.#running || !this.#due()) return;
    this.#running = this.#sendAll()
      .catch((error: unknown) => this.#context.broken(error))
      .then(() => {
        this.#running = undefined;
        this.#context.schedule();
      });
  }

  async #sendAll(): Promise<void> {
    // Answers given in advance settle their questions in this turn of the event loop.
    await new Promise<void>((resolve) => this.#context.clock.soon(resolve));
    for (let due = this.#due(); due; due = this.#due()) await this.#send(due);
  }

  /** The first event with open items that were not notified. */
  #due(): Notification | undefined {
    if (!this.#hook || this.#abort.signal.aborted) return undefined;
    const { config, ledger } = this.#context;
    const { closed, stopped } = ledger.figures;
    const { sequence } = this.#session;
    const isStored = sequence === this.#stored;
    const isNew = (key: string) => this.#sent.get(key)?.begun ?? !this.#sent.has(key);
    const asks = [...ledger.asks.values()].filter((ask) => ask.record <= this.#stored && isNew(questionKey(ask)));
    // A role held by its own rate limit continues by itself within a minute.
    const holds = [...ledger.holds.values()].filter(
      (hold) => isStored && hold.limit?.limit !== "turns_per_minute" && isNew(holdKey(hold)),
    );
    const end = closed ? "closed" : "stopped";
    const ends = isStored && (closed ?? stopped) ? [`${end}:${sequence}`].filter(isNew) : [];
    const open: [NotifyEvent, string[]][] = [
      ["question", asks.map(questionKey)],
      ["hold", holds.map(holdKey)],
      [end, ends],
    ];
    const due = open.find(([event, keys]) => keys.length > 0 && (config.notify?.on?.includes(event) ?? true));
    if (!due) return undefined;
    const [event, keys] = due;
    return { event, keys, asks, holds, again: keys.some((key) => this.#sent.has(key)) };
  }

  async #send(due: Notification): Promise<void> {
    const { bus, clock } = this.#context;
    for (const key of due.keys) this.#sent.set(key, {});
    const message = this.#hook?.message(this.#session, due);
    const trouble = message === undefined ? undefined : await this.#run(due, message);
    if (this.#abort.signal.aborted) return;
    const value = { at: clock.now(), ...defined({ trouble }) };
    for (const id of due.keys) void this.#context.keep({ put: NOTIFIED, id, value });
    if (trouble !== undefined && trouble !== this.#lastTrouble) bus.emit({ kind: "warning", text: trouble });
    this.#lastTrouble = trouble;
    await this.#context.keep({ drop: "process", id: PROCESS_ID });
  }

  /** Runs the program once. Returns why it failed. */
  async #run({ event, keys }: Notification, message: string): Promise<string | undefined> {
    const { clock, config } = this.#context;
    const { command = [] } = config.notify ?? {};
    const { timeout_ms = 0 } = this.#hook ?? {};
    const begun = keys.map((id) => ({ put: NOTIFIED, id, value: { at: clock.now(), begun: true } }));
    const program = { id: PROCESS_ID, event, command, message, timeout_ms, begun };
    const failed = await runWithMessage(this.#context, program, this.#abort.signal);
    if (failed === undefined) return undefined;
    return `The notification of "${event}" failed: notify.command ${failed}. The session goes on without it.`;
  }
}

/** A person's own program, for something that has happened. */
interface MessageProgram extends Pick<Program, "id" | "command" | "timeout_ms" | "begun"> {
  /** Its variable BOSUN_EVENT. */
  readonly event: string;
  /** Its stdin: one line of JSON. */
  readonly message: string;
}

/** Runs such a program once. Returns why it failed, to follow the name of its setting. */
export async function runWithMessage(
  context: SessionContext,
  { event, command, message, ...program }: MessageProgram,
  signal: AbortSignal,
): Promise<string | undefined> {
  const stderr = new StderrTail();
  const about = { kind: "notification", variables: { BOSUN_EVENT: event }, input: `${message}\n` } as const;
  const ran = await runProgram(context, { ...program, ...about, command: [...GATE, ...command] }, stderr, signal);
  const why = ran.ok ? troubleOf(ran.value, program.timeout_ms) : `cannot be started: ${ran.error.message}`;
  if (why === undefined) return undefined;
  const last = stderr.text().split("\n").at(-1);
  return `${JSON.stringify(command[0])} ${why}${last ? `, saying: ${last}` : ""}`;
}

function troubleOf({ cause, exit }: RunEnd, timeout_ms: number): string | undefined {
  if (cause === "timeout") return `did not end within ${timeout_ms / 1000} s, and was ended`;
  if (cause === "output_limit") return "printed too much, and was ended";
  return exit?.code === 0 ? undefined : exitWords(exit ?? { code: null, signal: null });
}

function questionKey({ ask_id }: LedgerAsk): string {
  return `question:${ask_id}`;
}

/** Roles of one account are held and notified together. A prolonged hold is the same hold. */
function holdKey({ role_id, account, since }: LedgerHold): string {
  return `hold:${account === undefined ? role_id : `account ${account}`}:${since ?? ""}`;
}
