import { GENESIS } from "../../protocol/record.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { keptRecord, lastReport } from "../../store/kept-record.ts";
import type { SessionRow, Store } from "../../store/store.ts";

/** How a child session ended, for the `session_finished` fact of its parent. */
export type ChildEnd = Pick<PayloadByType["session_finished"], "outcome" | "reason" | "result" | "usage" | "log">;

/** Reads from its own log how a closed child ended. */
export function closedChild(store: Store, row: SessionRow): ChildEnd {
  const report = lastReport(store, row) as unknown as PayloadByType["final_report"];
  const { outcome, usage, result } = report;
  const reason = whyCancelled(store, row) ?? report.reason;
  return {
    outcome,
    ...(reason === undefined ? {} : { reason }),
    ...(result === undefined ? {} : { result }),
    usage,
    log: { records: row.last_sequence, head: row.head },
  };
}

/** The reason given in the command that cancelled the child; its report says only that it was cancelled. */
function whyCancelled(store: Store, { session_id, last_sequence }: SessionRow): string | undefined {
  for (let sequence = last_sequence; sequence > 0; sequence -= 1) {
    const { record, payload_type, payload } = keptRecord(store, session_id, sequence);
    if (record.kind !== "fact") continue;
    const { command, reason } = payload;
    return payload_type === "user_command" && command === "cancel" ? (reason as string | undefined) : undefined;
  }
  return undefined;
}

/** The end of a child that could not be created. */
export function neverOpened(failure: Failure): ChildEnd {
  return {
    outcome: "failed",
    reason: failure.message,
    usage: { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 },
    log: { records: 0, head: GENESIS },
  };
}
