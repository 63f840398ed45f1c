import { HOLDING_CODES, remedyFor } from "../kernel/holds.ts";
import type { LedgerTerms } from "../kernel/ledger.ts";
import { roleTermsOf, windowOf } from "../kernel/role-limits.ts";
import type { JsonObject } from "../lib/json.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import type { Role } from "../protocol/roles.ts";
import { parseInstant, milliseconds } from "../protocol/timestamp.ts";
import type { RecordLine } from "./format-options.ts";
import { localMoment } from "./time.ts";
import { counted, wordsOf } from "./words.ts";

/** A role that keeps to its rate for less than this is not held as far as people are concerned, in ms. */
const NOTICEABLE_MS = 5_000;

/**
 * Tells when a role begins to be held and when it works again. Holds are no records: they follow from what failed, what was given
 * and what people said.
 */
export class HoldLines {
  #accounts: ReadonlyMap<string, string> = new Map();
  #rates: NonNullable<LedgerTerms["rates"]> = [];
  /** When each hold that was told ends, in ms since 1970: by account, for roles that have one, else by role. */
  readonly #held = new Map<string, number>();
  /** When turns were lately given, in ms since 1970, by the first role of those that share a rate; undefined once it was told. */
  readonly #given = new Map<string, number[] | undefined>();

  /** The lines of a record, whose turn `role_id` took. */
  tell(record: UnsealedRecord, role_id: string | undefined): RecordLine[] {
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
    const told = parseInstant(wordsOf((payload.details as JsonObject | undefined)?.retry_at));
    const until = told.ok ? milliseconds(told.value) : Number.POSITIVE_INFINITY;
    const at = Date.parse(record.received_at);
    // A hold that stands can only become longer.
    if (until <= Math.max(at, this.#held.get(this.#key(role_id)) ?? 0)) return [];
    this.#held.set(this.#key(role_id), until);
    const code = wordsOf(payload.code);
    const command = `bosun resume ${session_id} --release ${role_id}`;
    const text = told.ok
      ? `until ${localMoment(new Date(until), new Date(at))} (${code}); at once:`
      : `(${code}): ${remedyFor(code)}, then:`;
    return [{ ticket: record.ticket_id, text: `HELD ${this.#name(role_id)} ${text}`, command, style: "yellow" }];
  }

  #ended({ record }: UnsealedRecord, role_id: string): RecordLine[] {
    if (!this.#held.delete(this.#key(role_id))) return [];
    return [{ ticket: record.ticket_id, text: `NOT HELD any more: ${this.#name(role_id)}` }];
  }

  /** A rate holds a role again and again, so it is told once. */
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
    const pace = `it keeps to its ${counted(turns_per_minute, "turn")} a minute, from now on without a word`;
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
