import type { Command } from "commander";
import { formatDuration } from "../lib/durations.ts";
import type { LedgerHold } from "../kernel/ledger.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { type Instant, milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { clipped, safeJson, safeLine } from "../ui/display.ts";
import { ticketTable } from "../ui/ending.ts";
import { tableLines } from "../ui/table.ts";
import { localMoment } from "../ui/time.ts";
import { runningWords } from "../ui/under-way.ts";
import { showWaiting } from "../ui/waiting.ts";
import { counted } from "../ui/words.ts";
import { isBegun, namedSession } from "./choose.ts";
import type { CommandContext, Run } from "./command.ts";
import { keptFor } from "./kept.ts";
import { nextFor } from "./next.ts";
import { finalReport } from "./tickets.ts";
import { type StoredView, readSession } from "./stored.ts";
import { readHome, withHome } from "./home.ts";
import { runningTurns, withSince } from "./under-way.ts";

interface StatusOptions {
  readonly json?: boolean;
  readonly all?: boolean;
}

/** `bosun status`: how one session stands, or which sessions there are. */
export function register(command: Command, run: Run): void {
  command
    .argument("[session]", "its id or the beginning of it (default: the one that runs, else the list of all)")
    .option("-a, --all", "the list of sessions, even if one runs")
    .option("--json", "one JSON value on stdout")
    .action((named: string | undefined, options: StatusOptions) => run((context) => status(context, named, options)));
}

async function status(
  context: CommandContext,
  named: string | undefined,
  options: StatusOptions,
): Promise<Result<number, Failure>> {
  return withHome(readHome(context), async ({ home, store }) => {
    const row = rowToShow(store, named, options);
    if (!row.ok) return row;
    if (row.value === undefined) return listSessions(store, context, options);
    const stored = await readSession(store, home, row.value);
    if (!stored.ok) return stored;
    if (options.json === true) context.terminal.out.line(safeJson(await statusObject(store, row.value, stored.value)));
    else showSession(context, store, row.value, stored.value);
    return ok(EXIT_DONE);
  });
}

function rowToShow(
  store: StoreReader,
  named: string | undefined,
  { all }: StatusOptions,
): Result<SessionRow | undefined, Failure> {
  if (named !== undefined) return namedSession(store, named);
  if (all === true) return ok(undefined);
  const live = store
    .sessions({ parent: null })
    .filter((row) => row.state !== "closed" && store.holder(row.session_id) !== undefined);
  return ok(live.length === 1 ? live[0] : undefined);
}

/** What `--json` promises (SPEC.md), and what else is known. */
async function statusObject(
  store: StoreReader,
  row: SessionRow,
  { view, ledger, tickets, waiting }: StoredView,
): Promise<object> {
  // What writes records brings every validator along, which people who only look should not wait for.
  const { usageOf } = await import("../runtime/closing.ts");
  const since = new Map(view.subjects.map((subject) => [subject.id, subject]));
  const pending = waiting.map((one) => ({ ...one, kept: keptFor(store, row.session_id, one) }));
  return {
    session_id: row.session_id,
    mode: row.mode,
    state: row.state,
    outcome: row.outcome,
    requirement: row.requirement,
    workspace: row.workspace,
    created_at: row.created_at,
    updated_at: row.updated_at,
    owner: store.holder(row.session_id) ?? null,
    counts: view.counts,
    tickets: tickets.map(({ ticket_id, status, title, attempt, reason, blocked_by, owner, outputs }) => ({
      ticket_id,
      task_id: ticket_id,
      description: title,
      status,
      reason,
      blocked_by: blocked_by === undefined ? undefined : [blocked_by],
      owner,
      attempts: attempt,
      outputs,
      dependencies: since.get(ticket_id)?.depends_on ?? [],
      since: since.get(ticket_id)?.since,
    })),
    pending_questions: pending.filter((one) => one.kind === "question"),
    pending_decisions: pending.filter((one) => one.kind !== "question"),
    holds: [...ledger.holds.values()],
    children: store
      .sessions({ parent: row.session_id })
      .filter(isBegun)
      .map(({ session_id, mode, state, outcome }) => ({ session_id, mode, state, outcome })),
    usage: usageOf(ledger.figures),
  };
}

