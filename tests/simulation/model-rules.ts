import { isDeepStrictEqual } from "node:util";
import type { LedgerAsk, LedgerFigures, LedgerTurn } from "../../src/kernel/ledger.ts";
import type { Change } from "../../src/kernel/mode.ts";
import type { QuestionSet, Ticket } from "../../src/modes/schedule/state.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import { applyRecord } from "../../src/ui/model/apply.ts";
import { emptyModel, type SessionModel } from "../../src/ui/model/model.ts";
import type { World } from "./world.ts";

interface Shown {
  readonly model: SessionModel;
  readonly rows: Map<string, Map<string, unknown>>;
  plans: number;
  /** Tickets of a first plan that another one replaced, which no record reports. */
  readonly dropped: Set<string>;
  /** Whether a person has given a plan: records do not report which pending tickets it leaves unchanged. */
  isPlanned: boolean;
}

/** Compares the model that screens build from the records alone with the state that the engine stored. */
export class ModelRules {
  readonly #world: World;
  readonly #sessions = new Map<string, Shown>();

  constructor(world: World) {
    this.#world = world;
  }

  check({ session_id }: Lease, { records, changes }: Commit): void {
    const shown = this.#sessions.get(session_id) ?? {
      model: emptyModel(),
      rows: new Map(),
      plans: 0,
      dropped: new Set(),
      isPlanned: false,
    };
    this.#sessions.set(session_id, shown);
    for (const { line, sequence } of records) {
      const record = JSON.parse(line) as LogRecord;
      if (record.payload_type === "plan") shown.plans += 1;
      shown.isPlanned ||= record.payload_type === "plan" && record.source === "user";
      applyRecord(shown.model, sequence, record);
    }
    for (const change of changes) {
      write(shown.rows, change);
      if ("drop" in change && change.drop === "ticket") shown.dropped.add(change.id);
    }
    if (records.length > 0) this.#compare(session_id, shown);
  }

  #compare(session_id: string, { model, rows, plans, dropped, isPlanned }: Shown): void {
    const same = (what: string, seen: unknown, stored: unknown) => {
      if (isDeepStrictEqual(seen, stored)) return;
      const where = `${session_id} at ${model.sequence}`;
      this.#world.violated(
        `screens agree on ${what}`,
        `${where}: ${JSON.stringify(seen)} for ${JSON.stringify(stored)}`,
      );
    };
    const turns = [...(rows.get("turn")?.values() ?? [])] as LedgerTurn[];
    // Screens show a run as ended that a stop cut off and that reported its usage, with its permissions. The ledger keeps both until the resume.
    const cutOff = new Set(turns.flatMap(({ turn_id, told }) => (told ? [turn_id] : [])));
    const asks = [...(rows.get("ask")?.values() ?? [])] as LedgerAsk[];
    // A person's plan may restart a pending ticket whose commands wait for a person, which no record reports.
    const isLost = (kind: string, turn_id: string | undefined) =>
      isPlanned && kind === "permission" && turn_id === undefined;
    const stored = asks.filter(({ kind, permission }) => {
      const turn_id = permission?.turn_id;
      return !cutOff.has(turn_id ?? "") && !isLost(kind, turn_id);
    });
    const seen = [...model.asks.values()].flatMap(({ ask_id, kind, ticket_id, turn_id }) =>
      isLost(kind, turn_id) ? [] : [{ ask_id, subject: ticket_id }],
    );
    const told = (asks: readonly { readonly ask_id: string; readonly subject?: string | undefined }[]) =>
      asks.flatMap(({ ask_id, subject }) => (isTold(ask_id, subject, plans) ? [ask_id] : [])).toSorted();
    const open = told(stored).filter((id) => !isPlanned || model.asks.has(id));
    same("what waits for a person", told(seen), open);
    for (const { id, questions, answers, closed } of (rows.get("question")?.values() ?? []) as Iterable<QuestionSet>) {
      const ask = model.asks.get(id);
      const waiting = questions.filter((_, index) => answers[index] === null);
      if (!closed && ask) same(`the open questions of ${id}`, ask.open, waiting);
    }
    const subjects = [...(rows.get("ticket") ?? rows.get("debater") ?? new Map<string, unknown>()).keys()];
    // The new tickets of a revision have no status before its approval.
    const known = [...model.tickets.values()].flatMap(({ id, status }) => (status === "" ? [] : [id]));
    const left = known.filter((id) => !dropped.has(id) || subjects.includes(id));
    same("which tickets there are", left.toSorted(), subjects.toSorted());
    const tickets = [...(rows.get("ticket")?.values() ?? [])] as Ticket[];
    for (const { id, status, owner } of tickets) {
      const seen = model.tickets.get(id);
      // A plan may remove a ticket's owner, which no record reports; the ticket's next turn names the new one.
      same(`ticket ${id}`, [seen?.status, seen?.owner ?? owner], [status, owner ?? seen?.owner]);
    }
    // A manager's turn about a long wait ends with the wait, which no record reports.
    const given = turns.flatMap(({ turn_id, status, subject }) =>
      status === "open" && subject && !cutOff.has(turn_id) ? [turn_id] : [],
    );
    if (model.stopped === undefined) {
      const held = [...model.turns.values()].flatMap(({ turn_id, ticket_id }) => (ticket_id ? [turn_id] : []));
      same("the open turns", held.toSorted(), given.filter((id) => !isPlanned || model.turns.has(id)).toSorted());
    }
    const figures = rows.get("figures")?.get("figures") as LedgerFigures | undefined;
    const { turns: runs, input_tokens, output_tokens } = model.spend;
    same("usage", [runs, input_tokens, output_tokens], [figures?.turns, figures?.input_tokens, figures?.output_tokens]);
  }
}

/**
 * Whether records report when an ask ends. A revised plan may keep checks of the previous one, after which a person's review begins; and an ask
 * about no ticket ends with the manager's turn that asked.
 */
function isTold(ask_id: string, subject: string | undefined, plans: number): boolean {
  if (ask_id.startsWith("review:")) return plans < 2;
  return subject !== undefined || ask_id.startsWith("a") || (ask_id.startsWith("c") && plans < 2);
}

function write(rows: Shown["rows"], change: Change): void {
  const collection = "put" in change ? change.put : change.drop;
  const values = rows.get(collection) ?? new Map<string, unknown>();
  rows.set(collection, values);
  if ("put" in change) values.set(change.id, change.value);
  else values.delete(change.id);
}
