import type { LedgerChecks, LedgerHold, LedgerTurn } from "../../kernel/ledger.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { progressOf } from "../../ui/progress.ts";
import type { Standing } from "../../ui/reporter.ts";
import type { RunningTurn } from "../../ui/workload.ts";
import { latestOf } from "../lookup/state.ts";

/** Who works on what, as the ledger's turns, checks and holds say. */
export function workload(
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

const TELL_OF_TURNS: ReadonlySet<PayloadType> = new Set(["turn_request", "report"]);

/** The same turns with when they were given and what was said last of them, from the latest records; what is from long ago is left out. */
export function withLatest(
  store: StoreReader,
  row: Pick<SessionRow, "session_id" | "last_sequence">,
  running: readonly RunningTurn[],
): RunningTurn[] {
  const latest = new Map<string, Pick<RunningTurn, "since" | "progress">>();
  for (const told of running.length === 0 ? [] : latestOf(store, row, TELL_OF_TURNS)) {
    const { turn_id = "", received_at } = told.record;
    const progress = progressOf(told);
    if (told.payload_type === "turn_request") latest.set(turn_id, { since: Date.parse(received_at) });
    else if (progress !== undefined) latest.set(turn_id, { ...latest.get(turn_id), progress });
  }
  return running.map((turn) => ({ ...turn, ...latest.get(turn.turn_id) }));
}
