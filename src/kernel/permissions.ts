import { defined, type JsonObject } from "../lib/json.ts";
import { failure } from "../protocol/failure.ts";
import { type Ledger, type LedgerGrant, type LedgerTurn, put } from "./ledger.ts";
import type { AskedPermission, Change, Command, Fact, FactOf, Step } from "./mode.ts";
import { NOTHING } from "./step.ts";

/** Whether a fact is a permission request of a turn's program. The turn stays open and waits for the decision. */
export function isPermissionRequest(fact: Fact): fact is FactOf<"approval_request"> {
  return fact.payload_type === "approval_request" && fact.payload.subject === "permission";
}

/** Whether an open turn waits for a person's permission. */
export function waitsForPermission({ asks }: Ledger, turn_id: string): boolean {
  for (const { permission } of asks.values()) if (permission?.turn_id === turn_id) return true;
  return false;
}

/** Returns the step for a permission request: a person is asked, unless an earlier decision or a criterion covers it. */
export function onPermissionAsked(ledger: Ledger, fact: FactOf<"approval_request">): Step {
  const { ask_id } = fact.payload;
  const permission = askedIn(fact);
  const earlier = decisionOn(ledger, permission, fact.subject);
  const about = defined({ subject: fact.subject });
  if (!earlier && !isCriterion(fact)) {
    return {
      ...NOTHING,
      commands: [{ do: "ask", ask_id, kind: "permission", record: fact.sequence, permission, ...about }],
    };
  }
  const { granted = false, scope = "once" } = earlier?.[1] ?? { granted: true };
  const notes = earlier ? `as decided with ${earlier[0]}` : "a command of the acceptance criteria";
  const payload: JsonObject = { decision: granted ? "approved" : "rejected", ask_id, scope, notes };
  return {
    ...NOTHING,
    envelopes: [{ target: permission.role_id, payload_type: "approval", payload, ...about }],
    commands: [{ do: "permit", turn_id: permission.turn_id, ask_id, granted, notes }],
  };
}

/**
 * Returns the step for a person's decision on a permission. Undefined for any other decision, which the mode handles. If the turn was cut short
 * meanwhile, the decision applies when the repeated turn asks again.
 */
export function onPermissionDecided(ledger: Ledger, { payload }: FactOf<"approval">): Step | undefined {
  const { ask_id = "", decision, notes } = payload;
  const { kind, permission } = ledger.asks.get(ask_id) ?? {};
  if (kind !== "permission" && !isUndecided(ledger.grants.get(ask_id))) return undefined;
  if (decision === "changes_requested") {
    const hint = "decide approved or rejected, with notes";
    const details = { pointer: "/decision" };
    return {
      ...NOTHING,
      refused: failure("validation_failed", `"${ask_id}" asks for a permission`, { hint, details }),
    };
  }
  // The mode itself may ask for one.
  if (permission === undefined) return kind === undefined ? NOTHING : undefined;
  const permit: Command = {
    do: "permit",
    turn_id: permission.turn_id,
    ask_id,
    granted: decision === "approved",
    ...defined({ notes }),
  };
  return { ...NOTHING, commands: [{ do: "clear_ask", ask_id }, permit] };
}

/** Adds the ledger's changes for a decision on a permission: a decision that applies to later requests is kept. */
export function keepDecision(ledger: Ledger, fact: Fact, changes: Change[]): void {
  if (isPermissionRequest(fact)) {
    const earlier = decisionOn(ledger, askedIn(fact), fact.subject);
    if (earlier?.[1].scope === "once") changes.push({ drop: "grant", id: earlier[0] });
  } else if (fact.payload_type === "approval" && fact.payload.decision !== "changes_requested") {
    const { ask_id = "", scope = "once" } = fact.payload;
    const granted = fact.payload.decision === "approved";
    const ask = ledger.asks.get(ask_id);
    const undecided = ledger.grants.get(ask_id);
    if (ask?.permission !== undefined && scope !== "once") {
      changes.push(put("grant", ask_id, { ...ask.permission, ...defined({ subject: ask.subject }), granted, scope }));
    } else if (undecided !== undefined && isUndecided(undecided)) {
      changes.push(put("grant", ask_id, { ...undecided, granted, scope }));
    }
  }
}

/**
 * Withdraws the permission requests of ended runs. A repeated run will ask again, and a person may decide before it does. A decision for a single
 * turn ends with that turn.
 */
export function withdrawPermissions(ledger: Ledger, changes: Change[]): void {
  const turns = new Map<string, LedgerTurn | undefined>();
  for (const change of changes) {
    if ("put" in change && change.put === "turn") turns.set(change.id, change.value as unknown as LedgerTurn);
    else if ("drop" in change && change.drop === "turn") turns.set(change.id, undefined);
  }
  if (turns.size === 0) return;
  for (const [ask_id, { permission, ...ask }] of ledger.asks) {
    if (permission === undefined || !turns.has(permission.turn_id)) continue;
    const turn = turns.get(permission.turn_id);
    if (turn?.status === "open") continue;
    changes.push({ drop: "ask", id: ask_id });
    if (turn) changes.push(put("grant", ask_id, { ...permission, ...defined({ subject: ask.subject }) }));
  }
  for (const [id, { turn_id, scope = "once" }] of ledger.grants) {
    if (scope === "once" && turns.has(turn_id) && turns.get(turn_id) === undefined) changes.push({ drop: "grant", id });
  }
}

const NARROWEST_FIRST = ["once", "ticket", "session", "prefix"];

/**
 * Returns the decision that covers a request: on the same action of the same role, for this turn, its ticket or the session, or on commands with the
 * same prefix. The narrowest one counts, then a rejection, then the first id. The order in the ledger never counts, because a resume changes it.
 */
function decisionOn(
  { grants }: Ledger,
  { role_id, digest, turn_id, prefix }: AskedPermission,
  subject: string | undefined,
): [decided_with: string, LedgerGrant] | undefined {
  return [...grants]
    .filter(
      ([, grant]) =>
        !isUndecided(grant) &&
        grant.role_id === role_id &&
        (grant.scope === "prefix" ? prefix !== undefined && grant.prefix === prefix : grant.digest === digest) &&
        (grant.scope === "prefix" ||
          grant.scope === "session" ||
          (grant.scope === "ticket" ? grant.subject === subject : grant.turn_id === turn_id)),
    )
    .toSorted(
      ([id, a], [other, b]) =>
        breadth(a) - breadth(b) || Number(a.granted) - Number(b.granted) || (id < other ? -1 : 1),
    )[0];
}

function breadth({ scope = "once" }: LedgerGrant): number {
  return NARROWEST_FIRST.indexOf(scope);
}

function isUndecided(grant: LedgerGrant | undefined): boolean {
  return grant !== undefined && grant.granted === undefined;
}

function askedIn({ payload, turn }: FactOf<"approval_request">): AskedPermission {
  const { role_id = "", digest = "", prefix } = (payload.about ?? {}) as Partial<AskedPermission>;
  return { turn_id: turn?.turn_id ?? "", role_id, digest, ...defined({ prefix }) };
}

/** Whether the acceptance criteria contain the command, so that Bosun runs it too. */
function isCriterion({ payload }: FactOf<"approval_request">): boolean {
  return (payload.about as { criterion?: unknown } | undefined)?.criterion === true;
}
