import type { ProcessIdentity } from "../kernel/agent.ts";
import type { Ledger, LedgerAsk, LedgerHold } from "../kernel/ledger.ts";
import type { SessionView } from "../kernel/mode.ts";
import type { Presentation } from "../kernel/presentation.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Instant } from "../protocol/timestamp.ts";
import type { SessionEvent } from "./bus.ts";
import type { Clock } from "./time/clock.ts";
import { type ProgramOutcome, type ProgramParts, runProgram } from "./notification-program.ts";
import type { SessionDoor } from "./door.ts";

/** What a person is told of; `notify.on` names those that count, all of them if it is left out. */
export type NotifyEvent = "question" | "hold" | "stopped" | "closed";

/** What is told at one time: one kind of event, and of asks and holds those that nobody was told of. */
export interface Telling {
  readonly event: NotifyEvent;
  readonly asks: readonly LedgerAsk[];
  readonly holds: readonly LedgerHold[];
  /** A scheduler died while the program was told of some of this. */
  readonly again: boolean;
}

/** As much of a session as it takes to put it into words. */
export interface SessionInSight {
  readonly session_id: string;
  readonly ledger: Ledger;
  /** The sequence of the last record. */
  readonly sequence: number;
  readonly presentation: Presentation;
  view(): SessionView;
  resolve(value: JsonObject): JsonObject;
}

/** How people are told, which the runtime does not know by itself. */
export interface NotifyTerms {
  /** One line of JSON for the program, in the words that people know from elsewhere; undefined if there is nothing left to say. */
  readonly words: (session: SessionInSight, telling: Telling) => string | undefined;
  /** How long the program may take, in ms; then its group is ended. */
  readonly timeout_ms: number;
  /** Of this process; the program is given of it what a check is given. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface NotificationsParts extends ProgramParts {
  readonly clock: Clock;
  /** Absent where nobody is to be told of anything: measurements. */
  readonly notify?: NotifyTerms | undefined;
  /** What earlier schedulers told, by key. */
  readonly told: ReadonlyMap<string, Told>;
}

/** The row of the program that runs now: there is one at a time. */
const NOTIFICATION = "notification";

/** The collection of what was told, by key. */
export const TOLD = "told";

/** A value of it: when, and what became of the program if it failed. */
export interface Told {
  readonly at: Instant;
  /** The program was begun for it and has not ended, unless its scheduler died. */
  readonly begun?: boolean;
  readonly trouble?: string;
}

/**
 * Runs the configured command when a person should look: one at a time, each with all that waits of one kind. What was told is stored
 * when the program has ended, so a question is told once however often its session is resumed, and is not lost by a crash before;
 * only what a crash cut short is told again, and says so. A program that fails, hangs or is missing is warned of, and no more.
 */
export class Notifications {
  readonly #parts: NotificationsParts;
  readonly #session: SessionInSight;
  readonly #door: SessionDoor;
  readonly #on: ReadonlySet<NotifyEvent>;
  readonly #known = new Set<string>();
  readonly #cutShort = new Set<string>();
  readonly #waiting = new Map<string, NotifyEvent>();
  readonly #abort = new AbortController();
  #begun = false;
  #running: Promise<void> | undefined;
  #trouble: string | undefined;

