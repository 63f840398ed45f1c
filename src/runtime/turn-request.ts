import type { Ledger } from "../kernel/ledger.ts";
import type { TurnDraft } from "../kernel/mode.ts";
import { turnsLeft } from "../kernel/role-limits.ts";
import type { JsonObject } from "../lib/json.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { Admission } from "./dispatcher.ts";
import { limitsOf, remainingOf } from "./limits.ts";
import type { SessionPaths } from "./paths.ts";

export interface RequestParts {
  readonly engine: { readonly ledger: Ledger };
  readonly paths: SessionPaths;
  readonly config: ResolvedConfiguration;
  readonly workspace: string;
}

/** Told to whoever takes a turn under a higher run. */
export const INTERRUPTED =
  "This turn was begun before and was interrupted, so its work may be half done: look before you repeat it.";

/** How many turns may follow this one: the least that session, role and subject have left; undefined if nothing limits them. */
function remainingTurns(
  ledger: Ledger,
  config: ResolvedConfiguration,
  role_id: string,
  ofSubject: number | undefined,
): number | undefined {
  const { turns } = limitsOf(ledger.figures, config);
  const own = turnsLeft(ledger, role_id);
  const left = [
    ...(turns === undefined ? [] : [turns - ledger.figures.turns - 1]),
    ...(own === undefined ? [] : [own - 1]),
    ...(ofSubject === undefined ? [] : [ofSubject]),
  ];
  return left.length === 0 ? undefined : Math.max(0, Math.min(...left));
}

/** The request as it is recorded: the mode's draft, and what the runtime knows of role, limits and places. */
export function requestPayload(
  { paths, workspace, config, engine }: RequestParts,
  draft: TurnDraft,
  { turn, role }: Admission,
): JsonObject {
  const remaining_turns = remainingTurns(engine.ledger, config, role.role_id, draft.remaining_turns);
  const notes = Array.isArray(draft.context.notes) ? draft.context.notes : [];
  return {
    turn_id: turn.turn_id,
    role_id: role.role_id,
    expects: draft.expects,
    message: draft.message,
    context: turn.interrupted ? { ...draft.context, notes: [...notes, INTERRUPTED] } : draft.context,
    limits: {
      timeout_s: role.timeout_s ?? config.timeout_s,
      idle_timeout_s: role.idle_timeout_s ?? config.idle_timeout_s,
      ...(remaining_turns === undefined ? {} : { remaining_turns }),
      ...remainingOf(engine.ledger.figures, config),
    },
    ...(draft.discuss === undefined ? {} : { discuss: draft.discuss }),
    workspace,
    artifacts_dir: paths.work(turn.subject),
  };
}
