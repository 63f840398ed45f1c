import { withChanges } from "../kernel/changes.ts";
import { withNote } from "../kernel/fitting.ts";
import { advance, type Engine } from "../kernel/engine.ts";
import type { Command, Fact, FactOf, Mode } from "../kernel/mode.ts";
import { hasCutCommands, isCut } from "../kernel/references.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { defined } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { LogRecord, UnsealedRecord } from "../protocol/record.ts";
import { recordedEffect } from "../protocol/recording.ts";
import { closingRecords } from "./closing.ts";
import { decidedRecord, factFrom, recordedDeltas } from "./recordings.ts";
import { SessionRecords } from "./records.ts";
import { emptyEngine } from "./stored-state.ts";
import { fittingRequest, INTERRUPTED } from "./admission/turn-request.ts";

/** Maximum number of wrong decisions reported; the first is the one that matters. */
const DECISIONS_TOLD = 20;

/** The wrong decisions in a log, and the number of decided records missing after its last one. */
export interface ReplayedDecisions {
  readonly problems: readonly { readonly sequence: number | null; readonly what: string }[];
  readonly awaited: number;
}

/**
 * Replays every decision, from records of a folder, a store or memory. Reports at most 20 wrong ones. Returns undefined if the rules cannot be
 * compared. The caller must know that the records are complete and in order.
 */
export function replayDecisions(
  sequences: readonly number[],
  lineOf: (sequence: number) => string,
  modes: ReadonlyMap<string, Mode<unknown>>,
): ReplayedDecisions | undefined {
  const [first] = sequences;
  if (first === undefined) return undefined;
  const opened = JSON.parse(lineOf(first)) as LogRecord;
  const { mode: name, rules } = opened.payload;
  const mode = typeof name === "string" ? modes.get(name) : undefined;
  if (opened.payload_type !== "session_opened" || !mode || mode.rules !== rules) return undefined;
  const replay = new Replay(mode, opened, lineOf);
  const problems: { sequence: number; what: string }[] = [];
  for (const sequence of sequences) {
    const wrong = replay.take(sequence, lineOf(sequence));
    if (wrong !== undefined) problems.push({ sequence, what: wrong });
    if (problems.length >= DECISIONS_TOLD) break;
  }
  return { problems, awaited: replay.awaited };
}

/** Replays a session from its records, and compares each decision with the recorded one. */
class Replay {
  readonly engine: Engine<unknown>;
  readonly #opened: LogRecord;
  readonly #records: SessionRecords;
  #awaited: UnsealedRecord[] = [];
  #closing: { command: Extract<Command, { do: "finish" }>; fact: Fact } | undefined;
  #head = { sequence: 0, hash: "" };
  /** Whether the records tell what they open, end and change. Those of earlier versions do not. */
  #tells = false;

  constructor(mode: Mode<unknown>, opened: LogRecord, lineOf: (sequence: number) => string) {
    this.engine = emptyEngine(mode);
    this.#opened = opened;
    const read = (sequence: number) => {
      const line = lineOf(sequence);
      return { record: JSON.parse(line) as LogRecord, bytes: Buffer.byteLength(line) };
    };
    this.#records = new SessionRecords(read, "");
  }

  /** Number of decided records still due. */
  get awaited(): number {
    return this.#awaited.length + (this.#closing ? 2 : 0);
  }

  /** Processes the next record. Returns what is wrong with it, if anything. */
  take(sequence: number, line: string): string | undefined {
    try {
      const record = JSON.parse(line) as LogRecord;
      this.#records.add(sequence, record, line);
      this.#records.stored(sequence);
      const wrong = record.record.kind === "decided" ? this.#compareDecided(record) : this.#decide(sequence, record);
      this.#head = { sequence, hash: record.integrity.hash };
      return wrong;
    } catch (error) {
      // The rules expect valid records, and this one is forged.
      return `the rules cannot process this record: ${(error as Error).message}`;
    }
  }

  #compareDecided(record: LogRecord): string | undefined {
    if (this.#awaited.length === 0 && this.#closing) this.#close(this.#closing);
    const expected = this.#awaited.shift();
    if (!expected) return `no fact leads to this decided "${record.payload_type}"`;
    const { integrity: _, ...unsealed } = record;
    return same(expected, unsealed)
      ? undefined
      : `the rules decide ${excerpt(expected)} here, the log has ${excerpt(unsealed)}`;
  }

