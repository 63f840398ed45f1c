import { sizeOf } from "../../kernel/cut.ts";
import { fittingDraft, type Quoting, withNote } from "../../kernel/fitting.ts";
import type { TurnDraft } from "../../kernel/mode.ts";
import type { Lookup } from "../../kernel/references.ts";
import { turnsLeft } from "../../kernel/role-limits.ts";
import type { JsonObject } from "../../lib/json.ts";
import { MAX_LINE_BYTES } from "../../protocol/limits.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { Admission } from "./dispatcher.ts";
import { leftOf } from "./limits.ts";
import type { SessionContext } from "../context.ts";

/** Told to whoever takes a turn under a higher run. */
export const INTERRUPTED =
  "This turn was begun before and was interrupted, so its work may be half done: look before you repeat it.";

/** Told to whoever is not given all of what the request quotes. */
const CUT =
  "What this request quotes is cut, since it would be longer than a line may be: long texts say so where they end, long lists have only their first entries, metadata is left out. The records of the log hold the whole.";

/** Of a line, what the payload may have; the rest is for the envelope around it. */
const REQUEST_BYTES = MAX_LINE_BYTES - 4096;

/** What is wrong with a request that cannot be cut to a line: mostly its message tells a worker of commands, which it must not be given in part. */
export function longerThanALine(payload: PayloadByType["turn_request"]): Failure | undefined {
  const bytes = sizeOf(payload);
  if (bytes <= REQUEST_BYTES) return undefined;
  const { payload_type } = payload.message;
  return failure(
    "output_limit",
    `The ${payload_type} of this turn cannot be put in one line: it makes ${bytes} bytes.`,
    {
      hint: "Put long commands into files, and name these.",
    },
  );
}

/** How many turns may follow this one: the least of what is left, where anything limits them. That of a subject is without this turn already. */
function turnsAfter(
  ofSession: number | undefined,
  ofRole: number | undefined,
  ofSubject: number | undefined,
): number | undefined {
  const withThis = Math.min(ofSession ?? Number.POSITIVE_INFINITY, ofRole ?? Number.POSITIVE_INFINITY);
  const least = Math.min(withThis - 1, ofSubject ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(least) ? Math.max(0, least) : undefined;
}

/** The request as it is recorded: the mode's draft, and what the runtime knows of role, limits and places. */
export function requestPayload(
  { paths, workspace, config, ledger, records }: SessionContext,
  draft: TurnDraft,
  { turn, role }: Admission,
): JsonObject {
  const { turns, tokens, usd } = leftOf(ledger, config);
  const remaining_turns = turnsAfter(turns, turnsLeft(ledger, role.role_id), draft.remaining_turns);
  const payload = {
    turn_id: turn.turn_id,
    role_id: role.role_id,
    expects: draft.expects,
    message: draft.message,
    context: turn.interrupted ? withNote(draft.context, INTERRUPTED) : draft.context,
    limits: {
      timeout_s: role.timeout_s ?? config.timeout_s,
      idle_timeout_s: role.idle_timeout_s ?? config.idle_timeout_s,
      ...(remaining_turns === undefined ? {} : { remaining_turns }),
      ...(tokens === undefined ? {} : { remaining_tokens: tokens }),
      ...(usd === undefined ? {} : { remaining_usd: usd }),
    },
    ...(draft.discuss === undefined ? {} : { discuss: draft.discuss }),
    workspace,
    artifacts_dir: paths.work(turn.subject),
  };
  return fittingRequest(payload, records, role.type === "worker");
}

/** The request with what it quotes cut, if it would be longer than a line may be; commands stay whole for whoever `runs` them. */
export function fittingRequest<D extends Quoting>(payload: D, records: Lookup, runs: boolean): D {
  return fittingDraft(payload, records, REQUEST_BYTES, { note: CUT, runs });
}
