import { conversationFor } from "../../kernel/conversations.ts";
import { sizeOf } from "../../kernel/cut.ts";
import { fittingDraft, type Quoting, withNote } from "../../kernel/fitting.ts";
import type { TurnDraft } from "../../kernel/mode.ts";
import type { Lookup } from "../../kernel/references.ts";
import { turnsLeft } from "../../kernel/role-limits.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import { MAX_LINE_BYTES } from "../../protocol/limits.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { Admission } from "./dispatcher.ts";
import { leftOf } from "./limits.ts";
import type { SessionContext } from "../context.ts";
import { workspaceFor } from "../copies/copies.ts";

/** The note in the request of a repeated turn. Recorded: older logs hold these words. */
export const INTERRUPTED =
  "This turn was begun before and was interrupted, so its work may be half done: look before you repeat it.";

/** The note in a request whose quotations are cut. Recorded: older logs hold these words. */
const CUT =
  "What this request quotes is cut, since it would be longer than a line may be: long texts say so where they end, long lists have only their first entries, metadata is left out. The records of the log hold the whole.";

/** Maximum size of the payload in a line, in bytes; the rest of the line is for its envelope. */
const REQUEST_BYTES = MAX_LINE_BYTES - 4096;

/** The failure for a request that cannot be cut to a line, usually because of a worker's commands, which stay whole. */
export function longerThanALine(payload: PayloadByType["turn_request"]): Failure | undefined {
  const bytes = sizeOf(payload);
  if (bytes <= REQUEST_BYTES) return undefined;
  const { payload_type } = payload.message;
  return failure("output_limit", `The ${payload_type} of this turn does not fit in a line: it has ${bytes} bytes.`, {
    hint: "Put long commands into files, and name these.",
  });
}

/** The number of turns that may follow this one; undefined without a limit. `ofSession` and `ofRole` include this turn, `ofSubject` does not. */
function turnsAfter(ofSession = Infinity, ofRole = Infinity, ofSubject = Infinity): number | undefined {
  const least = Math.min(ofSession - 1, ofRole - 1, ofSubject);
  return Number.isFinite(least) ? Math.max(0, least) : undefined;
}

/** The recorded request: the mode's draft with the role, limits and directories of the turn. */
export function requestPayload(context: SessionContext, draft: TurnDraft, { turn, role }: Admission): JsonObject {
  const { paths, config, ledger, records } = context;
  const { turns, tokens, usd } = leftOf(ledger, config);
  const remaining_turns = turnsAfter(turns, turnsLeft(ledger, role.role_id), draft.remaining_turns);
  const conversation = conversationFor(ledger, turn, role, draft.alone === true);
  const payload = {
    turn_id: turn.turn_id,
    role_id: role.role_id,
    expects: draft.expects,
    ...(draft.choices === undefined ? {} : { choices: draft.choices }),
    message: draft.message,
    context: turn.interrupted ? withNote(draft.context, INTERRUPTED) : draft.context,
    limits: {
      timeout_s: role.timeout_s ?? config.timeout_s,
      idle_timeout_s: role.idle_timeout_s ?? config.idle_timeout_s,
      ...defined({ remaining_turns, remaining_tokens: tokens, remaining_usd: usd }),
    },
    ...(draft.delivers === undefined ? {} : { delivers: draft.delivers }),
    ...(draft.discuss === undefined ? {} : { discuss: draft.discuss }),
    ...(conversation === undefined ? {} : { conversation: { ...conversation } }),
    workspace: workspaceFor(context, role, draft, turn.subject),
    artifacts_dir: paths.work(turn.subject),
    home: paths.home,
  };
  return fittingRequest(payload, records, role.type === "worker");
}

/** Cuts the quotations of a request that would not fit into a line. Commands stay whole if the role `runs` them. */
export function fittingRequest<D extends Quoting>(payload: D, records: Lookup, runs: boolean): D {
  return fittingDraft(payload, records, REQUEST_BYTES, { note: CUT, runs });
}
