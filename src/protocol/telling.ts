import { defined, type Json, type JsonObject, listOf, numberOf, objectOf, textOf, textWithin } from "../lib/json.ts";
import { at } from "../lib/json-pointer.ts";
import type { UnsealedRecord } from "./record.ts";
import type { Instant } from "./timestamp.ts";

/** What a record tells of its session: what it moved, opened, ended and changed. */
export interface Telling {
  readonly state: string | undefined;
  readonly moves: readonly { readonly subject: string; readonly to: string; readonly reason: string | undefined }[];
  readonly changed: readonly ToldSubject[];
  /** The turn that the record requests. */
  readonly turn: ToldTurn | undefined;
  readonly asks: readonly ToldAsk[];
  readonly holds: readonly ToldHold[];
  readonly checks: readonly ToldChecks[];
  readonly ended: Readonly<Record<"turns" | "asks" | "holds" | "checks" | "subjects", readonly string[]>>;
}

/** The fields of a subject that changed; `null` removes one. */
export interface ToldSubject {
  readonly subject: string;
  readonly title: string | undefined;
  readonly owner: string | null | undefined;
  readonly attempt: number | undefined;
  readonly max_attempts: number | null | undefined;
  readonly depends_on: readonly string[] | undefined;
  readonly order: number | undefined;
  readonly reason: string | null | undefined;
  readonly spent: string | null | undefined;
}

/** A run of a turn that an agent holds. */
export interface ToldTurn {
  readonly turn_id: string;
  readonly role_id: string;
  readonly subject: string | undefined;
  readonly run: number;
  /** When it was requested. */
  readonly since: Instant;
}

/** Something that waits for a person. */
export interface ToldAsk {
  readonly ask_id: string;
  readonly kind: string;
  /** The sequence of the record that holds its text. */
  readonly record: number;
  readonly subject: string | undefined;
  /** Of a permission: the turn that waits for it. */
  readonly turn_id: string | undefined;
  /** Of a set of questions: the ids of those without an answer. */
  readonly open: readonly string[];
}

/** A role that may take no turns, until a time or until a person releases it. */
export interface Hold {
  readonly role_id: string;
  /** The code of the failure that led to it, or of the limit that the role has reached. */
  readonly reason: string;
  /** When the hold ends by itself. If absent, only a person ends it. */
  readonly until?: Instant;
  /** When the hold began; a hold that is extended keeps this. */
  readonly since?: Instant;
  /** The account whose roles are held together. */
  readonly account?: string;
  /** The account's quota window that has no more left than the reserve. */
  readonly window?: string;
  /** The role's own limit, if the hold comes from one rather than from a failure. */
  readonly limit?: { readonly limit: string; readonly used: number; readonly max: number };
  /** Number of tries of an outage that have failed. The hold stays, with its end past, until a turn of the role has come through. */
  readonly tries?: number;
  /** Set while a turn tries whether the outage is over. */
  readonly trying?: boolean;
  /** What cannot be started here, and the remedy. */
  readonly said?: string;
}

export interface ToldHold extends Hold {
  readonly hold_id: string;
}

/** Executable criteria that run. */
export interface ToldChecks {
  readonly check_id: string;
  readonly subject: string | undefined;
}

/** Reads any record, even a damaged or forged one: what is not as the schema says is left out. */
export function tellingOf(whole: UnsealedRecord): Telling {
  const { payload, record } = whole;
  const { state, effects, changed, ...rest } = record as unknown as JsonObject;
  const opened = objectOf(rest.opened);
  const ended = objectOf(rest.ended);
  return {
    state: text(state),
    moves: objects(effects, "ticket_id").map(({ ticket_id, to, reason }) => ({
      subject: textOf(ticket_id),
      to: textOf(to),
      reason: text(reason),
    })),
    changed: objects(changed, "ticket_id").map((one) => toldSubject(one, payload)),
    turn: turnIn(whole),
    asks: objects(opened.asks, "ask_id").map(toldAsk),
    holds: objects(opened.holds, "hold_id").map(toldHold),
    checks: objects(opened.checks, "check_id").map(({ check_id, ticket_id }) => ({
      check_id: textOf(check_id),
      subject: text(ticket_id),
    })),
    ended: {
      turns: texts(ended.turns),
      asks: texts(ended.asks),
      holds: texts(ended.holds),
      checks: texts(ended.checks),
      subjects: texts(ended.subjects),
    },
  };
}

function turnIn({ target, payload_type, record }: UnsealedRecord): ToldTurn | undefined {
  const { turn_id, ticket_id, run, received_at, disposition } = record;
  if (payload_type !== "turn_request" || turn_id === undefined || disposition !== "applied") return undefined;
  return { turn_id, role_id: target, subject: ticket_id, run: number(run) ?? 1, since: received_at };
}

function toldSubject(one: JsonObject, payload: JsonObject): ToldSubject {
  const { ticket_id, title, title_at, owner, attempt, max_attempts, depends_on, order, reason, spent } = one;
  return {
    subject: textOf(ticket_id),
    title: typeof title_at === "string" ? textWithin(at(payload, title_at)) || undefined : text(title),
    owner: owner === null ? null : text(owner),
    attempt: number(attempt),
    max_attempts: max_attempts === null ? null : number(max_attempts),
    depends_on: depends_on === undefined ? undefined : texts(depends_on),
    order: number(order),
    reason: reason === null ? null : text(reason),
    spent: spent === null ? null : text(spent),
  };
}

function toldAsk({ ask_id, kind, record, ticket_id, turn_id, open }: JsonObject): ToldAsk {
  return {
    ask_id: textOf(ask_id),
    kind: textOf(kind),
    record: number(record) ?? 0,
    subject: text(ticket_id),
    turn_id: text(turn_id),
    open: texts(open),
  };
}

function toldHold({ hold_id, role_id, reason, until, since, account, window, limit, ...rest }: JsonObject): ToldHold {
  const { limit: name, used, max } = objectOf(limit);
  return {
    hold_id: textOf(hold_id),
    role_id: textOf(role_id),
    reason: textOf(reason),
    ...defined({
      until: isInstant(until) ? until : undefined,
      since: isInstant(since) ? since : undefined,
      account: text(account),
      window: text(window),
      limit: typeof name === "string" ? { limit: name, used: numberOf(used), max: numberOf(max) } : undefined,
      tries: number(rest.tries),
      trying: typeof rest.trying === "boolean" ? rest.trying : undefined,
      said: text(rest.said),
    }),
  };
}

function isInstant(value: Json | undefined): value is Instant {
  return typeof value === "string" && Number.isFinite(Date.parse(value));
}

function objects(list: Json | undefined, field: string): JsonObject[] {
  return listOf(list)
    .map(objectOf)
    .filter((one) => textOf(one[field]) !== "");
}

function texts(list: Json | undefined): string[] {
  return listOf(list).filter((one): one is string => typeof one === "string" && one !== "");
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function number(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