  constructor(session: SessionInSight, parts: NotificationsParts, door: SessionDoor) {
    this.#parts = parts;
    this.#session = session;
    this.#door = door;
    for (const [key, { begun }] of parts.told) (begun === true ? this.#cutShort : this.#known).add(key);
    const { notify } = parts.config;
    const wanted = notify && parts.notify ? (notify.on ?? ["question", "hold", "stopped", "closed"]) : [];
    this.#on = new Set(wanted);
    if (this.#on.size > 0) door.bus.subscribe((event) => this.#hear(event));
  }

  /** Whether the program runs, or will. */
  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** From now on people are told, first of what stands already. Not of an earlier stop: whoever resumes knows. */
  begin(): void {
    if (this.#on.size === 0) return;
    this.#begun = true;
    const { ledger, sequence } = this.#session;
    for (const ask_id of ledger.asks.keys()) this.#add("question", questionKey(ask_id));
    this.#addHolds();
    if (ledger.figures.closed) this.#add("closed", `closed:${sequence}`);
    this.#wake();
  }

  /** Ends the program, and begins no other. */
  abort(): void {
    this.#abort.abort();
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  #hear(event: SessionEvent): void {
    if (event.kind === "ask") this.#add("question", questionKey(event.ask.ask_id));
    if (event.kind === "record") {
      const { payload_type } = event.record;
      if (payload_type === "session_stopped") this.#add("stopped", `stopped:${event.sequence}`);
      else if (payload_type === "session_closed") this.#add("closed", `closed:${event.sequence}`);
      this.#addHolds();
    }
    this.#wake();
  }

  /** A role that only keeps to its own rate is nobody's business: it goes on by itself, within a minute. */
  #addHolds(): void {
    for (const hold of this.#session.ledger.holds.values()) {
      if (hold.limit?.limit !== "turns_per_minute") this.#add("hold", holdKey(hold));
    }
  }

  #add(event: NotifyEvent, key: string): void {
    if (!this.#on.has(event) || this.#known.has(key)) return;
    this.#known.add(key);
    this.#waiting.set(key, event);
  }

  #wake(): void {
    if (!this.#begun || this.#running || this.#waiting.size === 0 || this.#abort.signal.aborted) return;
    this.#running = this.#tellAll()
      .catch((error: unknown) => this.#door.broken(error))
      .then(() => {
        this.#running = undefined;
        this.#wake();
        this.#door.schedule();
      });
  }

  async #tellAll(): Promise<void> {
    // What was said beforehand is answered in this turn of the event loop, and no program needs to be begun for it.
    await new Promise<void>((resolve) => this.#parts.clock.soon(resolve));
    for (let [first] = this.#waiting.values(); first && !this.#abort.signal.aborted; [first] = this.#waiting.values()) {
      const keys = [...this.#waiting].flatMap(([key, event]) => (event === first ? [key] : []));
      for (const key of keys) this.#waiting.delete(key);
      if (this.#telling(first, keys)) await this.#tell(first, keys);
    }
  }

  /** What of it still stands: an answer, a release or an end may have come meanwhile. */
  #telling(event: NotifyEvent, keys: readonly string[]): Telling | undefined {
    const { ledger } = this.#session;
    const wanted = new Set(keys);
    const asks =
      event === "question" ? [...ledger.asks.values()].filter((ask) => wanted.has(questionKey(ask.ask_id))) : [];
    const holds = event === "hold" ? [...ledger.holds.values()].filter((hold) => wanted.has(holdKey(hold))) : [];
    const { closed, stopped } = ledger.figures;
    const ended = event === "closed" ? closed !== undefined : event === "stopped" && stopped !== undefined && !closed;
    if (asks.length === 0 && holds.length === 0 && !ended) return undefined;
    return { event, asks, holds, again: keys.some((key) => this.#cutShort.has(key)) };
  }

  async #tell(event: NotifyEvent, keys: readonly string[]): Promise<void> {
    const outcome = await this.#run(event, keys);
    crashPoint("notification_ended");
    const { trouble } = outcome;
    const value = { at: this.#parts.clock.now(), ...(trouble === undefined ? {} : { trouble }) };
    for (const id of keys) void this.#door.keep(outcome.told ? { put: TOLD, id, value } : { drop: TOLD, id });
    if (trouble !== undefined && trouble !== this.#trouble) this.#door.bus.emit({ kind: "warning", text: trouble });
    this.#trouble = trouble;
    await this.#door.keep({ drop: "process", id: NOTIFICATION });
  }

  async #run(event: NotifyEvent, keys: readonly string[]): Promise<ProgramOutcome> {
    const { config, notify } = this.#parts;
    if (!notify || !config.notify) return { told: false };
    const { command } = config.notify;
    const { environment, timeout_ms } = notify;
    const order = {
      command,
      event,
      timeout_ms,
      environment,
      record: ({ pid, started }: ProcessIdentity) => {
        const value = { at: this.#parts.clock.now(), begun: true };
        for (const id of keys) void this.#door.keep({ put: TOLD, id, value });
        return this.#door.keep({ put: "process", id: NOTIFICATION, value: { pid, started, run: 1 } });
      },
      words: () => {
        const telling = this.#telling(event, keys);
        return telling && notify.words(this.#session, telling);
      },
    };
    return runProgram(this.#parts, order, this.#abort.signal);
  }
}

function questionKey(ask_id: string): string {
  return `question:${ask_id}`;
}

/** Roles of one account are held together, and told of together; a hold that is prolonged is the same hold. */
function holdKey({ role_id, account, since }: LedgerHold): string {
  return `hold:${account === undefined ? role_id : `account ${account}`}:${since ?? ""}`;
}
