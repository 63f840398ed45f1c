import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { PAYLOAD_TYPES } from "../../protocol/payload.ts";
import { parseMoment, type TimeRange } from "../../ui/player/moment.ts";
import { oneOf } from "./run-options.ts";

/** The options that select records. */
export interface FilterOptions {
  readonly ticket?: string;
  readonly type?: string;
  readonly from?: string;
  readonly to?: string;
}

/** A record's sequence, or a time as typed, whose meaning depends on the log. */
export type Bound = number | string;

/** Which records are selected. */
export interface RecordFilter {
  readonly from: Bound | undefined;
  readonly to: Bound | undefined;
  readonly ticket: string | undefined;
  readonly type: string | undefined;
}

/** The same for one log, as sequences and instants in ms since 1970. */
export interface Range {
  readonly first: number;
  readonly last: number;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Parses the options. A failure is `usage`. */
export function readFilter({ from, to, ticket, type }: FilterOptions): Fallible<RecordFilter> {
  const begin = readBound("--from", from);
  if (!begin.ok) return begin;
  const end = readBound("--to", to);
  if (!end.ok) return end;
  if (type !== undefined) {
    const known = oneOf("--type", type, PAYLOAD_TYPES);
    if (!known.ok) return known;
  }
  return ok({ from: begin.value, to: end.value, ticket, type });
}

/** Parses a record's sequence or a time. */
export function readBound(flag: string, text: string | undefined): Fallible<Bound | undefined> {
  if (text === undefined) return ok(undefined);
  if (/^[1-9]\d{0,14}$/.test(text)) return ok(Number(text));
  if (parseMoment(text, { from: 0, to: 0 }) !== undefined) return ok(text);
  return fails("usage", `${flag} ${JSON.stringify(text)} is neither a record's number nor a time.`, {
    hint: "Write a whole number, 1 or more, or a time: 20:31, 20:31:10, +6m02s after the first record, or 2026-01-31T20:31:10Z.",
  });
}

/** Resolves the filter's bounds for a log. */
export function rangeOf({ from, to }: Pick<RecordFilter, "from" | "to">, log: TimeRange): Range {
  const instant = (bound: Bound | undefined) => (typeof bound === "string" ? parseMoment(bound, log) : undefined);
  return {
    first: typeof from === "number" ? from : 1,
    last: typeof to === "number" ? to : Number.POSITIVE_INFINITY,
    from_ms: instant(from) ?? Number.NEGATIVE_INFINITY,
    to_ms: instant(to) ?? Number.POSITIVE_INFINITY,
  };
}
