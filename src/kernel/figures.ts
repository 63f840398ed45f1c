import { defined, type JsonObject } from "../lib/json.ts";
import { isNotice, type Spent } from "../protocol/payload.ts";
import { childId } from "./children.ts";
import { isHold } from "./holds.ts";
import { type Ledger, type LedgerFigures, runsEnded, turnOf } from "./ledger.ts";
import type { Change, Command, Fact } from "./mode.ts";
import { isOutage } from "./outages.ts";
import { failedOfSleep } from "./sleep.ts";
import { patched } from "./step.ts";

/** The role and the subject of a run or child session. A child has no role. */
export interface Whose {
  readonly role_id?: string | undefined;
  readonly subject?: string | undefined;
}

/** Whether a fact ends its turn. The turn's request, progress reports, artifacts and permission requests do not. */
export function endsTurn(fact: Fact): boolean {
  const goesOn = fact.payload_type === "turn_request" || fact.payload_type === "approval_request" || isNotice(fact);
  return fact.turn !== undefined && !goesOn;
}

/** Returns the session's figures after a fact and the commands of its step; the same object if nothing changes. */
export function figuresAfter(ledger: Ledger, fact: Fact, commands: readonly Command[]): LedgerFigures {
  let figures = figuresAfterFact(ledger, fact);
  for (const command of commands) {
    if (command.do === "stop_session") figures = { ...figures, stopping: true };
    if (command.do !== "finish") continue;
    const { outcome, reason } = command;
    figures = { ...figures, closed: { outcome, ...defined({ reason }) } };
  }
  return figures;
}

function figuresAfterFact(ledger: Ledger, fact: Fact): LedgerFigures {
  const { figures } = ledger;
  switch (fact.payload_type) {
    case "turn_request":
      return { ...figures, turns: figures.turns + 1 };
    case "session_stopped":
      return patched(figures, { stopping: undefined, stopped: stopOf(fact.payload) });
    case "session_recovered": {
      const { graceful, limits } = fact.payload;
      const recoveries = figures.recoveries + (graceful ? 0 : 1);
      const after = patched(figures, { recoveries, stopped: undefined, stopping: undefined });
      return limits ? withLimits(after, limits) : after;
    }
    case "session_reopened":
      // An old stop or pause must not keep the reopened session from working.
      return patched(figures, { closed: undefined, stopped: undefined, stopping: undefined, paused: undefined });
    case "user_command": {
      const { command, limits } = fact.payload;
      if (command === "pause") return { ...figures, paused: true };
      if (command === "limits" && limits) return withLimits(figures, limits);
      return command === "resume" ? patched(figures, { paused: undefined }) : figures;
    }
    case "session_finished": {
      const { session_id, usage } = fact.payload;
      return withUntold(withSpent(figures, usage), session_id, usage);
    }
    default:
      return endsTurn(fact) ? withTurn(ledger, fact) : figures;
  }
}

/** Adds the usage reported at the end of a turn. */
function withTurn(ledger: Ledger, fact: Fact): LedgerFigures {
  const { figures } = ledger;
  const turn = turnOf(ledger, fact);
  // A person decided about an in-doubt turn. Its run was counted when it was cut short.
  if (turn?.status === "asked") return figures;
  const { usage } = fact;
  const counted = withRun(figures, usage);
  const after = isOutage(fact) ? { ...counted, lost_turns: (counted.lost_turns ?? 0) + 1 } : counted;
  // An agent that was held, or cut off by sleep or a crash, could not report its usage, so it is not listed as `untold`.
  if (isCutOff(fact)) return after;
  if (!usage && (isHold(fact) || failedOfSleep(ledger, fact) || isGivenUp(fact))) return after;
  return withUntold(after, turn?.role_id ?? fact.source, usage);
}

/** Whether a fact only reports the usage of a run that was cut off: its turn was withdrawn, or is given again after a stop. */
export function isCutOff(fact: Fact): boolean {
  return fact.payload_type === "turn_failed" && fact.payload.details?.cut_off === true;
}

/** Whether a turn failed because too many schedulers died while it was open. */
function isGivenUp(fact: Fact): boolean {
  return fact.payload_type === "turn_failed" && fact.payload.details?.recoveries !== undefined;
}

/** Adds the usage that a late fact reports. A run without usage was already counted as unpriced. */
export function figuresLate({ figures }: Ledger, { usage }: Fact): LedgerFigures {
  return usage ? withUsage(figures, usage) : figures;
}

/**
 * The runs and child sessions that a step cuts short before they could report their usage. The session's cost is then unknown, but no role withheld
 * its usage, so no limit stops the session.
 */
