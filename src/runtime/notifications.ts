import { checkEnvironment } from "../agents/cli/environment.ts";
import { type RunEnd, type RunListener, SupervisedRun } from "../agents/cli/process.ts";
import { StderrTail } from "../agents/cli/stderr-tail.ts";
import { programFile, programObstacle } from "../agents/program-file.ts";
import type { Ledger, LedgerAsk, LedgerHold } from "../kernel/ledger.ts";
import type { SessionView } from "../kernel/mode.ts";
import type { Presentation } from "../kernel/presentation.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { SessionContext } from "./context.ts";

/** What a person is notified of. `notify.on` names the events that count; without it all do. */
export type NotifyEvent = "question" | "hold" | "stopped" | "closed";

const EVENTS: readonly NotifyEvent[] = ["question", "hold", "stopped", "closed"];

/** One notification: everything of one event that is open and was not notified yet. */
export interface Notification {
  readonly event: NotifyEvent;
  readonly asks: readonly LedgerAsk[];
  readonly holds: readonly LedgerHold[];
  /** An earlier scheduler died while its program ran for some of this. */
  readonly again: boolean;
}

/** The part of a session that its notifications are written from. */
export interface ReadableSession {
  readonly session_id: string;
  readonly ledger: Ledger;
  /** The sequence of the last record. */
  readonly sequence: number;
  readonly presentation: Presentation;
  view(): SessionView;
  resolve(value: JsonObject): JsonObject;
}

/** What the runtime must be given to run `notify.command`. */
export interface NotificationHook {
  /** The program's stdin: one line of JSON. Undefined if there is nothing left to say. */
  readonly message: (session: ReadableSession, notification: Notification) => string | undefined;
  /** The time limit of the program, in ms; then its group is ended. */
  readonly timeout_ms: number;
  /** The scheduler's environment; the program gets what a check gets of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
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

/** The stored process of the running program: there is at most one. */
const PROCESS_ID = "notification";

/** Starts the program only when its process is on record, so that a crash before leaves no program without a message. */
const GATE = ["sh", "-c", 'read -r go && exec "$@"', "notification"];

/** Bytes kept of each line of the program's stderr. */
const LINE_BYTES = 2_048;

/** Characters of the program's last words that a warning quotes. */
const LAST_WORDS = 200;

/**
 * Runs `notify.command` when a person should look: one program at a time, with everything of one event that is open and was not notified. What
 * was notified is stored when the program has ended, so it is notified at least once, and a crash in between repeats it. A program that fails,
 * hangs or is missing is a warning.
 */
export class Notifications {
  readonly #context: SessionContext;
  readonly #session: ReadableSession;
  readonly #hook: NotificationHook | undefined;
  readonly #on: readonly NotifyEvent[];
  readonly #sent: Map<string, Pick<SentNotification, "begun">>;
  readonly #abort = new AbortController();
  /** The last stored record. Memory is ahead of it: what is not stored is not notified. */
  #stored: number;
  #begun = false;
  #running: Promise<void> | undefined;
  #lastTrouble: string | undefined;

