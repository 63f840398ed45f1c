import type { Command } from "commander";
import type { Ledger } from "../kernel/ledger.ts";
import { spendOf } from "../kernel/spends.ts";
import { formatDuration } from "../lib/durations.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Spent } from "../protocol/payload.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { spentOf, usageOf } from "../runtime/usage.ts";
import { StorageError } from "../store/storage-error.ts";
import type { Holder, SessionRow, StoreReader } from "../store/store.ts";
import { clipped, safeJson, safeLine } from "../ui/display.ts";
import { PROSE_WIDTH, tableLines } from "../ui/table.ts";
import { localize, tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { homeOf, isUnused, otherHomesLines, withHome } from "./context/home.ts";
import { keptCommands, settledBy, unheard } from "./interaction/kept.ts";
import { readHomeOf } from "./lookup/homes.ts";
import { isBegun, resolveSession, SHOW } from "./lookup/resolve.ts";
import { markInterrupted } from "./lookup/tickets.ts";
import { readSession } from "./lookup/view.ts";
import { type SeenSession, showSession, standing } from "./presenters/session.ts";

interface StatusOptions {
  readonly json?: boolean;
  readonly all?: boolean;
}

/** `bosun status`: the state of one session, or the list of all. */
export function register(command: Command, run: Run): void {
  command
    .argument("[session]", "its id or the beginning of it (default: the running one, else the list of all)")
    .option("-a, --all", "list all sessions, even if one is running")
    .option("--json", "one JSON value on stdout")
    .action((named: string | undefined, options: StatusOptions) => run((context) => status(context, named, options)));
}

async function status(
  context: CommandContext,
  named: string | undefined,
  options: StatusOptions,
): Promise<Result<number, Failure>> {
  const opened = await readHomeOf(context, named);
  const missing = named === undefined && !opened.ok ? homeOf(context) : undefined;
  if (!opened.ok && missing?.ok === true && isUnused(context, missing.value, opened.error)) {
    return ok(showEmpty(context, missing.value, options));
  }
  return withHome(opened, async ({ home, store }) => {
    const row = rowToShow(store, named, options);
    if (!row.ok) return row;
    if (row.value === undefined) return listSessions(store, home, context, options);
    const owner = store.holder(row.value.session_id);
    const stored = await readSession(store, home, row.value);
    if (!stored.ok) return stored;
    const seen = { ...stored.value, owner };
    if (options.json === true) context.terminal.out.line(safeJson(statusObject(store, home, seen)));
    else showSession(context, store, seen, Date.now());
    return ok(EXIT_DONE);
  });
}

function rowToShow(
  store: StoreReader,
  named: string | undefined,
  { all }: StatusOptions,
): Result<SessionRow | undefined, Failure> {
  if (named !== undefined && all === true) {
    const hint = "Leave out --all to see the session, or its name to see the list.";
    return err(failure("usage", `--all cannot be combined with the session ${JSON.stringify(named)}.`, { hint }));
  }
  if (named !== undefined) return resolveSession(store, named, SHOW);
  if (all === true) return ok(undefined);
  const live = store
    .sessions({ parent: null })
    .filter((row) => row.state !== "closed" && holderOf(store, row).owner !== undefined);
  return ok(live.length === 1 ? live[0] : undefined);
}

/** The fields that SPEC.md promises for `--json`, and more. */
function statusObject(store: StoreReader, home: string, seen: SeenSession): object {
  const { row, owner, view, ledger, tickets, waiting, resultsOf } = seen;
  const subjects = new Map(view.subjects.map((subject) => [subject.id, subject]));
  const shown = owner === undefined ? markInterrupted(tickets, ledger) : tickets;
  const pending = waiting.map((one) => ({ ...one, kept: settledBy(store, row.session_id, one) }));
  return {
    ...listed(row, owner),
    home,
    counts: view.counts,
    tickets: shown.map(
      ({ ticket_id, status, title, attempt, reason, spent, blocked_by, owner, outputs, interrupted }) => ({
        ticket_id,
        task_id: ticket_id,
        description: title,
        status,
        interrupted,
        reason,
        spent,
        blocked_by: blocked_by === undefined ? undefined : [blocked_by],
        owner,
        attempts: attempt,
        outputs,
        ...asReported(resultsOf(ticket_id)),
        usage: usageOfTicket(ledger, ticket_id),
        dependencies: subjects.get(ticket_id)?.depends_on ?? [],
        since: subjects.get(ticket_id)?.since,
      }),
    ),
    pending_questions: pending.filter((one) => one.kind === "question"),
    pending_decisions: pending.filter((one) => one.kind !== "question"),
    kept: (row.state === "closed" ? unheard : keptCommands)(store, row.session_id),
    holds: [...ledger.holds.values()],
    quota: [...ledger.quotas].map(([account, { windows, at }]) => ({ account, windows, at })),
    children: store
      .sessions({ parent: row.session_id })
      .filter(isBegun)
      .map(({ session_id, mode, state, outcome }) => ({ session_id, mode, state, outcome })),
    usage: usageOf(ledger),
  };
}

/** What the ended turns about a ticket have used; undefined before the first. */
function usageOfTicket(ledger: Ledger, ticket_id: string): Spent | undefined {
  const spend = spendOf(ledger, ticket_id);
  return spend && spentOf(spend);
}

/** The results of a ticket as the final report has them, without outputs. */
function asReported({ reviews, checks_passed, summary, artifacts, issues, next_actions }: JsonObject): JsonObject {
  return { reviews, checks_passed, summary, artifacts, issues, next_actions };
}

/** A session as the list has it. */
function listed(row: SessionRow, owner: Holder | undefined): object {
  const { session_id, mode, state, outcome, requirement, workspace, created_at, updated_at } = row;
  return { session_id, mode, state, outcome, requirement, workspace, created_at, updated_at, owner: owner ?? null };
}

/** The owner, or why it cannot be read: one broken lock must not hide all sessions. */
function holderOf(
  store: StoreReader,
  { session_id }: SessionRow,
): { readonly owner?: Holder | undefined; readonly trouble?: Failure } {
  try {
    return { owner: store.holder(session_id) };
  } catch (error) {
    if (error instanceof StorageError) return { trouble: error.failure };
    throw error;
  }
}

/** A session and its owner, who is read first: what it wrote before it left is in the row. */
function withHolder(store: StoreReader, row: SessionRow): { readonly row: SessionRow } & ReturnType<typeof holderOf> {
  const found = holderOf(store, row);
  const now = store.session(row.session_id);
  return { row: now.ok ? now.value : row, ...found };
}

/** What to type first. */
function showEmpty(context: CommandContext, home: string, { json }: StatusOptions): number {
  const { out } = context.terminal;
  if (json === true) {
    out.line("[]");
    return EXIT_DONE;
  }
  out.line("No session has run here yet.");
  tellNext(out, "bosun run --plan FILE", "bosun demo");
  for (const other of otherHomesLines(context, home)) out.line(localize(out, other));
  return EXIT_DONE;
}

function listSessions(
  store: StoreReader,
  home: string,
  context: CommandContext,
  options: StatusOptions,
): Result<number, Failure> {
  const { json } = options;
  const { out, err: messages } = context.terminal;
  const begun = store.sessions({ parent: null }).filter(isBegun);
  // The owner of a closed session is not shown to people, and reading it takes time.
  const needsOwner = (row: SessionRow) => json === true || row.state !== "closed";
  const sessions = begun.map((row) => (needsOwner(row) ? withHolder(store, row) : { row }));
  let exit_code = EXIT_DONE;
  for (const { row, trouble } of sessions) {
    if (trouble === undefined) continue;
    exit_code = EXIT_ENVIRONMENT;
    messages.line(`${row.session_id}: ${safeLine(trouble.message)}`);
  }
  const [newest] = sessions;
  if (newest === undefined) return ok(showEmpty(context, home, options));
  if (json === true) {
    const objects = sessions.map(({ row, owner, trouble }) => ({ ...listed(row, owner), trouble: trouble?.message }));
    out.line(safeJson(objects));
    return ok(exit_code);
  }
  const now = Date.now();
  const rows = sessions.map(({ row, owner, trouble }) => [
    row.session_id,
    trouble === undefined ? standing(row, owner !== undefined) : `unknown (${row.state})`,
    formatDuration(now - milliseconds(row.updated_at)),
    clipped(row.requirement ?? "", PROSE_WIDTH),
  ]);
  const columns = [
    { heading: "SESSION", widest: 40 },
    { heading: "STATE", widest: 30 },
    { heading: "AGO" },
    { heading: "WHAT" },
  ];
  for (const line of tableLines(columns, rows, out.width)) out.line(line);
  tellNext(out, `bosun status ${newest.row.session_id}`);
  return ok(exit_code);
}
