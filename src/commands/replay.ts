import type { Command } from "commander";
import { didYouMean } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { listFolder, type Listing, parseRecord, readFolder } from "../log/reader.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { PAYLOAD_TYPES } from "../protocol/payload.ts";
import type { LogRecord } from "../protocol/record.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { resolverOf } from "../runtime/resolved-records.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { localTime } from "../ui/timeline.ts";
import { tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { oneOf } from "./options/run-options.ts";
import { type LogSource, sourceOf, typedName } from "./lookup/log-source.ts";
import { subjectWord } from "./lookup/modes.ts";
import { ticketsIn } from "./lookup/state.ts";
import { NO_RECORDS, verify } from "./presenters/verify.ts";

interface ReplayOptions {
  readonly verify?: boolean;
  readonly json?: boolean;
  readonly ticket?: string;
  readonly type?: string;
  readonly from?: string;
  readonly to?: string;
}

/** `bosun replay`: the records of a session, read from its files; with `--verify` their proof. */
export function register(command: Command, run: Run): void {
  command
    .argument("[session-or-folder]", "a session, or a log folder (default: the running session, else the newest)")
    .option("--verify", "prove that the log is complete and that every decision follows from it")
    .option("--ticket <id>", "only records about this ticket")
    .option("--type <type>", "only this payload type")
    .option("--from <n>", "start at this record")
    .option("--to <n>", "end at this record")
    .option("--json", "one JSON record a line; with --verify one object");
  command.action((named: string | undefined, options: ReplayOptions) =>
    run((context) => replay(context, named, options)),
  );
}

async function replay(
  context: CommandContext,
  named: string | undefined,
  options: ReplayOptions,
): Promise<Result<number, Failure>> {
  const filter = readFilter(options);
  if (!filter.ok) return filter;
  const source = await sourceOf(context, named);
  if (!source.ok) return source;
  if (options.verify === true) return verify(context, source.value, options.json === true);
  return list(context, source.value, filter.value, options.json === true);
}

interface Filter {
  readonly from: number;
  readonly to: number;
  readonly ticket: string | undefined;
  readonly type: string | undefined;
}

function readFilter({ from, to, ticket, type, verify: proves }: ReplayOptions): Result<Filter, Failure> {
  if (proves === true && [from, to, ticket, type].some((one) => one !== undefined)) {
    return err(
      failure("usage", "--verify proves the whole log, and cannot be combined with --ticket, --type, --from or --to.", {
        hint: "Leave out --verify to see those records, or the filters to prove the log.",
      }),
    );
  }
  const bounds = { from: 1, to: Number.POSITIVE_INFINITY };
  for (const [flag, text] of [
    ["from", from],
    ["to", to],
  ] as const) {
    if (text === undefined) continue;
    if (!/^[1-9]\d{0,14}$/.test(text)) {
      return err(
        failure("usage", `--${flag} ${JSON.stringify(text)} is not a record's number.`, {
          hint: "Write a whole number, 1 or more.",
        }),
      );
    }
    bounds[flag] = Number(text);
  }
  if (type !== undefined) {
    const known = oneOf("--type", type, PAYLOAD_TYPES);
    if (!known.ok) return known;
  }
  return ok({ ...bounds, ticket, type });
}

function list(
  { terminal: { out, err: messages } }: CommandContext,
  source: LogSource,
  filter: Filter,
  json: boolean,
): Result<number, Failure> {
  const { folder, row } = source;
  const listing = listFolder(folder);
  if (!listing.ok && listing.error.code === "not_found" && row !== undefined) {
    const hint = `To write it again from the database: bosun resume ${row.session_id}.`;
    return err({ ...listing.error, hint });
  }
  if (!listing.ok) return listing;
  const { foreign } = listing.value;
  const records = listing.value.files.length;
  const unknown =
    records === 0 || filter.ticket === undefined ? undefined : unknownTicket(source, listing.value, filter.ticket);
  if (unknown) return err(unknown);
  const files = listing.value.files.filter(
    ({ sequence, payload_type }) =>
      sequence >= filter.from && sequence <= filter.to && (filter.type === undefined || payload_type === filter.type),
  );
  const resolved = resolverOf(folder, listing.value);
  let shown = 0;
  for (const { name, sequence, bytes } of readFolder(folder, { files, foreign })) {
    const record = recordIn(bytes);
    if (record !== null && filter.ticket !== undefined && !ticketsIn(record).includes(filter.ticket)) continue;
    shown += 1;
    if (record === null) {
      if (!json)
        out.line(out.style("red", `${String(sequence).padStart(6)} ${safeLine(name)} cannot be read; see --verify`));
      continue;
    }
    out.line(json ? safeJson(resolved(record)) : lineOf(sequence, record));
  }
  if (records === 0) messages.line(NO_RECORDS);
  else if (shown === 0) messages.line(`No matching records (of ${records}).`);
  if (!json) tellNext(out, `bosun replay ${typedName(source)} --verify`);
  return ok(EXIT_DONE);
}

function recordIn(bytes: Buffer | null): LogRecord | null {
  return bytes === null ? null : parseRecord(bytes.toString("utf8"));
}

/** Why a ticket is unknown: every record can be read, and none is about it. */
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
    `${source} -> ${target}`.padEnd(24),
    `${payload_type}${disposition}`.padEnd(22),
    (record.ticket_id ?? "-").padEnd(16),
    effects.length > 4 ? `${effects.length} transitions` : effects.join(", "),
  ];
  return parts
    .map((part, index) => (index === 0 ? part : safePadded(part)))
    .join(" ")
    .trimEnd();
}

/** Made safe, with the spaces that align columns. */
function safePadded(text: string): string {
  const safe = safeLine(text);
  return safe + " ".repeat(Math.max(0, text.length - safe.length));
}
