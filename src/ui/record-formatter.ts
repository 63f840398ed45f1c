import { HOLDING_CODES, remedyFor } from "../kernel/holds.ts";
import type { LedgerTerms } from "../kernel/ledger.ts";
import { roleTermsOf, windowOf } from "../kernel/role-limits.ts";
import type { JsonObject } from "../lib/json.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { milliseconds, parseInstant } from "../protocol/timestamp.ts";
import { type FormatOptions, type RecordLine, recordLines } from "./record-lines.ts";
import { localMoment } from "./timeline.ts";
import { counted, wordsOf } from "./words.ts";

/** A formatter needs these records, and the opening, even if they are not shown, because later lines depend on them. */
export const SAY_OF_LATER: ReadonlySet<string> = new Set<PayloadType>([
  "turn_request",
  "turn_failed",
  "error",
  "user_command",
]);

/** Maximum number of turns whose role is remembered. */
const REMEMBERED = 10_000;

/** Formats a session's records. Call with them in order. It remembers the role of each turn, and which roles are held. */
export class RecordFormatter {
  /** The role of a turn, and when the turn was given, in ms since 1970. */
  readonly #turns = new Map<string, { readonly role_id: string; readonly since: number }>();
  readonly #holds = new Holds();

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

/** Shows when a role becomes held and when it works again. Holds have no records of their own: they follow from others. */
class Holds {
  #accounts: ReadonlyMap<string, string> = new Map();
  #rates: NonNullable<LedgerTerms["rates"]> = [];
  /** When each shown hold ends, in ms since 1970: by account, or by role if it has no account. */
  readonly #held = new Map<string, number>();
  /** When the latest turns were given, in ms since 1970, by the first role that shares a rate; undefined once its wait was shown. */
  readonly #given = new Map<string, number[] | undefined>();

  /** The lines of a record in a turn of `role_id`. */
  format(record: UnsealedRecord, role_id: string | undefined): RecordLine[] {
    const { payload_type, payload } = record;
    switch (payload_type) {
      case "session_opened":
        this.#learn((payload.roles ?? []) as unknown as Role[]);
        return [];
      case "turn_request":
        return role_id === undefined ? [] : [...this.#ended(record, role_id), ...this.#paced(record, role_id)];
      case "turn_failed":
      case "error":
        return role_id !== undefined && HOLDING_CODES.has(wordsOf(payload.code)) ? this.#begun(record, role_id) : [];
      case "user_command":
        if (payload.command === "release") this.#held.delete(this.#key(wordsOf(payload.role_id)));
        return [];
      default:
        return [];
    }
  }

  #learn(roles: readonly Role[]): void {
    this.#accounts = new Map(
      roles.flatMap(({ role_id, account }) => (account === undefined ? [] : [[role_id, account] as const])),
    );
    this.#rates = roleTermsOf(roles).rates ?? [];
  }

  #begun({ session_id, payload, record }: UnsealedRecord, role_id: string): RecordLine[] {
    const retry_at = parseInstant(wordsOf((payload.details as JsonObject | undefined)?.retry_at));
    const until = retry_at.ok ? milliseconds(retry_at.value) : Number.POSITIVE_INFINITY;
    const at = Date.parse(record.received_at);
    // A hold can only become longer.
    if (until <= Math.max(at, this.#held.get(this.#key(role_id)) ?? 0)) return [];
    this.#held.set(this.#key(role_id), until);
    const code = wordsOf(payload.code);
    const command = `bosun resume ${session_id} --release ${role_id}`;
    const text = retry_at.ok
      ? `until ${localMoment(new Date(until), new Date(at))} (${code}); to release it now:`
      : `(${code}): ${remedyFor(code)}, then:`;
    return [{ ticket: record.ticket_id, text: `HELD ${this.#name(role_id)} ${text}`, command, style: "yellow" }];
  }

  #ended({ record }: UnsealedRecord, role_id: string): RecordLine[] {
    if (!this.#held.delete(this.#key(role_id))) return [];
    return [{ ticket: record.ticket_id, text: `NO LONGER HELD: ${this.#name(role_id)}` }];
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

  #key(role_id: string): string {
    const account = this.#accounts.get(role_id);
    return account === undefined ? role_id : `account:${account}`;
  }

  #name(role_id: string): string {
    const account = this.#accounts.get(role_id);
    return account === undefined ? role_id : `${role_id} and all of account ${account}`;
  }
}
