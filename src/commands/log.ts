import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { LogRecord } from "../protocol/record.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { sessionPaths } from "../runtime/paths.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { safeLine } from "../ui/display.ts";
import { recordLines } from "../ui/record-lines.ts";
import { localTime } from "../ui/time.ts";
import type { Output } from "../ui/terminal.ts";
import { chooseAnySession, chooseTarget, type Target } from "./choose.ts";
import type { CommandContext, Run } from "./command.ts";
import { readHome } from "./home.ts";
import { ticketValue } from "./schedule-state.ts";

interface LogOptions {
  readonly follow?: boolean;
}

/** How often a followed session is looked at, in ms; a look costs one pragma. */
const LOOK_EVERY_MS = 100;

/** `bosun log`: what happened, and where each agent's own words are kept. */
export function register(command: Command, run: Run): void {
  command
    .argument("[session]", "its id or the beginning of it (default: the one that runs, else the newest)")
    .argument("[ticket]", "only this ticket")
    .option("-f, --follow", "go on until the session is closed or nobody runs it any more");
  command.action((_session, _ticket, options: LogOptions) => run((context) => log(context, command.args, options)));
}

async function log(
  context: CommandContext,
  words: readonly string[],
  { follow = false }: LogOptions,
): Promise<Result<number, Failure>> {
  const opened = readHome(context);
  if (!opened.ok) return opened;
  const { home, store } = opened.value;
  try {
    const target = chooseTarget(store, words, chooseAnySession);
    if (!target.ok) return target;
    const { out } = context.terminal;
    const turns = new Set<string>();
    const tickets = new Set<string>();
    let shown = show(out, store, target.value, 0, turns, tickets);
    if (follow) shown = await followOn(out, store, target.value, shown, turns, tickets);
    const { row, ticket_id } = target.value;
    if (ticket_id !== undefined) showOutput(out, home, row, turns);
    else out.line(out.style("dim", `record  ${safeLine(sessionPaths(home, row.session_id).log)} (${shown} records)`));
    const toLookAt =
      [...tickets].find((id) => ticketValue(store, row.session_id, id)?.status === "error") ?? [...tickets][0];
    const { session_id } = row;
    if (ticket_id !== undefined) out.line(`next    bosun replay ${session_id} --ticket ${safeLine(ticket_id)}`);
    else
      out.line(
        `next    bosun ${toLookAt === undefined ? `status ${session_id}` : `log ${session_id} ${safeLine(toLookAt)}`}`,
      );
    return ok(EXIT_DONE);
  } finally {
    store.close();
  }
}

/** Shows the records after `from`; gives the last one's sequence. */
function show(
  out: Output,
  store: StoreReader,
  { row, ticket_id }: Target,
  from: number,
  turns: Set<string>,
  tickets: Set<string>,
): number {
  let last = from;
  for (const line of store.records(row.session_id, from + 1)) {
    last += 1;
    const record = JSON.parse(line) as LogRecord;
    const about = record.record.ticket_id;
    if (about !== undefined) tickets.add(about);
    if (about === ticket_id && record.record.turn_id !== undefined) turns.add(record.record.turn_id);
    for (const told of recordLines(record)) {
      if (ticket_id !== undefined && told.ticket !== ticket_id) continue;
      const text = safeLine(told.text);
      const name = safeLine(told.ticket ?? "-").padEnd(16);
      out.line(
        `${localTime(new Date(record.record.received_at))} ${name} ${told.style ? out.style(told.style, text) : text}`,
      );
    }
  }
  return last;
}

async function followOn(
  out: Output,
  store: StoreReader,
  target: Target,
  from: number,
  turns: Set<string>,
  tickets: Set<string>,
): Promise<number> {
  let shown = from;
  let version: number | undefined;
  for (;;) {
    // Asked before the records, so that what its last owner wrote is still shown.
    const held = store.holder(target.row.session_id) !== undefined;
    const now = store.version();
    if (now !== version) shown = show(out, store, target, shown, turns, tickets);
    version = now;
    if (!held) return shown;
    await delay(LOOK_EVERY_MS);
  }
}

/** The raw output of the ticket's turns, for who wants to know what an agent really printed. */
function showOutput(out: Output, home: string, row: SessionRow, turns: ReadonlySet<string>): void {
  const folder = sessionPaths(home, row.session_id).output;
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const own = files.filter((file) => turns.has(file.replace(/\.\d+\.(stdout|stderr)\.log$/, ""))).sort();
  if (own.length > 0) out.line("What its agents printed:");
  for (const file of own) out.line(`  ${safeLine(join(folder, file))}`);
}
