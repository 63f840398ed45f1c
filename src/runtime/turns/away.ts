import type { TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { ENVIRONMENT, isHoldingCode } from "../../kernel/holds.ts";
import type { Ledger } from "../../kernel/ledger.ts";
import { UNAVAILABLE } from "../../kernel/outages.ts";
import { hasRun } from "../../kernel/spends.ts";
import { mayEnter } from "../../lib/files.ts";
import { type Failure, failure } from "../../protocol/failure.ts";

/** The failure of a workspace that is not there, or not now; undefined if it is there. */
export function workspaceAway(workspace: string): Failure | undefined {
  if (mayEnter(workspace) !== "gone") return undefined;
  return failure(UNAVAILABLE, `The workspace ${JSON.stringify(workspace)} is away.`, {
    hint: "Mount it, or put it back.",
  });
}

/**
 * A turn's result, with its failure named for its cause. A turn that fails while the workspace is away fails of that. A program that is not there is
 * away if it has run in this session; otherwise it cannot be started here, like one that is not fit.
 */
export function withCause(result: TurnResult, { role, stamp, payload }: TurnRequest, ledger: Ledger): TurnResult {
  const { answer, failure: told } = result;
  const isMissing = told?.code === UNAVAILABLE && told.details?.["errno"] === "ENOENT";
  if (told?.code === "cancelled" || (told && !isMissing && isHoldingCode("turn_failed", told.code))) return result;
  const wentWell = answer !== undefined && answer.payload_type !== "error" && answer.payload["status"] !== "error";
  const away = wentWell ? undefined : workspaceAway(payload.workspace);
  if (away) return { ...result, failure: { ...away, details: { ...told?.details } } };
  const cannotStart = told?.code === "configuration" || (isMissing && !hasRun(ledger, role.role_id, stamp.turn_id));
  return told && cannotStart ? { ...result, failure: { ...told, code: ENVIRONMENT } } : result;
}
