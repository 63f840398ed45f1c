import type { LedgerHold } from "../../kernel/ledger.ts";
import { type Instant, milliseconds } from "../../protocol/timestamp.ts";
import { spendWords } from "../../log/usage-words.ts";
import { usageOf } from "../../runtime/usage.ts";
import { quotaLines, resetMoment } from "../../ui/quota-words.ts";
import { latestNotes, runningTurns } from "../../runtime/feed/standing.ts";
import type { Holder, SessionRow, StoreReader } from "../../store/store.ts";
import { clipped, hanging, safeLine } from "../../ui/display.ts";
import type { Output, Style } from "../../ui/terminal.ts";
import { interruptedLines, ticketTable } from "../../ui/ending.ts";
import { localMoment } from "../../ui/timeline.ts";
import { showKept, showWaiting, unheardLines } from "../../ui/waiting.ts";
import { counted, localize, MOST_NAMED, quoted, runningWords, tellNext } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { cancelFor, keptCommands, keptFor, unheard } from "../interaction/kept.ts";
import { isBegun } from "../lookup/resolve.ts";
import { interruptedTurns, markInterrupted } from "../lookup/tickets.ts";
import type { StoredView } from "../lookup/view.ts";
import { nextFor, lateMessages } from "./next.ts";

/** A session, and its owner just before it was read. */
export interface SeenSession extends StoredView {
  readonly owner: Holder | undefined;
}

/** Shows one session: its tickets, who works, what it needs, and what to type next. */
export function showSession(
  { terminal: { out } }: CommandContext,
  store: StoreReader,
  { row, owner, presentation, ledger, tickets, report, waiting }: SeenSession,
  now: number,
): void {
  const { session_id } = row;
  const where = owner === undefined ? "not running" : `running in process ${owner.pid} on ${owner.host}`;
  say(out, `${session_id} is ${standing(row, owner !== undefined)}; ${where}`, "bold");
  if (row.requirement !== null) out.line(clipped(row.requirement, out.width));
  out.line(out.style("dim", `in ${safeLine(row.workspace)}`));
  const shown = owner === undefined ? markInterrupted(tickets, ledger) : tickets;
  if (shown.length > 0) for (const line of ["", ...ticketTable(presentation, shown, out)]) out.line(line);
  const cut = owner === undefined ? interruptedLines(out, interruptedTurns(ledger)) : [];
  if (cut.length > 0) for (const line of ["", ...cut]) out.line(line);
  const running = owner === undefined ? [] : runningTurns(ledger.turns.values());
  if (running.length > 0) {
    const turns = latestNotes(store, row).of(running);
    out.line();
    say(out, `Running: ${runningWords(turns, now)}`);
    for (const { subject, role_id, progress } of turns.slice(0, MOST_NAMED))
      if (progress !== undefined) out.line(out.style("dim", `  ${safeLine(subject ?? role_id)}: ${quoted(progress)}`));
  }
  for (const child of store.sessions({ parent: session_id }).filter((row) => isBegun(row) && row.state !== "closed")) {
    out.line();
    const command = localize(out, `bosun status ${child.session_id}`);
    for (const line of hanging(`The ${child.mode} ${child.session_id} is ${child.state}:`, out.width, 2, command))
      out.line(line);
  }
  const asked = waiting.filter((one) => cancelFor(store, session_id, one) === undefined);
  if (asked.length > 0) {
    out.line();
    out.line("Needs you:");
    for (const one of asked) showWaiting(out, session_id, one, keptFor(store, session_id, one));
  }
  const late = row.state === "closed" ? lateMessages(session_id, unheard(store, session_id), tickets) : [];
  if (late.length > 0) for (const line of ["", ...unheardLines(out, late)]) out.line(line);
  const kept = row.state === "closed" ? [] : keptCommands(store, session_id);
  if (kept.length > 0) {
    out.line();
    out.line("Kept until it is resumed:");
    showKept(out, session_id, kept);
  }
  for (const hold of ledger.holds.values()) {
    const described = describeHold(hold, now);
    if (described === undefined) continue;
    out.line();
    say(out, described.text, described.byItself ? "dim" : "yellow");
    if (!described.byItself)
      out.line(`      ${localize(out, `bosun resume ${session_id} --release ${safeLine(hold.role_id)}`)}`);
  }
  const usage = ledger.figures;
  out.line();
  const { turns, input_tokens, output_tokens, recoveries } = usage;
  const figures = [
    counted(turns, "turn"),
    // Agents that report no tokens have used some all the same.
    ...(input_tokens + output_tokens > 0 ? [`${input_tokens} tokens in, ${output_tokens} out`] : []),
    ...(recoveries > 0 ? [`recovered ${counted(recoveries, "time")}`] : []),
  ];
  say(out, figures.join(", "));
  const spent = spendWords(usageOf(ledger).by_role);
  if (spent !== undefined) say(out, safeLine(spent));
  for (const line of quotaLines(ledger, now)) say(out, line);
  const next = nextFor(session_id, owner !== undefined, {
    presentation,
    figures: usage,
    holds: ledger.holds.values(),
    report,
  });
  tellNext(out, ...next.map(safeLine));
}

/** A line, broken between words where the terminal is narrow. */
function say(out: Output, text: string, style?: Style): void {
  for (const line of hanging(text, out.width, 2)) out.line(style === undefined ? line : out.style(style, line));
}

/** A hold, and whether it ends by itself; undefined for a rate limit that has ended. */
function describeHold(
  { role_id, reason, until, limit, account, window }: LedgerHold,
  now: number,
): { text: string; byItself: boolean } | undefined {
  const role = safeLine(role_id);
  switch (limit?.limit) {
    case undefined: {
      const end = until === undefined ? "" : `, until ${here(until, now)}`;
      return { text: `Role ${role} is held: ${safeLine(reason)}${end}`, byItself: false };
    }
    case "turns_per_minute": {
      if (until === undefined || milliseconds(until) <= now) return undefined;
      return {
        text: `Role ${role} is limited to ${counted(limit.max, "turn")} a minute: the next at ${here(until, now)}`,
        byItself: true,
      };
    }
    case "quota": {
      if (until === undefined || milliseconds(until) <= now) return undefined;
      const left = `${account ?? role} ${window ?? ""}`.trim();
      return {
        text: `Role ${role} is held until ${resetMoment(milliseconds(until), now)}: of ${safeLine(left)} no more than the reserve is left`,
        byItself: false,
      };
    }
    default: {
      const most = limit?.limit === "role_turns" ? counted(limit.max, "turn") : `${limit?.max}s of turns`;
      return { text: `Role ${role} has used its budget of ${most}`, byItself: false };
    }
  }
}

/** The local time, as `bosun log` shows it. */
function here(until: Instant, now: number): string {
  return localMoment(new Date(milliseconds(until)), new Date(now));
}

/** The stored state; a working state without an owner was left by a scheduler that died. */
export function standing({ state, outcome }: SessionRow, held: boolean): string {
  if (outcome !== null && state === "closed") return outcome;
  const idle = state === "stopped" || state === "waiting" || state === "closed" || state === "paused";
  return held || idle ? state : `interrupted (${state})`;
}
