import type { Presentation, ResultPart } from "../../kernel/presentation.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import { resultParts } from "../../log/result-parts.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Role } from "../../protocol/roles.ts";
import { tellingOf, type ToldTurn } from "../../protocol/telling.ts";
import type { TurnAbout } from "../../runtime/bus.ts";
import type { Proof } from "../../runtime/proof.ts";
import { resultsOf } from "../failure-lines.ts";
import { applyRecord } from "../model/apply.ts";
import { emptyModel, type SessionModel } from "../model/model.ts";
import { RecordFormatter } from "../record-formatter.ts";
import { outputWords } from "../../log/report.ts";
import { allWords, wordsOf } from "../words.ts";
import { type Asked, AskedAndAnswered } from "./asked.ts";
import { type Envelope, envelopeOf, payloadLength } from "./envelopes.ts";

/** Everything a report says about a session, in any format. Its texts are untrusted: each format sanitises them. */
export interface SessionReport {
  readonly session: SessionModel;
  /** Undefined if the mode is unknown. */
  readonly presentation: Presentation | undefined;
  /** When the first and the last record were received. */
  readonly from: string;
  readonly to: string;
  readonly recoveries: number;
  /** In the order in which they ended, followed by the open ones. */
  readonly turns: readonly TurnSpan[];
  /** What the latest completed report about each ticket says. */
  readonly work: ReadonlyMap<string, WorkDone>;
  readonly checks: readonly CheckRun[];
  readonly asked: readonly Asked[];
  readonly notes: readonly Noted[];
  /** The result of a mode without tickets. */
  readonly result: readonly ResultPart[];
  readonly envelopes: readonly Envelope[];
  readonly unreadable: readonly number[];
  readonly proof: Proof;
}

/** One run of a turn, from its request to its end. */
export interface TurnSpan extends Omit<TurnAbout, "subject"> {
  readonly ticket_id: string | undefined;
  readonly from: string;
  /** Undefined while the turn is open. */
  readonly to: string | undefined;
  /** The code of the failure that ended it, or `cut_off` if it ended without an answer. */
  readonly failed: string | undefined;
}

/** What a worker reports that it did. */
export interface WorkDone {
  readonly summary: string;
  readonly outputs: readonly string[];
  readonly issues: readonly string[];
}

export interface CheckRun {
  readonly sequence: number;
  readonly at: string;
  readonly ticket_id: string | undefined;
  readonly criterion: string;
  readonly passed: boolean;
  readonly exit_code: number | undefined;
  readonly duration_ms: number | undefined;
  readonly output: string;
}

export interface Noted extends Pick<CheckRun, "sequence" | "at" | "ticket_id"> {
  readonly role_id: string;
  readonly text: string;
}

/** The notes in a record; empty if it is no report that counts. */
export function notedIn(sequence: number, { payload_type, payload, source, record }: UnsealedRecord): Noted[] {
  if (payload_type !== "report" || record.disposition !== "applied") return [];
  const { received_at: at, ticket_id } = record;
  return allWords(payload.notes).map((text) => ({ sequence, at, ticket_id, role_id: source, text }));
}

/** Builds a report from the records of a session, added in order. Any record may be missing. */
export class ReportGatherer {
  readonly #session = emptyModel();
  readonly #ended: TurnSpan[] = [];
  readonly #asked = new AskedAndAnswered();
  readonly #envelopes: Envelope[] = [];
  readonly #formatter = new RecordFormatter();
  readonly #payload_length: number;
  readonly #work = new Map<string, WorkDone>();
  readonly #checks: CheckRun[] = [];
  readonly #notes: Noted[] = [];
  readonly #unreadable: number[] = [];
  #recoveries = 0;
  #from = "";
  #result: JsonObject | undefined;
  #about: { readonly roles: readonly Role[]; readonly usage: JsonObject | undefined } = { roles: [], usage: undefined };

  /** `records` is the approximate number of records. If there are many, their payloads are cut sooner. */
  constructor(records: number) {
    this.#payload_length = payloadLength(records);
  }

  get mode(): string {
    return this.#session.mode;
  }

  /** Adds the next record; null if it cannot be read. */
  add(sequence: number, record: UnsealedRecord | null): void {
    if (record === null) {
      this.#unreadable.push(sequence);
      return;
    }
    if (this.#from === "") this.#from = record.record.received_at;
    this.#envelopes.push(envelopeOf(sequence, record, this.#formatter, this.#payload_length));
    this.#endTurns(record);
    applyRecord(this.#session, sequence, record);
    if (record.record.disposition !== "applied") return;
    this.#asked.add(this.#session, sequence, record);
    this.#notes.push(...notedIn(sequence, record));
    this.#addContent(sequence, record);
  }

  finish(presentation: Presentation | undefined, proof: Proof): SessionReport {
    return {
      session: this.#session,
      presentation,
      from: this.#from,
      to: this.#session.at,
      recoveries: this.#recoveries,
      turns: [...this.#ended, ...Array.from(this.#session.turns.values(), (turn) => spanOf(turn))],
      work: this.#work,
      checks: this.#checks,
      asked: this.#asked.all,
      notes: this.#notes,
      result: presentation && this.#result ? resultParts(presentation, this.#result, this.#about) : [],
      envelopes: this.#envelopes,
      unreadable: this.#unreadable,
      proof,
    };
  }

  #endTurns(record: UnsealedRecord): void {
    const { turn_id, received_at } = record.record;
    for (const id of tellingOf(record).ended.turns) {
      const turn = this.#session.turns.get(id);
      if (turn) this.#ended.push(spanOf(turn, received_at, id === turn_id ? failureOf(record) : "cut_off"));
    }
  }

  #addContent(sequence: number, { payload_type, payload, record }: UnsealedRecord): void {
    const { ticket_id, received_at: at } = record;
    switch (payload_type) {
      case "session_recovered":
        // A resume after a graceful stop is not a recovery.
        if (payload.graceful !== true) this.#recoveries += 1;
        return;
      case "session_opened":
        this.#about = { ...this.#about, roles: listOf(payload.roles) as unknown as readonly Role[] };
        return;
      case "final_report":
        this.#about = { ...this.#about, usage: objectOf(payload.usage) };
        this.#result = payload.result === undefined ? undefined : objectOf(payload.result);
        return;
      case "report":
        if (ticket_id !== undefined && payload.status === "completed") this.#work.set(ticket_id, workOf(payload));
        return;
      case "check_result":
        for (const { criterion, passed, exit_code, duration_ms, output } of resultsOf(payload)) {
          this.#checks.push({
            sequence,
            at,
            ticket_id,
            criterion: wordsOf(criterion),
            passed: passed === true,
            exit_code: typeof exit_code === "number" ? exit_code : undefined,
            duration_ms: typeof duration_ms === "number" ? duration_ms : undefined,
            output: textOf(output),
          });
        }
    }
  }
}

function spanOf({ subject, since, ...run }: ToldTurn, to?: string, failed?: string): TurnSpan {
  return { ...run, ticket_id: subject, from: since, to, failed };
}

function failureOf({ payload_type, payload }: UnsealedRecord): string | undefined {
  return payload_type === "turn_failed" ? textOf(payload.code) || "failed" : undefined;
}

function workOf({ summary, outputs, issues }: JsonObject): WorkDone {
  return { summary: wordsOf(summary), outputs: listOf(outputs).map(outputWords), issues: allWords(issues) };
}
