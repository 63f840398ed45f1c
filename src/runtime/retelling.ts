import { advance, type Engine } from "../kernel/engine.ts";
import type { Mode } from "../kernel/mode.ts";
import type { Recorded } from "../kernel/references.ts";
import type { RecordedDeltas, UnsealedRecord } from "../protocol/record.ts";
import { recordedDeltas } from "./recordings.ts";
import { factIn } from "./replay.ts";
import { emptyEngine } from "./stored-state.ts";

/** Adds to a record what it does not tell. Call with all records of a log, in order; a record may be read again later. */
export type Retell = <R extends UnsealedRecord>(sequence: number, record: R) => R;

/**
 * How to read the records of a log: those of earlier versions do not tell what they opened, ended and changed, so they are replayed. `mode` is the
 * mode of the log, if this version has it; logs that other rules made are shown as far as they tell.
 */
export function retelling(
  first: UnsealedRecord | undefined,
  mode: Mode<unknown> | undefined,
  read: (sequence: number) => Recorded,
): Retell {
  if (first === undefined || first.record.state !== undefined) return (_, record) => record;
  const isComparable = mode !== undefined && mode.rules === first.payload.rules;
  const source = isComparable ? new ReplayedDeltas(mode, read) : new GuessedDeltas();
  const known = new Map<number, RecordedDeltas>();
  return (sequence, record) => {
    const deltas = known.get(sequence) ?? source.next(sequence, record);
    known.set(sequence, deltas);
    return { ...record, record: { ...deltas, ...record.record } };
  };
}

/** What the facts of a log open, end and change by the rules that made it. */
class ReplayedDeltas {
  readonly #engine: Engine<unknown>;
  readonly #read: (sequence: number) => Recorded;

  constructor(mode: Mode<unknown>, read: (sequence: number) => Recorded) {
    this.#engine = emptyEngine(mode);
    this.#read = read;
  }

  next(sequence: number, record: UnsealedRecord): RecordedDeltas {
    const fact = factIn(sequence, record);
    if (!fact) return {};
    try {
      const lookup = { record: this.#read, bytes: () => 0, file: () => "" };
      return recordedDeltas(advance(this.#engine, fact).deltas, lookup);
    } catch {
      // The rules expect valid records, and this log is damaged or forged.
      return {};
    }
  }
}

/** What records of other rules tell by themselves: when turns end. */
class GuessedDeltas {
  readonly #open = new Set<string>();

  next(_sequence: number, { payload_type, payload, record }: UnsealedRecord): RecordedDeltas {
    const { turn_id } = record;
    if (ENDS_ALL.has(payload_type)) return this.#end([...this.#open]);
    if (turn_id === undefined || record.disposition === "late") return {};
    if (payload_type === "turn_request") this.#open.add(turn_id);
    else if (!GOES_ON.has(payload_type) && payload.status !== "progress") return this.#end([turn_id]);
    return {};
  }

  #end(turns: readonly string[]): RecordedDeltas {
    const ended = turns.filter((turn_id) => this.#open.delete(turn_id));
    return ended.length === 0 ? {} : { ended: { turns: ended } };
  }
}

const ENDS_ALL: ReadonlySet<string> = new Set(["session_stopped", "session_recovered", "session_closed"]);
const GOES_ON: ReadonlySet<string> = new Set(["approval_request", "artifact_ref"]);