  #decide(sequence: number, record: LogRecord): string | undefined {
    const { disposition, effects } = record.record;
    const fact = factIn(sequence, record);
    if (!fact) return moves(record) ? "a message that moves nothing is recorded as moving something" : undefined;
    if (this.awaited > 0) {
      const missing = this.#awaited[0]?.payload_type ?? "final_report";
      this.#awaited = [];
      this.#closing = undefined;
      return `a decided "${missing}" is missing before this record`;
    }
    const asked = fact.payload_type === "turn_request" ? this.#compareRequest(fact, record) : undefined;
    const done = advance(this.engine, fact);
    for (const envelope of done.envelopes) {
      this.#awaited.push(decidedRecord(record.session_id, envelope, fact.received_at, this.#records));
    }
    const finish = done.step.commands.find((command) => command.do === "finish");
    if (finish) this.#closing = { command: finish, fact };
    if (asked !== undefined) return asked;
    if (done.disposition !== disposition) return `the rules decide "${done.disposition}", the log has "${disposition}"`;
    const decided = done.step.effects.map(recordedEffect);
    if (!same(decided, effects ?? []))
      return `the rules decide ${excerpt(decided)}, the log has ${excerpt(effects ?? [])}`;
    const { state, opened, ended, changed } = record.record;
    const told = { state, opened, ended, changed };
    this.#tells ||= Object.values(told).some((value) => value !== undefined);
    if (!this.#tells) return undefined;
    const deltas = recordedDeltas(done.deltas, this.#records);
    if (!same(deltas, told)) return `the rules open, end and change ${excerpt(deltas)}, the log has ${excerpt(told)}`;
    return undefined;
  }

  /** The mode's part of a turn request is a function of the state. */
  #compareRequest(fact: FactOf<"turn_request">, record: LogRecord): string | undefined {
    const turn = fact.turn && this.engine.ledger.turns.get(fact.turn.turn_id);
    if (!fact.turn || !turn) return "this turn was never offered";
    // The number of remaining turns also depends on limits of the session and the role, and the conversation on the role's policy.
    const { mode, state, ledger } = this.engine;
    const asking = withChanges(mode.request(state, fact.turn), ledger, fact.subject);
    const { remaining_turns: _, alone: __, ...draft } = asking;
    const { discuss: ___, choices: ____, ...given } = record.payload;
    const context = turn.interrupted ? withNote(draft.context, INTERRUPTED) : draft.context;
    const asked = { ...given, ...draft, context };
    // Older versions cut less: cut only what is cut in the recorded request.
    const expected = isCut(given["context"])
      ? fittingRequest(asked, this.#records, !hasCutCommands(given["message"]))
      : asked;
    return same(expected, record.payload) ? undefined : "the rules request something else in this turn";
  }

  /** The report names the record before it, so it is made once that record is known. */
  #close({ command, fact }: { command: Extract<Command, { do: "finish" }>; fact: Fact }): void {
    this.#closing = undefined;
    this.#awaited.push(
      ...closingRecords({
        session_id: this.#opened.session_id,
        mode: this.engine.mode.name,
        opened_at: this.#opened.timestamp,
        at: fact.received_at,
        command,
        ledger: this.engine.ledger,
        head: this.#head,
        records: this.#records,
      }),
    );
  }
}

/** The fact in a record; undefined for a decided record, and for a message that moves nothing. */
export function factIn(sequence: number, record: UnsealedRecord): Fact | undefined {
  const { kind, disposition, received_at, turn_id, ticket_id, attempt, run, ...told } = record.record;
  const { usage, quota, changed_files } = told;
  // A late end of a turn changes nothing, but the usage and the files that it reports count.
  const reports = disposition === "late" && (usage ?? quota ?? changed_files) !== undefined;
  if (kind === "decided" || (isNote(record) && !reports)) return undefined;
  const { source, payload } = record;
  const payload_type = record.payload_type as PayloadType;
  const about = defined({ subject: ticket_id });
  const turn = turn_id === undefined ? undefined : { turn_id, attempt: attempt ?? 0, run: run ?? 1, ...about };
  const known = { source, payload_type, payload, ...about, turn, ...told };
  return factFrom(known, sequence, received_at);
}

/** Whether a record is a refused, repeated or late message, which moves nothing. */
function isNote({ record, source, payload_type }: UnsealedRecord): boolean {
  const { disposition } = record;
  return disposition === "late" || disposition === "duplicate" || (source === "scheduler" && payload_type === "error");
}

function moves({ record }: LogRecord): boolean {
  return record.disposition === "applied" || (record.effects ?? []).length > 0;
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