function showSession(
  { terminal: { out }, bosun }: CommandContext,
  store: StoreReader,
  row: SessionRow,
  { showing, ledger, tickets, waiting }: StoredView,
): void {
  const { session_id } = row;
  const owner = store.holder(session_id);
  const where = owner === undefined ? "nobody runs it" : `process ${owner.pid} on ${owner.host} runs it`;
  out.line(out.style("bold", `${session_id} is ${standing(row, owner !== undefined)}; ${where}`));
  if (row.requirement !== null) out.line(clipped(row.requirement, out.width));
  out.line(out.style("dim", `in ${safeLine(row.workspace)}`));
  if (tickets.length > 0) for (const line of ["", ...ticketTable(showing, tickets, out)]) out.line(line);
  const running = owner === undefined ? [] : runningTurns(ledger.turns.values());
  if (running.length > 0) {
    const words = runningWords(withSince(store, session_id, row.last_sequence, running), Date.now());
    out.line();
    out.line(`Running: ${safeLine(words)}`);
  }
  for (const child of store.sessions({ parent: session_id }).filter((row) => isBegun(row) && row.state !== "closed")) {
    out.line();
    out.line(`The ${child.mode} ${child.session_id} is ${child.state}: ${bosun} status ${child.session_id}`);
  }
  if (waiting.length > 0) {
    out.line();
    out.line("Waits for a person:");
    for (const one of waiting) showWaiting(out, bosun, session_id, one, keptFor(store, session_id, one));
  }
  for (const hold of ledger.holds.values()) {
    const told = holdTold(hold);
    if (told === undefined) continue;
    out.line();
    out.line(told.byItself ? out.style("dim", told.text) : out.style("yellow", told.text));
    if (!told.byItself) out.line(`      ${bosun} resume ${session_id} --release ${safeLine(hold.role_id)}`);
  }
  const usage = ledger.figures;
  out.line();
  const { turns, input_tokens, output_tokens, recoveries } = usage;
  const figures = [
    counted(turns, "turn"),
    // Agents that never tell their tokens have not used none.
    ...(input_tokens + output_tokens > 0 ? [`${input_tokens} tokens in, ${output_tokens} out`] : []),
    ...(recoveries > 0 ? [`recovered ${counted(recoveries, "time")}`] : []),
  ];
  out.line(figures.join(", "));
  const report = finalReport(store, session_id, row.last_sequence);
  const next = nextFor(bosun, session_id, owner !== undefined, {
    figures: usage,
    holds: ledger.holds.values(),
    report,
  });
  for (const [index, command] of next.entries())
    out.line(`${index === 0 ? "next    " : "        "}${safeLine(command)}`);
}

/** What a hold is, in words, and whether there is nothing to do about it; undefined for a role's own rate that allows work again. */
function holdTold({ role_id, reason, until, limit }: LedgerHold): { text: string; byItself: boolean } | undefined {
  const role = safeLine(role_id);
  switch (limit?.limit) {
    case undefined: {
      const end = until === undefined ? "" : `, until ${here(until)}`;
      return { text: `The role ${role} is held: ${safeLine(reason)}${end}`, byItself: false };
    }
    case "turns_per_minute": {
      if (until === undefined || milliseconds(until) <= Date.now()) return undefined;
      return {
        text: `The role ${role} keeps to its ${counted(limit.max, "turn")} a minute: the next at ${here(until)}`,
        byItself: true,
      };
    }
    default: {
      const unit = limit?.limit === "role_turns" ? "turns" : "s of turns";
      return { text: `The role ${role} has used its budget of ${limit?.max} ${unit}`, byItself: false };
    }
  }
}

/** An instant in the time of day here, as `bosun log` shows it. */
function here(until: Instant): string {
  return localMoment(new Date(milliseconds(until)), new Date(Date.now()));
}

/** The state as stored; one that says it works while nobody holds the session was left by a scheduler that died. */
function standing({ state, outcome }: SessionRow, held: boolean): string {
  if (outcome !== null && state === "closed") return outcome;
  const idle = state === "stopped" || state === "waiting" || state === "closed" || state === "paused";
  return held || idle ? state : `interrupted (${state})`;
}

function listSessions(
  store: StoreReader,
  { terminal: { out }, bosun }: CommandContext,
  { json }: StatusOptions,
): Result<number, Failure> {
  const sessions = store.sessions({ parent: null }).filter(isBegun);
  if (json === true) {
    const listed = sessions.map(
      ({ session_id, mode, state, outcome, requirement, workspace, created_at, updated_at }) => {
        return {
          session_id,
          mode,
          state,
          outcome,
          requirement,
          workspace,
          created_at,
          updated_at,
          owner: store.holder(session_id) ?? null,
        };
      },
    );
    out.line(safeJson(listed));
    return ok(EXIT_DONE);
  }
  if (sessions.length === 0) {
    out.line(`There are no sessions in this home. Begin one: ${bosun} run`);
    return ok(EXIT_DONE);
  }
  const now = Date.now();
  const rows = sessions.map((row) => [
    row.session_id,
    standing(row, row.state !== "closed" && store.holder(row.session_id) !== undefined),
    formatDuration(now - milliseconds(row.updated_at)),
    row.requirement ?? "",
  ]);
  const columns = [
    { heading: "SESSION", widest: 40 },
    { heading: "STATE", widest: 30 },
    { heading: "AGO" },
    { heading: "WHAT" },
  ];
  for (const line of tableLines(columns, rows, out.width)) out.line(line);
  return ok(EXIT_DONE);
}
