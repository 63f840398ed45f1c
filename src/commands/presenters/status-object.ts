import { withCutRuns } from "../../kernel/spends.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { usageOf } from "../../runtime/usage.ts";
import type { Holder, SessionRow, StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { keptCommands, unheard } from "../lookup/kept.ts";
import { whereabouts, withChanges } from "../lookup/copies.ts";
import { isBegun } from "../lookup/resolve.ts";
import { markInterrupted, readSession } from "../lookup/view.ts";
import { withUsage } from "./ending.ts";
import type { SeenSession } from "./session.ts";

/** A session as it stands. Failures as `readSession`. Throws a `StorageError`. */
export async function seenSession(
  context: CommandContext,
  { home, store }: OpenHome<StoreReader>,
  row: SessionRow,
): Promise<Fallible<SeenSession>> {
  const { session_id } = row;
  const owner = store.holder(session_id);
  const stored = await readSession(store, home, row);
  if (!stored.ok) return stored;
  const waiting = await withChanges(context, { home, store, session_id }, stored.value.waiting);
  return ok({ ...stored.value, waiting, owner, where: whereabouts(home, session_id, stored.value) });
}

/** The fields that SPEC.md promises for `--json`, and more. */
export function statusObject(store: StoreReader, home: string, seen: SeenSession) {
  const { row, owner, state, ledger, tickets, waiting, resultsOf, projection } = seen;
  const { subjects } = state;
  const counted = owner === undefined ? withCutRuns(ledger) : ledger;
  const shown = withUsage(owner === undefined ? markInterrupted(tickets, ledger) : tickets, counted);
  return {
    ...listed(row, owner),
    home,
    counts: Object.fromEntries(state.counts),
    tickets: shown.map(
      ({ ticket_id, status, title, attempt, reason, spent, blocked_by, owner, outputs, interrupted, usage }) => ({
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
        changed_files: ledger.changes.get(ticket_id),
        ...asReported(resultsOf(ticket_id)),
        usage,
        dependencies: subjects.get(ticket_id)?.depends_on ?? [],
        since: subjects.get(ticket_id)?.since,
      }),
    ),
    pending_questions: waiting.filter((one) => one.kind === "question"),
    pending_decisions: waiting.filter((one) => one.kind !== "question"),
    kept: (row.state === "closed" ? unheard : keptCommands)(store, row.session_id),
    holds: [...ledger.holds.values()],
    quota: [...ledger.quotas].map(([account, { windows, at }]) => ({ account, windows, at })),
    children: store
      .sessions({ parent: row.session_id })
      .filter(isBegun)
      .map(({ session_id, mode, state, outcome }) => ({ session_id, mode, state, outcome })),
    usage: usageOf(counted),
    projection,
  };
}

/** The results of a ticket as in the final report, without outputs. */
function asReported({ reviews, checks_passed, summary, artifacts, issues, next_actions }: JsonObject): JsonObject {
  return { reviews, checks_passed, summary, artifacts, issues, next_actions };
}

/** A session as an entry of the list. */
export function listed(row: SessionRow, owner: Holder | undefined): object {
  const { session_id, mode, state, outcome, requirement, workspace, created_at, updated_at } = row;
  return { session_id, mode, state, outcome, requirement, workspace, created_at, updated_at, owner: owner ?? null };
}
