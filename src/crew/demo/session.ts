import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject, listOf, textWithin } from "../../lib/json.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { askBosun, type Bosun, type BosunProcess, startBosun } from "./bosun.ts";
import type { Screen } from "./screen.ts";

/** How long a scheduler may take to stop before it gets the next signal, in ms. */
const STOP_PATIENCE_MS = 4_000;

/** What each step of the story needs. */
export interface Demo {
  readonly screen: Screen;
  readonly bosun: Bosun;
  readonly session: DemoSession;
  /** The plan file. */
  readonly plan: string;
  /** Prompts at the terminal and returns the typed line; undefined unless the demo is interactive. */
  readonly ask: ((prompt: string) => Promise<string>) | undefined;
}

/** A question of the manager. */
export interface Question {
  readonly question_id: string;
  readonly text: string;
  readonly why: string;
  readonly options: readonly string[];
  readonly default: string;
}

/** How a command that ran the session ended. */
export interface RunEnd {
  /** The exit code; null after a signal. */
  readonly code: number | null;
  /** What it wrote to stderr. */
  readonly complaint: string;
  /** The questions that made it stop. */
  readonly questions: readonly Question[];
  /** Its `result` event; empty if it was killed. */
  readonly result: JsonObject;
}

/** The demo's session, run by one `bosun` process after another. */
export class DemoSession {
  readonly #bosun: Bosun;
  readonly #interrupted: AbortSignal;
  #session_id = "";
  #scheduler: BosunProcess | undefined;
  #closed = false;

  constructor(bosun: Bosun, interrupted: AbortSignal) {
    this.#bosun = bosun;
    this.#interrupted = interrupted;
    interrupted.addEventListener("abort", () => void this.#stop());
  }

  /** Empty until the session exists. */
  get session_id(): string {
    return this.#session_id;
  }

  /** The pid of the running scheduler. */
  get pid(): number {
    return this.#scheduler?.pid ?? 0;
  }

  /** Runs a command such as `run` or `resume` to its end and passes on the events of its `--json` output. */
  async run(words: readonly string[], onEvent: (event: JsonObject) => Promise<void> | void): Promise<RunEnd> {
    const questions: Question[] = [];
    let result: JsonObject = {};
    if (this.#interrupted.aborted) return { code: null, complaint: "", questions, result };
    const scheduler = startBosun(this.#bosun, [...words, "--json", "--no-input"]);
    this.#scheduler = scheduler;
    for await (const event of scheduler.events) {
      if (event["type"] === "hello") this.#session_id = textWithin(event["session_id"]);
      if (event["type"] === "waiting" && event["kind"] === "question") questions.push(questionOf(event));
      if (event["type"] === "result") result = event;
      await onEvent(event);
    }
    const ended = await scheduler.ended;
    this.#scheduler = undefined;
    this.#closed = result["state"] === "closed";
    return { ...ended, questions, result };
  }

  /** Kills the scheduler with SIGKILL. Its agents have their own process groups and are not affected. */
  kill(): void {
    this.#scheduler?.signal("SIGKILL");
  }

  /** Tells the scheduler to end its agents and itself at once. */
  hurry(): void {
    this.#scheduler?.signal("SIGTERM");
  }

  /** Reads the whole log from the session's files. */
  async log(): Promise<readonly LogRecord[]> {
    const { code, events, complaint } = await askBosun(this.#bosun, ["replay", this.#session_id, "--json"]);
    if (code !== 0) throw new Error(`The log of ${this.#session_id} cannot be read: ${complaint}`);
    return events as unknown as readonly LogRecord[];
  }

  /** Stops the scheduler and cancels an open session: without its scratch copy it cannot be resumed. */
  async leave(): Promise<void> {
    await this.#stop();
    if (this.#closed || this.#session_id === "") return;
    this.#closed = true;
    const cancel = startBosun(this.#bosun, ["cancel", this.#session_id, "--reason", "the demo was stopped"]);
    const late = delay(2 * STOP_PATIENCE_MS, undefined, { ref: false }).then(() => cancel.signal("SIGKILL"));
    await Promise.race([cancel.ended, late]);
  }

  async #stop(): Promise<void> {
    const scheduler = this.#scheduler;
    if (scheduler === undefined) return;
    for (const signal of ["SIGTERM", "SIGTERM", "SIGKILL"] as const) {
      scheduler.signal(signal);
      const ended = scheduler.ended.then(() => true);
      if (await Promise.race([ended, delay(STOP_PATIENCE_MS, false, { ref: false })])) return;
    }
  }
}

/** Reads a question from an event or a payload. */
export function questionOf(value: JsonObject): Question {
  return {
    question_id: textWithin(value["question_id"]),
    text: textWithin(value["text"]),
    why: textWithin(value["why"]),
    options: listOf(value["options"]).map(textWithin),
    default: textWithin(value["default"]),
  };
}

/** The tickets that these records finish, in order. */
export function ticketsDone(records: readonly UnsealedRecord[]): string[] {
  return effectsOf(records).flatMap(({ to, ticket_id }) => (to === "done" ? [ticket_id] : []));
}

/** Number of times that a check sent work back. */
export function timesSentBack(log: readonly UnsealedRecord[]): number {
  return effectsOf(log).filter(({ event }) => event === "changes_requested").length;
}

function effectsOf(records: readonly UnsealedRecord[]) {
  return records.flatMap(({ record }) => record.effects ?? []);
}