  /** `sent`: what earlier schedulers notified, by key. */
  constructor(
    context: SessionContext,
    session: ReadableSession,
    hook: NotificationHook | undefined,
    sent: ReadonlyMap<string, SentNotification>,
  ) {
    this.#context = context;
    this.#session = session;
    this.#hook = hook;
    this.#sent = new Map(sent);
    this.#stored = session.sequence;
    const { notify } = context.config;
    this.#on = notify && hook ? (notify.on ?? EVENTS) : [];
    if (this.#on.length === 0) return;
    context.bus.subscribe((event) => {
      if (event.kind === "record") this.#stored = event.sequence;
      this.#wake();
    });
  }

  /** Whether a program runs or will run. */
  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Starts to notify, first of what is open already. */
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
    if (!this.#begun || this.#running || this.#abort.signal.aborted || !this.#due()) return;
    this.#running = this.#sendAll()
      .catch((error: unknown) => this.#context.broken(error))
      .then(() => {
        this.#running = undefined;
        this.#context.schedule();
      });
  }

  async #sendAll(): Promise<void> {
    // Answers given beforehand settle their questions in this turn of the event loop.
    await new Promise<void>((resolve) => this.#context.clock.soon(resolve));
    for (let due = this.#due(); due && !this.#abort.signal.aborted; due = this.#due()) await this.#send(due);
  }

  /** The first event with something open that was not notified, with the keys of all of it. */
  #due(): (Notification & { readonly keys: readonly string[] }) | undefined {
    const { ledger, sequence } = this.#session;
    const { closed, stopped } = ledger.figures;
    const isStored = sequence === this.#stored;
    const isNew = (key: string) => this.#sent.get(key)?.begun ?? !this.#sent.has(key);
    const isNewAsk = (ask: LedgerAsk) => ask.record <= this.#stored && isNew(questionKey(ask));
    // A role held by its own rate goes on by itself within a minute.
    const isNewHold = (hold: LedgerHold) =>
      isStored && hold.limit?.limit !== "turns_per_minute" && isNew(holdKey(hold));
    for (const event of this.#on) {
      const asks = event === "question" ? [...ledger.asks.values()].filter(isNewAsk) : [];
      const holds = event === "hold" ? [...ledger.holds.values()].filter(isNewHold) : [];
      const isEnd = (event === "closed" && closed) || (event === "stopped" && stopped && !closed);
      const end = isEnd && isStored ? [`${event}:${sequence}`].filter(isNew) : [];
      const keys = [...asks.map(questionKey), ...holds.map(holdKey), ...end];
      if (keys.length > 0) return { event, asks, holds, keys, again: keys.some((key) => this.#sent.has(key)) };
    }
    return undefined;
  }

  async #send(notification: Notification & { readonly keys: readonly string[] }): Promise<void> {
    const { event, keys } = notification;
    for (const key of keys) this.#sent.set(key, {});
    const message = this.#hook?.message(this.#session, notification);
    const trouble = message === undefined ? undefined : await this.#run(event, message, keys);
    crashPoint("notification_ended");
    if (this.#abort.signal.aborted) return;
    const value = { at: this.#context.clock.now(), ...(trouble === undefined ? {} : { trouble }) };
    for (const id of keys) void this.#context.keep({ put: NOTIFIED, id, value });
    if (trouble !== undefined && trouble !== this.#lastTrouble)
      this.#context.bus.emit({ kind: "warning", text: trouble });
    this.#lastTrouble = trouble;
    await this.#context.keep({ drop: "process", id: PROCESS_ID });
  }

  /** Runs the program once; returns why it failed. */
  async #run(event: NotifyEvent, message: string, keys: readonly string[]): Promise<string | undefined> {
    const { session_id, paths, config, workspace, launcher } = this.#context;
    const { timeout_ms = 0, environment = {} } = this.#hook ?? {};
    const command = config.notify?.command ?? [];
    const [program = ""] = command;
    const failed = (what: string) =>
      `The notification of "${event}" failed: notify.command ${JSON.stringify(program)} ${what}. The session goes on without it.`;
    if (programFile(program, workspace, environment["PATH"]) === undefined)
      return failed(programObstacle(program, workspace).why);
    const about = { session_id, artifacts_dir: paths.work(undefined), subject: undefined };
    const launched = await launcher.launch({
      // Where the machine can, everything that the program starts dies with it and with the scheduler.
      isolation: { level: "processes", required: false },
      command: [...GATE, ...command],
      directory: workspace,
      environment: { ...checkEnvironment(environment, about), BOSUN_EVENT: event },
    });
    if (!launched.ok) return failed(`cannot be started: ${launched.error.message}`);
    const errors = new Errors();
    const limits = {
      timeout_ms,
      idle_timeout_ms: 0,
      kill_grace_ms: config.kill_grace_s * 1000,
      answer_grace_ms: 0,
      max_output_bytes: config.max_output_bytes,
    };
    const run = new SupervisedRun(launched.value, limits, errors, this.#abort.signal);
    crashPoint("notification_spawned");
    const { pid, started } = launched.value.identity;
    const begun = { at: this.#context.clock.now(), begun: true };
    for (const id of keys) void this.#context.keep({ put: NOTIFIED, id, value: begun });
    const recorded = await this.#context.keep({ put: "process", id: PROCESS_ID, value: { pid, started, run: 1 } });
    crashPoint("notification_pid_committed");
    if (recorded) run.give(`go\n${message}\n`);
    else run.stop("not_recorded");
    crashPoint("notification_given");
    const trouble = troubleOf(await run.ended, timeout_ms);
    return trouble === undefined ? undefined : failed(`${trouble}${errors.lastWords()}`);
  }
}

function troubleOf({ cause, exit }: RunEnd, timeout_ms: number): string | undefined {
  if (cause === "timeout") return `did not end within ${timeout_ms / 1000} s, and was ended`;
  if (cause === "output_limit") return "printed too much, and was ended";
  if (exit?.code === 0) return undefined;
  return exit?.signal ? `was ended by ${exit.signal}` : `exited with ${exit?.code ?? "nothing"}`;
}

/** Discards the program's output except the end of its stderr. */
class Errors implements RunListener {
  readonly #tail = new StderrTail();

  capOf(): number {
    return LINE_BYTES;
  }

  line(stream: "stdout" | "stderr", bytes: Buffer): undefined {
    if (stream === "stderr") this.#tail.add(bytes.toString("utf8"));
    return undefined;
  }

  lastWords(): string {
    const last = this.#tail.text().split("\n").at(-1) ?? "";
    return last === "" ? "" : `, saying: ${last.slice(-LAST_WORDS).toWellFormed()}`;
  }
}

function questionKey({ ask_id }: LedgerAsk): string {
  return `question:${ask_id}`;
}

/** Roles of one account are held and notified together; a prolonged hold is the same hold. */
function holdKey({ role_id, account, since }: LedgerHold): string {
  return `hold:${account === undefined ? role_id : `account ${account}`}:${since ?? ""}`;
}
