import type { JsonObject } from "../lib/json.ts";
import { isNotice, type PayloadByType, type Usage } from "../protocol/payload.ts";
import type { Ledger, LedgerFigures, StopKept } from "./ledger.ts";
import type { Fact } from "./mode.ts";

/** Whether a fact is its turn's end: what an agent says on the way is not, nor is the turn's beginning. */
export function endsTurn(fact: Fact): boolean {
  return fact.turn !== undefined && fact.payload_type !== "turn_request" && !isNotice(fact);
}

/** The session's figures after a fact; the same object if it changes none. */
export function figuresAfter({ figures, turns }: Ledger, fact: Fact): LedgerFigures {
  switch (fact.payload_type) {
    case "turn_request":
      return { ...figures, turns: figures.turns + 1 };
    case "session_stopped":
      return { ...figures, stopped: stopOf(fact.payload.reason, fact.payload.message, fact.payload) };
    case "session_recovered": {
      const { stopped: _, ...rest } = figures;
      const recoveries = rest.recoveries + (fact.payload.graceful ? 0 : 1);
      const { limits } = fact.payload;
      return limits ? withLimits({ ...rest, recoveries }, limits) : { ...rest, recoveries };
    }
    case "session_reopened": {
      // A stop or a pause from before its end would keep it from doing what it was reopened for.
      const { closed: _, stopped: __, paused: ___, ...rest } = figures;
      return rest;
    }
    case "user_command": {
      const { command, limits } = fact.payload;
      if (command === "pause") return { ...figures, paused: true };
      if (command === "limits" && limits) return withLimits(figures, limits);
      if (command !== "resume") return figures;
      const { paused: _, ...rest } = figures;
      return rest;
    }
    case "session_finished":
      return withChild(figures, fact.payload);
    default:
      if (!endsTurn(fact)) return figures;
      return withUntold(
        withUsage(figures, fact.usage),
        turns.get(fact.turn?.turn_id ?? "")?.role_id ?? fact.source,
        fact.usage,
      );
  }
}

/** What the figures keep of a stop. */
export function stopOf(
  reason: string,
  message: string,
  { limit, used, max, signal }: StopKept = {},
): NonNullable<LedgerFigures["stopped"]> {
  return {
    reason,
    message,
    ...(limit === undefined ? {} : { limit }),
    ...(used === undefined ? {} : { used }),
    ...(max === undefined ? {} : { max }),
    ...(signal === undefined ? {} : { signal }),
  };
}

/** A person who sets a limit knows of what nobody told until then. */
function withLimits(figures: LedgerFigures, limits: JsonObject): LedgerFigures {
  const { untold, ...rest } = figures;
  const known = { ...figures, limits: { ...figures.limits, ...limits } };
  if (!untold || (limits.tokens === undefined && limits.usd === undefined)) return known;
  const { tokens, usd } = untold;
  const left = {
    ...(tokens && limits.tokens === undefined ? { tokens } : {}),
    ...(usd && limits.usd === undefined ? { usd } : {}),
  };
  const { limits: set } = known;
  return { ...rest, limits: set, ...(Object.keys(left).length === 0 ? {} : { untold: left }) };
}

/** What a child session used counts as its parent's. */
function withChild(figures: LedgerFigures, { session_id, usage }: PayloadByType["session_finished"]): LedgerFigures {
  const { turns, cost_usd, ...tokens } = usage;
  const told = { ...tokens, ...(cost_usd === null ? {} : { cost_usd }) };
  return { ...withUntold(withUsage(figures, told), session_id, told), turns: figures.turns + turns };
}

/** Remembers who did not tell what a turn took. */
function withUntold(figures: LedgerFigures, who: string, usage: Usage | undefined): LedgerFigures {
  const { tokens = [], usd = [] } = figures.untold ?? {};
  const hidesTokens = usage?.input_tokens === undefined || usage.output_tokens === undefined;
  const isNew = {
    ...(hidesTokens && !tokens.includes(who) ? { tokens: [...tokens, who] } : {}),
    ...(usage?.cost_usd === undefined && !usd.includes(who) ? { usd: [...usd, who] } : {}),
  };
  return Object.keys(isNew).length === 0 ? figures : { ...figures, untold: { ...figures.untold, ...isNew } };
}

function withUsage(figures: LedgerFigures, usage: Usage | undefined): LedgerFigures {
  return {
    ...figures,
    input_tokens: figures.input_tokens + (usage?.input_tokens ?? 0),
    output_tokens: figures.output_tokens + (usage?.output_tokens ?? 0),
    cached_tokens: figures.cached_tokens + (usage?.cached_tokens ?? 0),
    cost_usd: figures.cost_usd + (usage?.cost_usd ?? 0),
    unpriced_turns: figures.unpriced_turns + (usage?.cost_usd === undefined ? 1 : 0),
  };
}
