import { advance } from "../kernel/engine.ts";
import type { Mode } from "../kernel/mode.ts";
import type { Recorded } from "../kernel/references.ts";
import type { RecordedDeltas, UnsealedRecord } from "../protocol/record.ts";
import { recordedDeltas } from "./recordings.ts";
import { factIn } from "./replay.ts";
import { emptyEngine } from "./stored-state.ts";

/** Adds to a record what it does not tell. Call with all records of a log, in order; a record may be read again later. */
export type Retell = <R extends UnsealedRecord>(sequence: number, record: R) => R;

/** What the next record opens, ends and changes. */
type DeltasOf = (sequence: number, record: UnsealedRecord) => RecordedDeltas;

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
  const deltasOf = isComparable ? replayedDeltas(mode, read) : guessedDeltas();
  const known = new Map<number, RecordedDeltas>();
  return (sequence, record) => {
    const deltas = known.get(sequence) ?? deltasOf(sequence, record);
    known.set(sequence, deltas);
    return { ...record, record: { ...deltas, ...record.record } };
  };
}

/** What the facts of a log open, end and change by the rules that made it. */
function replayedDeltas(mode: Mode<unknown>, read: (sequence: number) => Recorded): DeltasOf {
  const engine = emptyEngine(mode);
  const lookup = { record: read, bytes: () => 0, file: () => "" };
  return (sequence, record) => {
    const fact = factIn(sequence, record);
    try {
      return fact ? recordedDeltas(advance(engine, fact).deltas, lookup) : {};
    } catch {
      // The rules expect valid records, and this log is damaged or forged.
      return {};
    }
  };
}

/** What records of other rules tell by themselves: when turns end. */
function guessedDeltas(): DeltasOf {
  const open = new Set<string>();
  const end = (turns: readonly string[]): RecordedDeltas => {
    const ended = turns.filter((turn_id) => open.delete(turn_id));
    return ended.length === 0 ? {} : { ended: { turns: ended } };
  };
  return (_, { payload_type, payload, record: { turn_id, disposition } }) => {
    if (ENDS_ALL.has(payload_type)) return end([...open]);
    if (turn_id === undefined || disposition === "late") return {};
    if (payload_type === "turn_request") open.add(turn_id);
    else if (!GOES_ON.has(payload_type) && payload.status !== "progress") return end([turn_id]);
    return {};
  };
}

const ENDS_ALL: ReadonlySet<string> = new Set(["session_stopped", "session_recovered", "session_closed"]);
const GOES_ON: ReadonlySet<string> = new Set(["approval_request", "artifact_ref"]);
