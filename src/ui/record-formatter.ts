import { endOutage, hold, isHeldAt, isHold, lift, remedyFor, takesTurn } from "../kernel/holds.ts";
import { applyToLedger, emptyLedger, type LedgerHold, type LedgerTerms, type LedgerTurn } from "../kernel/ledger.ts";
import type { Change, Fact } from "../kernel/mode.ts";
import { UNAVAILABLE } from "../kernel/outages.ts";
import { endsTurn } from "../kernel/figures.ts";
import { roleTermsOf, windowOf } from "../kernel/role-limits.ts";
import { AGENT_PAYLOAD_TYPES, type PayloadType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { type FormatOptions, type RecordLine, recordLines } from "./record-lines.ts";
import { outageWords } from "./hold-words.ts";
import { localMoment } from "./timeline.ts";
import { counted } from "./words.ts";

/**
 * A formatter needs these records, and the opening, even if they are not shown, because later lines depend on them. Plans are left out: one may have
 * many megabytes, and a request follows it.
 */
export const CONTEXT_TYPES: ReadonlySet<string> = new Set<PayloadType>([
  "turn_request",
  "turn_failed",
  "user_command",
  ...AGENT_PAYLOAD_TYPES.filter((type) => type !== "plan"),
]);

/** Maximum number of turns whose role is remembered. */
const REMEMBERED = 10_000;

/** Formats a session's records. Call with them in order. It remembers the role of each turn, and which roles are held. */
export class RecordFormatter {
  /** The role of a turn, and when the turn was given, in ms since 1970. */
  readonly #turns = new Map<string, { readonly role_id: string; readonly since: number }>();
  readonly #holds = new Holds();

  /** The roles that wait for the end of an outage. */
  get outages(): LedgerHold[] {
    return this.#holds.outages;
  }

  /** When a turn was given, in ms since 1970, if it is one of the latest. */
  since(turn_id: string): number | undefined {
    return this.#turns.get(turn_id)?.since;
  }

  /** The lines of a record. */
  format(record: UnsealedRecord, options: FormatOptions): RecordLine[] {
    const { turn_id } = record.record;
    if (record.payload_type === "turn_request" && turn_id !== undefined) this.#remember(turn_id, record);
    const role_id = turn_id === undefined ? undefined : this.#turns.get(turn_id)?.role_id;
    const lines = recordLines(record, { ...options, role_id });
    return record.record.disposition === "applied" ? [...lines, ...this.#holds.format(record, role_id)] : lines;
  }

  #remember(turn_id: string, { target, record }: UnsealedRecord): void {
    // A turn that is given again becomes the latest.
    this.#turns.delete(turn_id);
    this.#turns.set(turn_id, { role_id: target, since: Date.parse(record.received_at) });
    if (this.#turns.size <= REMEMBERED) return;
    const [oldest] = this.#turns.keys();
    if (oldest !== undefined) this.#turns.delete(oldest);
  }
}

/** Minimum wait for a role's rate that is shown, in ms. */
const NOTICEABLE_MS = 5_000;

/** Shows when a role becomes held and when it works again. Holds have no records of their own: they follow from others, by the kernel's rules. */
class Holds {
  readonly #ledger = emptyLedger();
  #rates: NonNullable<LedgerTerms["rates"]> = [];
  /** When the latest turns were given, in ms since 1970, by the first role that shares a rate; undefined once its wait was shown. */
  readonly #given = new Map<string, number[] | undefined>();

  get outages(): LedgerHold[] {
    return [...this.#ledger.holds.values()].filter(({ reason }) => reason === UNAVAILABLE);
  }

  /** The lines of a record in a turn of `role_id`. */
  format(record: UnsealedRecord, role_id: string | undefined): RecordLine[] {
    if (record.payload_type === "session_opened") this.#learn((record.payload.roles ?? []) as unknown as Role[]);
    const { turn_id = "", run = 1, ticket_id: ticket, received_at: at } = record.record;
    const turn = { turn_id, run, attempt: 1 };
    const fact = { ...record, received_at: at, turn } as unknown as Fact;
    if (role_id !== undefined) this.#ledger.turns.set(turn_id, { ...turn, role_id } as LedgerTurn);
    const before = this.#ledger.holds.get(role_id ?? "");
    for (const change of this.#changes(fact, role_id)) applyToLedger(this.#ledger, change);
    this.#ledger.turns.clear();
    if (role_id === undefined) return [];
    const paced = record.payload_type === "turn_request" ? this.#paced(record, role_id) : [];
    const after = this.#ledger.holds.get(role_id);
    if (before && !after) return [{ ticket, text: `NO LONGER HELD: ${this.#name(role_id)}` }, ...paced];
    if (!after || !isHold(fact) || (after.until === before?.until && before)) return paced;
    return [{ ticket, ...this.#begun(record.session_id, after, Date.parse(at)), style: "yellow" }];
  }

  /** What a record changes about holds. */
  #changes(fact: Fact, role_id: string | undefined): Change[] {
    const ledger = this.#ledger;
    const { payload_type, received_at: at, turn: { turn_id = "" } = {} } = fact;
    const changes: Change[] = [];
    if (payload_type === "user_command" && fact.payload.command === "release")
      lift(ledger, fact.payload.role_id ?? "", changes);
    else if (role_id === undefined) return [];
    else if (payload_type === "turn_request") takesTurn(ledger, role_id, at, changes);
    else if (isHold(fact)) hold(ledger, fact, changes);
    else if (endsTurn(fact)) endOutage(ledger, turn_id, changes);
    // A hold that is over already is not shown.
    return changes.filter(
      (change) => !("put" in change && change.put === "hold" && !isHeldAt(change.value as unknown as LedgerHold, at)),
    );
  }

  #learn(roles: readonly Role[]): void {
    const accounts = roles.flatMap(({ role_id, account }) =>
      account === undefined ? [] : [[role_id, account] as const],
    );
    this.#ledger.terms = { accounts };
    this.#rates = roleTermsOf(roles).rates ?? [];
  }

  #begun(session_id: string, held: LedgerHold, now: number): Pick<RecordLine, "text" | "command"> {
    const { role_id, reason, until } = held;
    const command = `bosun resume ${session_id} --release ${role_id}`;
    const outage = outageWords(held);
    if (outage !== undefined) return { text: `HELD: ${outage}; to try now:`, command };
    const text =
      until === undefined
        ? `(${reason}): ${remedyFor(held)}, then:`
        : `until ${localMoment(new Date(milliseconds(until)), new Date(now))} (${reason}); to release it now:`;
    return { text: `HELD ${this.#name(role_id)} ${text}`, command };
  }

  /** A rate holds a role again and again, so this is shown only once. */
  #paced({ record }: UnsealedRecord, role_id: string): RecordLine[] {
    const rate = this.#rates.find(([roles]) => roles.includes(role_id));
    if (rate === undefined) return [];
    const [[first], turns_per_minute] = rate;
    const before = this.#given.has(first) ? this.#given.get(first) : [];
    if (before === undefined) return [];
    const { most, window_ms } = windowOf(turns_per_minute);
    const at = Date.parse(record.received_at);
    const given = [...before, at].slice(-most);
    this.#given.set(first, given);
    const until = (given[0] ?? at) + window_ms;
    if (given.length < most || until - at < NOTICEABLE_MS) return [];
    this.#given.set(first, undefined);
    const end = localMoment(new Date(until), new Date(at));
    const pace = `limited to ${counted(turns_per_minute, "turn")} a minute (not shown again)`;
    return [{ ticket: record.ticket_id, text: `HELD ${this.#name(role_id)} until ${end}: ${pace}`, style: "dim" }];
  }

  #name(role_id: string): string {
    const account = this.#ledger.terms.accounts.find(([one]) => one === role_id)?.[1];
    return account === undefined ? role_id : `${role_id} and all of account ${account}`;
  }
}
