import type { LedgerFigures } from "../kernel/ledger.ts";
import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Store, StoreReader } from "../store/store.ts";
import type { CommandContext } from "./command.ts";

/** Says, after a word was put to a session, what holds now that its owner took it; nothing if nobody has taken it yet. */
export function tellWhatHolds(
  { terminal: { out } }: CommandContext,
  store: Store,
  session_id: string,
  put: Result<number, Failure>,
  what: () => string,
): Result<number, Failure> {
  if (put.ok && store.inbox.pending(session_id).length === 0) out.line(what());
  return put;
}

/** Whether a session is paused, as its owner recorded it. */
export function isPaused(reader: StoreReader, session_id: string): boolean {
  const figures = reader.value(session_id, "figures", "figures") as unknown as LedgerFigures | undefined;
  return figures?.paused === true;
}
