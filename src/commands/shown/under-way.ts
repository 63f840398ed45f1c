import type { LedgerChecks, LedgerHold, LedgerTurn } from "../../kernel/ledger.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { Standing } from "../../ui/reporter.ts";
import type { RunningTurn } from "../../ui/under-way.ts";
import { latestOf } from "../session/state.ts";

/** Who works on what, as the ledger's turns, checks and holds say. */
export function underWay(
  turns: Iterable<LedgerTurn>,
  checks: Iterable<LedgerChecks>,
  holds: Iterable<LedgerHold>,
): Pick<Standing, "running" | "checking" | "held"> {
  return {
    running: runningTurns(turns),
    checking: [...checks].flatMap(({ subject }) => subject ?? []),
    held: [...holds].flatMap(({ role_id, reason, limit }) =>
      limit?.limit === "turns_per_minute" ? [] : [`${role_id} (${reason})`],
    ),
  };
}

/** The turns that roles hold. */
export function runningTurns(turns: Iterable<LedgerTurn>): RunningTurn[] {
  return [...turns].flatMap(({ status, turn_id, role_id, subject }) =>
    status === "open" && role_id !== undefined ? [{ turn_id, role_id, subject }] : [],
  );
}

const TURN_REQUESTS: ReadonlySet<PayloadType> = new Set(["turn_request"]);

/** The same turns with when they were given, from the latest records; those from long ago go without it. */
export function withSince(
  store: StoreReader,
  row: Pick<SessionRow, "session_id" | "last_sequence">,
  running: readonly RunningTurn[],
): RunningTurn[] {
  const given = new Map<string, number>();
  for (const { record } of running.length === 0 ? [] : latestOf(store, row, TURN_REQUESTS)) {
    const { turn_id, received_at } = record;
    if (turn_id !== undefined) given.set(turn_id, Date.parse(received_at));
  }
  return running.map((turn) => ({ ...turn, since: given.get(turn.turn_id) }));
}
