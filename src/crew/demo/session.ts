import { setTimeout as delay } from "node:timers/promises";
import { canonicalJson } from "../../lib/canonical.ts";
import { type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { textOf } from "../turn.ts";
import { askBosun, type Bosun, type BosunProcess, startBosun } from "./bosun.ts";

/** How long a scheduler may take to stop when the demo is interrupted, before the next signal; in milliseconds. */
const STOP_PATIENCE_MS = 4_000;

/** A record and its number in the log, from 1. */
export interface Numbered {
  readonly sequence: number;
  readonly record: UnsealedRecord;
}

/** A question that the manager asks. */
export interface Question {
  readonly question_id: string;
  readonly text: string;
  readonly why: string;
  readonly options: readonly string[];
  readonly default: string;
}

/** The demo's session: one `bosun` process after another runs it. */
export class DemoSession {
  readonly #bosun: Bosun;
  readonly #interrupted: AbortSignal;
  #session_id = "";
  #scheduler: BosunProcess | undefined;
  #heard: Numbered[] = [];
  #questions: Question[] = [];
  #result: JsonObject = {};
  #left = false;
  #end: { code: number | null; complaint: string } = { code: null, complaint: "" };

  constructor(bosun: Bosun, interrupted: AbortSignal) {
    this.#bosun = bosun;
    this.#interrupted = interrupted;
    interrupted.addEventListener("abort", () => void this.#stop());
  }

  /** Empty until the session exists. */
  get session_id(): string {
    return this.#session_id;
  }

  /** Every record so far, in order. */
  get records(): readonly Numbered[] {
    return this.#heard;
  }

  /** The questions for which the last command stopped. */
  get questions(): readonly Question[] {
    return this.#questions;
  }

  /** The last command's `result` event; empty if it was killed. */
  get result(): JsonObject {
    return this.#result;
  }

  /** The last command's exit code, null after a signal, and what it wrote on stderr. */
  get end(): { readonly code: number | null; readonly complaint: string } {
    return this.#end;
  }

  /** The pid of the scheduler at work. */
  get pid(): number {
    return this.#scheduler?.pid ?? 0;
  }

  /** Runs a command that carries the session on, such as `run` or `resume`, and yields each new record. */
  async *run(words: readonly string[]): AsyncGenerator<Numbered> {
    if (this.#interrupted.aborted) return;
    this.#questions = [];
    this.#result = {};
    const scheduler = startBosun(this.#bosun, [...words, "--json", "--no-input"]);
    this.#scheduler = scheduler;
    for await (const event of scheduler.events) {
      if (event["type"] === "hello") this.#session_id = textOf(event["session_id"]);
      if (event["type"] === "waiting" && event["kind"] === "question") this.#questions.push(questionOf(event));
      if (event["type"] === "result") this.#result = event;
      if (event["type"] === "record") yield* this.#take(numbered(event));
    }
    this.#end = await scheduler.ended;
    this.#scheduler = undefined;
  }

  /** Kills the scheduler with SIGKILL. Its agents have process groups of their own and are left alone. */
  kill(): void {
    this.#scheduler?.signal("SIGKILL");
  }

  /** Tells the scheduler to end its agents and itself at once. */
  hurry(): void {
    this.#scheduler?.signal("SIGTERM");
  }

  /** The whole log as it stands in the session's files. */
  async log(): Promise<Numbered[]> {
    const { events } = await askBosun(this.#bosun, ["replay", this.#session_id, "--json"]);
    return events.map((event) => numbered({ ...event, sequence: objectOf(event["integrity"])["sequence"] }));
  }

  /** Stops whatever runs and cancels a session that is not closed: without its scratch copy it could not go on. */
  async leave(): Promise<void> {
    await this.#stop();
    if (this.#left || this.#session_id === "" || this.#result["state"] === "closed") return;
    this.#left = true;
    const reason = ["--reason", "the demo was stopped"];
    const cancel = startBosun(this.#bosun, ["cancel", this.#session_id, ...reason]);
    const late = delay(2 * STOP_PATIENCE_MS, undefined, { ref: false }).then(() => cancel.signal("SIGKILL"));
    await Promise.race([cancel.ended, late]);
  }

  /** A killed scheduler may have committed records that it could not print any more: they are read from the log. */
  async *#take(next: Numbered): AsyncGenerator<Numbered> {
    const missing = next.sequence > this.#heard.length + 1 ? await this.log() : [];
    for (const one of [...missing, next]) {
      if (one.sequence !== this.#heard.length + 1) continue;
      this.#heard.push(one);
      yield one;
    }
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

/** What a complete session came to. */
export interface Whole {
  readonly tickets: number;
  /** How often a check sent work back. */
  readonly sent_back: number;
}

/**
 * Compares the finished log with the records from before the kill: they must all be there unchanged, every ticket of
 * the plan must be done once, and no ticket that was done may have been started again. Fails with `verification_failed`
 * and the first difference.
 */
export function nothingLostOrDoubled(before: readonly Numbered[], log: readonly Numbered[]): Result<Whole, Failure> {
  const broken = (what: string) => err(failure("verification_failed", `After the kill, ${what}.`, { hint: REPORT_IT }));
  const changed = before.find(
    (one, index) => log[index] === undefined || textOfRecord(one) !== textOfRecord(log[index]),
  );
  if (changed !== undefined) return broken(`record ${changed.sequence} is lost or changed`);
  const doneBefore = ticketsDone(before);
  const again = log
    .slice(before.length)
    .find(
      ({ record: { payload_type, record } }) =>
        payload_type === "turn_request" && doneBefore.includes(record.ticket_id ?? ""),
    );
  if (again !== undefined) return broken(`the finished ticket ${again.record.record.ticket_id} was started again`);
  const done = ticketsDone(log);
  const twice = done.find((ticket, index) => done.indexOf(ticket) !== index);
  if (twice !== undefined) return broken(`the ticket ${twice} was done twice`);
  const plan = log.findLast(({ record }) => record.payload_type === "plan")?.record.payload;
  const planned = listOf(plan?.["tasks"]).map((task) => textOf(objectOf(task)["task_id"]));
  const lost = planned.find((ticket) => !done.includes(ticket));
  if (lost !== undefined) return broken(`the ticket ${lost} was never done`);
  const sent_back = effectsIn(log).filter(({ event }) => event === "changes_requested").length;
  return ok({ tickets: done.length, sent_back });
}

export const REPORT_IT = "This is a bug in Bosun. Please report it with the session's log folder.";

/** The tickets that became done, in that order. */
export function ticketsDone(records: readonly Numbered[]): string[] {
  return effectsIn(records).flatMap(({ to, ticket_id }) => (to === "done" ? [ticket_id] : []));
}

function effectsIn(records: readonly Numbered[]) {
  return records.flatMap(({ record }) => record.record.effects ?? []);
}

function textOfRecord({ record }: Numbered): string {
  return canonicalJson(record);
}

function numbered({ type: _type, sequence, integrity: _integrity, ...record }: JsonObject): Numbered {
  return { sequence: Number(sequence), record: record as unknown as UnsealedRecord };
}

function questionOf(event: JsonObject): Question {
  return {
    question_id: textOf(event["question_id"]),
    text: textOf(event["text"]),
    why: textOf(event["why"]),
    options: listOf(event["options"]).map(textOf),
    default: textOf(event["default"]),
  };
}
