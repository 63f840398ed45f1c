import { setTimeout as delay } from "node:timers/promises";
import { didYouMean } from "../../lib/nearest.ts";
import { err, ok } from "../../lib/result.ts";
import { listFolder, type Listing, readFolder, type RecordFile, recordIn } from "../../log/reader.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import { PAYLOAD_TYPES } from "../../protocol/payload.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { EXIT_DONE, EXIT_VERIFICATION } from "../../runtime/exit.ts";
import { resolverOf } from "../../runtime/records.ts";
import { safeJson, safeLine } from "../../ui/display.ts";
import { parseMoment, type TimeRange } from "../../ui/player/moment.ts";
import { spanOf } from "../../ui/player/recording.ts";
import type { Output } from "../../ui/terminal.ts";
import { localTime } from "../../ui/timeline.ts";
import { counted, tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { readHomeAt, withHome } from "../context/home.ts";
import { type LogSource, NO_RECORDS, notALog, typedName } from "../lookup/log-source.ts";
import { subjectWord } from "../lookup/modes.ts";
import { ticketsIn } from "../lookup/state.ts";
import { oneOf } from "../options/run-options.ts";

export interface FilterOptions {
  readonly ticket?: string;
  readonly type?: string;
  readonly from?: string;
  readonly to?: string;
}

/** A record's sequence, or a time as typed, whose meaning depends on the log. */
export type Bound = number | string;

export interface RecordFilter extends Omit<FilterOptions, "from" | "to"> {
  readonly from: Bound | undefined;
  readonly to: Bound | undefined;
}

/** What a filter selects in one log, as sequences and instants in ms since 1970. */
interface Range {
  readonly first: number;
  readonly last: number;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Parses the options. A failure is `usage`. */
export function readFilter(options: FilterOptions): Fallible<RecordFilter> {
  const begin = readBound("--from", options.from);
  if (!begin.ok) return begin;
  const end = readBound("--to", options.to);
  if (!end.ok) return end;
  const known = options.type === undefined ? ok(undefined) : oneOf("--type", options.type, PAYLOAD_TYPES);
  if (!known.ok) return known;
  return ok({ ...options, from: begin.value, to: end.value });
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
function rangeOf({ from, to }: Pick<RecordFilter, "from" | "to">, log: TimeRange): Range {
  const instant = (bound: Bound | undefined) => (typeof bound === "string" ? parseMoment(bound, log) : undefined);
  return {
    first: typeof from === "number" ? from : 1,
    last: typeof to === "number" ? to : Number.POSITIVE_INFINITY,
    from_ms: instant(from) ?? Number.NEGATIVE_INFINITY,
    to_ms: instant(to) ?? Number.POSITIVE_INFINITY,
  };
}

/** How often a followed session is polled for new records, in ms; a poll costs one pragma. */
const LOOK_EVERY_MS = 100;

/** Lists the records of a log that match the filter; with `follow`, continues with new ones until the session stops. */
export async function listRecords(
  context: CommandContext,
  source: LogSource,
  listing: Listing,
  filter: RecordFilter,
  { json, follow }: { readonly json: boolean; readonly follow: boolean },
): Promise<Exit> {
  const { out, err: messages } = context.terminal;
  const records = listing.files.length;
  const unknown =
    records === 0 || follow || filter.ticket === undefined ? undefined : unknownTicket(source, listing, filter.ticket);
  if (unknown) return err(unknown);
  const list = new RecordList({
    ...{ out, filter, json, folder: source.folder },
    range: rangeOf(filter, spanOf(source.folder, listing.files)),
  });
  list.show(listing.files, listing);
  if (follow) {
    const followed = await followOn(context, source, list, listing);
    if (!followed.ok) return followed;
  }
  if (list.read === 0 && source.row === undefined) return err(notALog(source));
  if (list.read === 0) messages.line(NO_RECORDS);
  else if (list.shown === 0) messages.line(`No matching records (of ${list.read}).`);
  if (!json) tellNext(out, `bosun replay ${typedName(source)} --verify`);
  if (list.unreadable === 0) return ok(EXIT_DONE);
  if (json) messages.line(`${counted(list.unreadable, "record")} cannot be read.`);
  return ok(EXIT_VERIFICATION);
}

interface ListParts {
  readonly out: Output;
  readonly folder: string;
  readonly filter: RecordFilter;
  readonly range: Range;
  readonly json: boolean;
}

class RecordList {
  readonly #parts: ListParts;
  /** When the last readable record was received, in ms since 1970. */
  #at = Number.NEGATIVE_INFINITY;
  read = 0;
  shown = 0;
  unreadable = 0;

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  /** Whether no later record can match. */
  isOver(sequence: number): boolean {
    const { last, to_ms } = this.#parts.range;
    return sequence >= last || this.#at > to_ms;
  }

  show(files: readonly RecordFile[], all: Listing): void {
    const { folder, filter, range } = this.#parts;
    const { first, last } = range;
    this.read += files.length;
    const meant = files.filter(
      ({ sequence, payload_type }) =>
        sequence >= first && sequence <= last && (filter.type === undefined || payload_type === filter.type),
    );
    const resolved = resolverOf(folder, all);
    for (const { bytes, ...file } of readFolder(folder, { files: meant, foreign: [] }))
      this.#one(file, recordIn(bytes), resolved);
  }

  #one({ name, sequence }: RecordFile, record: LogRecord | null, resolved: (record: LogRecord) => LogRecord): void {
    const { out, range, filter, json } = this.#parts;
    const { from_ms, to_ms } = range;
    const { ticket } = filter;
    if (record !== null) this.#at = Date.parse(record.record.received_at);
    if (this.#at < from_ms || this.#at > to_ms) return;
    if (record !== null && ticket !== undefined && !ticketsIn(record).includes(ticket)) return;
    this.shown += 1;
    if (record === null) this.unreadable += 1;
    if (record !== null) out.line(json ? safeJson(resolved(record)) : lineOf(sequence, record));
    else if (!json)
      out.line(out.style("red", `${String(sequence).padStart(6)} ${safeLine(name)} cannot be read; see --verify`));
  }
}

/** Follows a session until it stops or the output is closed. */
async function followOn(
  context: CommandContext,
  { home, row, folder }: LogSource,
  list: RecordList,
  { files, foreign }: Listing,
): Promise<Fallible<void>> {
  if (home === undefined || row === undefined) return ok(undefined);
  const { session_id } = row;
  const known = [...files];
  let version: number | undefined;
  return withHome(readHomeAt(context, home), async ({ store }) => {
    for (;;) {
      // Read the owner before the records, so that its last records are still shown.
      const isHeld = store.holder(session_id) !== undefined;
      const now = store.version();
      if (now !== version) {
        const stored = store.session(session_id);
        const listed = listFolder(folder);
        const last = known.at(-1)?.sequence ?? 0;
        const fresh = listed.ok ? listed.value.files.filter(({ sequence }) => sequence > last) : [];
        known.push(...fresh);
        if (fresh.length > 0) list.show(fresh, { files: known, foreign });
        // The owner commits a record before it publishes it.
        const isAll = stored.ok && stored.value.last_sequence <= (known.at(-1)?.sequence ?? 0);
        version = isAll ? now : undefined;
      }
      if (!isHeld || context.terminal.out.ended.aborted || list.isOver(known.at(-1)?.sequence ?? 0))
        return ok(undefined);
      await delay(LOOK_EVERY_MS);
    }
  });
}

/** The failure for an unknown ticket: every record can be read, and none is about it. */
function unknownTicket(source: LogSource, listing: Listing, ticket: string): Failure | undefined {
  const known = new Set<string>();
  for (const { bytes } of readFolder(source.folder, listing)) {
    const record = recordIn(bytes);
    if (record === null) return undefined;
    for (const id of ticketsIn(record)) known.add(id);
    if (known.has(ticket)) return undefined;
  }
  const word = source.row === undefined ? "ticket" : subjectWord(source.row);
  const question = didYouMean(ticket, known);
  return failure("not_found", `${typedName(source)} has no ${word} ${JSON.stringify(ticket)}.${question}`, {
    hint: `To see all records: bosun replay ${typedName(source)}.`,
  });
}

function lineOf(sequence: number, { source, target, payload_type, record }: LogRecord): string {
  const disposition = record.disposition === "applied" ? "" : ` (${record.disposition})`;
  const effects = (record.effects ?? []).map(({ ticket_id, from, to }) => `${ticket_id}: ${from ?? "new"} -> ${to}`);
  const parts = [
    String(sequence).padStart(6),
    localTime(new Date(record.received_at)),
    safeLine(`${source} -> ${target}`).padEnd(24),
    safeLine(`${payload_type}${disposition}`).padEnd(22),
    safeLine(record.ticket_id ?? "-").padEnd(16),
    effects.length > 4 ? `${effects.length} transitions` : safeLine(effects.join(", ")),
  ];
  return parts.join(" ").trimEnd();
}
