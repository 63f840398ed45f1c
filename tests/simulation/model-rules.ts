import { isDeepStrictEqual } from "node:util";
import type { Engine } from "../../src/kernel/engine.ts";
import { applyToLedger, emptyLedger, LEDGER_COLLECTIONS, RUNTIME_COLLECTIONS } from "../../src/kernel/ledger.ts";
import type { Change, Mode } from "../../src/kernel/mode.ts";
import { resolve } from "../../src/kernel/references.ts";
import { newSubject, type SessionState, standingState, type SubjectState } from "../../src/kernel/state.ts";
import { textWithin } from "../../src/lib/json.ts";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel, type SessionModel } from "../../src/ui/model/model.ts";
import { MODES } from "./modes.ts";
import type { World } from "./world.ts";

/** What was committed of a session. */
interface Committed {
  readonly model: SessionModel;
  readonly engine: Engine<unknown>;
  readonly records: LogRecord[];
}

/** Compares the model that screens build from the records alone with the state that the engine stored. */
export class ModelRules {
  readonly #world: World;
  readonly #sessions = new Map<string, Committed>();

  constructor(world: World) {
    this.#world = world;
  }

  check({ session_id }: Lease, { records, changes }: Commit): void {
    const first = JSON.parse(records[0]?.line ?? "null") as LogRecord | null;
    const known = this.#sessions.get(session_id) ?? (first === null ? undefined : committed(first));
    if (known === undefined) return;
    this.#sessions.set(session_id, known);
    for (const { line, sequence } of records) {
      const record = JSON.parse(line) as LogRecord;
      known.records.push(record);
      applyRecord(known.model, sequence, record);
    }
    for (const change of changes) write(known.engine, change);
    if (records.length > 0) this.#compare(session_id, known);
  }

  #compare(session_id: string, { model, engine, records }: Committed): void {
    const same = (what: string, seen: unknown, stored: unknown) => {
      if (isDeepStrictEqual(seen, stored)) return;
      const where = `${session_id} at ${model.sequence}`;
      this.#world.violated(
        `screens agree on ${what}`,
        `${where}: ${JSON.stringify(seen)} for ${JSON.stringify(stored)}`,
      );
    };
    const lookup = {
      record: (sequence: number) => records[sequence - 1] as LogRecord,
      bytes: () => 0,
      file: () => "",
    };
    const state = standingState(engine, (title) => textWithin(resolve(title, lookup)));
    for (const part of PARTS) same(`the ${part}`, plain(model[part]), plain(state[part]));
    const waiting = [...model.waiting].flatMap(([ask_id, { length }]) => (length > 0 ? [ask_id] : [])).sort();
    same("what waits for a person", waiting, [...state.asks.keys()].sort());
    const { questions } = engine.state as Partial<ScheduleState>;
    for (const { id, questions: asked, answers, closed } of questions?.values() ?? []) {
      const unanswered = closed ? undefined : asked.filter((_, index) => answers[index] === null);
      same(`the open questions of ${id}`, state.asks.get(id)?.open, unanswered);
    }
    const { figures } = engine.ledger;
    const { turns, input_tokens, output_tokens } = model.spend;
    same("usage", [turns, input_tokens, output_tokens], [figures.turns, figures.input_tokens, figures.output_tokens]);
  }
}

const PARTS = ["state", "subjects", "counts", "turns", "asks", "holds", "checks"] as const;

/** The fields of a subject that rows have too. */
const FIELDS = Object.keys(newSubject("", 0)) as (keyof SubjectState)[];

/** Without the order of maps, and without what screens add to subjects. */
function plain(part: SessionState[(typeof PARTS)[number]]): unknown {
  if (typeof part === "string") return part;
  const entries = [...(part as ReadonlyMap<string, unknown>)].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([id, one]) => [id, isSubject(one) ? FIELDS.map((field) => one[field]) : one]);
}

function isSubject(one: unknown): one is SubjectState {
  return typeof one === "object" && one !== null && "depends_on" in one;
}

function committed({ payload }: LogRecord): Committed {
  const mode = MODES.get(payload["mode"] as string) as Mode<unknown>;
  return { model: emptyModel(), engine: { mode, state: mode.empty(), ledger: emptyLedger() }, records: [] };
}

/** The tests of modes prove that loading the rows gives the same state. */
function write({ mode, state, ledger }: Engine<unknown>, change: Change): void {
  const collection = "put" in change ? change.put : change.drop;
  if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, change);
  else if (!RUNTIME_COLLECTIONS.has(collection)) mode.apply(state, change);
}
