import type { LedgerChecks, LedgerHold, LedgerTurn } from "../kernel/ledger.ts";
import type { StoreReader } from "../store/store.ts";
import type { Standing } from "../ui/reporter.ts";
import type { RunningTurn } from "../ui/under-way.ts";
import { firstOfLatest, recordsOf } from "./session-state.ts";

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
    status === "open" && role_id !== undefined
      ? [{ turn_id, role_id, ...(subject === undefined ? {} : { subject }) }]
      : [],
  );
}

/** The same turns with when they were given, from the latest records; those from long ago go without it. */
export function withSince(
  store: StoreReader,
  session_id: string,
  last_sequence: number,
  running: readonly RunningTurn[],
): RunningTurn[] {
  const given = new Map<string, number>();
  const first = firstOfLatest(last_sequence);
  for (const { payload_type, record } of running.length === 0 ? [] : recordsOf(store, session_id, first)) {
    const { turn_id, received_at } = record;
    if (payload_type === "turn_request" && turn_id !== undefined) given.set(turn_id, Date.parse(received_at));
  }
  return running.map((turn) => ({ ...turn, since: given.get(turn.turn_id) }));
}