export function cutShort(ledger: Ledger, fact: Fact, changes: readonly Change[]): Whose[] {
  const own = endsTurn(fact) ? fact.turn?.turn_id : undefined;
  const turns = [...runsEnded(ledger, changes)].filter(({ turn_id, told }) => turn_id !== own && told !== true);
  const told = fact.payload_type === "session_finished" ? childId(fact.payload.session_id) : undefined;
  const children = changes.flatMap((change) => {
    const isCut = "drop" in change && change.drop === "child" && change.id !== told && isBegun(ledger, change.id);
    return isCut ? (ledger.children.get(change.id) ?? []) : [];
  });
  return [...turns, ...children.map(({ subject }) => ({ subject }))];
}

function isBegun({ children }: Ledger, child: string): boolean {
  const status = children.get(child)?.status;
  return status !== undefined && status !== "offered";
}

/** The fields of a stop that the figures keep. */
function stopOf(stop: NonNullable<LedgerFigures["stopped"]>): NonNullable<LedgerFigures["stopped"]> {
  const { reason, message, limit, used, max, signal } = stop;
  return { reason, message, ...defined({ limit, used, max, signal }) };
}

/** Sets limits. Setting a limit accepts earlier unreported usage of its kind. */
function withLimits(figures: LedgerFigures, limits: JsonObject): LedgerFigures {
  const { tokens, usd } = figures.untold ?? {};
  const left = defined({
    tokens: limits.tokens === undefined ? tokens : undefined,
    usd: limits.usd === undefined ? usd : undefined,
  });
  const untold = Object.keys(left).length === 0 ? undefined : left;
  return patched(figures, { limits: { ...figures.limits, ...limits }, untold });
}

/** Remembers a role or child that did not report its tokens or its cost. */
function withUntold(figures: LedgerFigures, who: string, usage: Told | undefined): LedgerFigures {
  const { tokens = [], usd = [] } = figures.untold ?? {};
  const isNew = defined({
    tokens: hidesTokens(usage) && !tokens.includes(who) ? [...tokens, who] : undefined,
    usd: typeof usage?.cost_usd !== "number" && !usd.includes(who) ? [...usd, who] : undefined,
  });
  return Object.keys(isNew).length === 0 ? figures : { ...figures, untold: { ...figures.untold, ...isNew } };
}

/** Reported usage: of a turn, or of a child session, where unknown is null. */
type Told = Partial<Record<"input_tokens" | "output_tokens" | "cached_tokens" | "cost_usd", number | null>>;

type Used = Pick<LedgerFigures, "input_tokens" | "output_tokens" | "cached_tokens" | "cost_usd">;

/** Adds reported usage. Sums are capped at the largest number: one that JSON cannot hold would end the session. */
export function withUsage<T extends Used>(figures: T, usage: Told | undefined): T {
  const tokens = (before: number, more: number | null = 0) => Math.min(before + (more ?? 0), Number.MAX_SAFE_INTEGER);
  return {
    ...figures,
    input_tokens: tokens(figures.input_tokens, usage?.input_tokens),
    output_tokens: tokens(figures.output_tokens, usage?.output_tokens),
    cached_tokens: tokens(figures.cached_tokens, usage?.cached_tokens),
    cost_usd: Math.min(figures.cost_usd + (usage?.cost_usd ?? 0), Number.MAX_VALUE),
  };
}

interface Counted extends Used {
  readonly turns: number;
  readonly unpriced_turns: number;
  readonly untold_turns?: number;
}

export function withRun<T extends Counted>(figures: T, usage: Told | undefined): T {
  const sum = withUsage(figures, usage);
  return withUnknown(sum, usage?.cost_usd === undefined ? 1 : 0, hidesTokens(usage) ? 1 : 0);
}

/** Adds the usage of a child session, or of one of its roles. */
export function withSpent<T extends Counted>(figures: T, spent: Spent): T {
  const { turns, cost_usd, told_usd = 0, untold_turns = 0 } = spent;
  const sum = withUsage(figures, { ...spent, cost_usd: cost_usd ?? told_usd });
  return { ...withUnknown(sum, cost_usd === null ? 1 : 0, untold_turns), turns: figures.turns + turns };
}

/** Counts runs and children whose cost, and runs whose tokens, are unknown. */
export function withUnknown<T extends Counted>(figures: T, unpriced: number, untold: number): T {
  if (unpriced + untold === 0) return figures;
  const { unpriced_turns, untold_turns = 0 } = figures;
  return { ...figures, unpriced_turns: unpriced_turns + unpriced, untold_turns: untold_turns + untold };
}

/** Whether a run did not report all its tokens. */
function hidesTokens(usage: Told | undefined): boolean {
  return typeof usage?.input_tokens !== "number" || typeof usage.output_tokens !== "number";
}
