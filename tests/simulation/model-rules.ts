import { isDeepStrictEqual } from "node:util";
import type { LedgerFigures } from "../../src/kernel/ledger.ts";
import type { Change, Mode } from "../../src/kernel/mode.ts";
import { resolve } from "../../src/kernel/references.ts";
import { newSubject, type SessionState, standingState, type SubjectState } from "../../src/kernel/state.ts";
import { textWithin } from "../../src/lib/json.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { stateIn } from "../../src/runtime/stored-state.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel, type SessionModel } from "../../src/ui/model/model.ts";
import { MODES } from "./modes.ts";
import type { World } from "./world.ts";

type Row = Extract<Change, { readonly put: string }>;

interface Shown {
  readonly model: SessionModel;
  readonly rows: Map<string, Map<string, Row>>;
  readonly records: LogRecord[];
}

/** Compares the model that screens build from the records alone with the state that the engine stored. */
export class ModelRules {
  readonly #world: World;
  readonly #sessions = new Map<string, Shown>();

  constructor(world: World) {
    this.#world = world;
  }

  check({ session_id }: Lease, { records, changes }: Commit): void {
    const shown: Shown = this.#sessions.get(session_id) ?? { model: emptyModel(), rows: new Map(), records: [] };
    this.#sessions.set(session_id, shown);
    for (const { line, sequence } of records) {
      const record = JSON.parse(line) as LogRecord;
      shown.records.push(record);
      applyRecord(shown.model, sequence, record);
    }
    for (const change of changes) write(shown.rows, change);
    if (records.length > 0) this.#compare(session_id, shown);
  }

  #compare(session_id: string, { model, rows, records }: Shown): void {
    const same = (what: string, seen: unknown, stored: unknown) => {
      if (isDeepStrictEqual(seen, stored)) return;
      const where = `${session_id} at ${model.sequence}`;
      this.#world.violated(
        `screens agree on ${what}`,
        `${where}: ${JSON.stringify(seen)} for ${JSON.stringify(stored)}`,
      );
    };
    const mode = MODES.get(model.mode) as Mode<unknown>;
    const stored = [...rows.values()].flatMap((values) =>
      Array.from(values.values(), ({ put: collection, id, value }) => ({ collection, id, value })),
    );
    const engine = { mode, ...stateIn({ rows: () => stored.values() }, mode) };
    const lookup = {
      record: (sequence: number) => records[sequence - 1] as LogRecord,
      bytes: () => 0,
      file: () => "",
    };
    const state = standingState(engine, (title) => textWithin(resolve(title, lookup)));
    for (const part of PARTS) same(`the ${part}`, plain(model[part]), plain(state[part]));
    const waiting = [...model.waiting].flatMap(([ask_id, { length }]) => (length > 0 ? [ask_id] : [])).sort();
    same("what waits for a person", waiting, [...state.asks.keys()].sort());
    const figures = rows.get("figures")?.get("figures")?.value as unknown as LedgerFigures | undefined;
    const { turns, input_tokens, output_tokens } = model.spend;
    same(
      "usage",
      [turns, input_tokens, output_tokens],
      [figures?.turns, figures?.input_tokens, figures?.output_tokens],
    );
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

function write(rows: Shown["rows"], change: Change): void {
  const collection = "put" in change ? change.put : change.drop;
  const values = rows.get(collection) ?? new Map<string, Row>();
  rows.set(collection, values);
  if ("put" in change) values.set(change.id, change);
  else values.delete(change.id);
}
