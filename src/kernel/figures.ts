import { isNotice, type Usage } from "../protocol/payload.ts";
import type { LedgerFigures } from "./ledger.ts";
import type { Fact } from "./mode.ts";

/** Whether a fact is its turn's end: what an agent says on the way is not, nor is the turn's beginning. */
export function endsTurn(fact: Fact): boolean {
  return fact.turn !== undefined && fact.payload_type !== "turn_request" && !isNotice(fact);
}

/** The session's figures after a fact; the same object if it changes none. */
export function figuresAfter(figures: LedgerFigures, fact: Fact): LedgerFigures {
  switch (fact.payload_type) {
    case "turn_request":
      return { ...figures, turns: figures.turns + 1 };
    case "session_stopped":
      return { ...figures, stopped: stopOf(fact.payload.reason, fact.payload.message, fact.payload.limit) };
    case "session_recovered": {
      const { stopped: _, ...rest } = figures;
      const recoveries = rest.recoveries + (fact.payload.graceful ? 0 : 1);
      return {
        ...rest,
        recoveries,
        ...(fact.payload.limits ? { limits: { ...rest.limits, ...fact.payload.limits } } : {}),
      };
    }
    case "session_reopened": {
      // A stop or a pause from before its end would keep it from doing what it was reopened for.
      const { closed: _, stopped: __, paused: ___, ...rest } = figures;
      return rest;
    }
    case "user_command": {
      const { command, limits } = fact.payload;
      if (command === "pause") return { ...figures, paused: true };
      if (command === "limits" && limits) return { ...figures, limits: { ...figures.limits, ...limits } };
      if (command !== "resume") return figures;
      const { paused: _, ...rest } = figures;
      return rest;
    }
    default:
      return endsTurn(fact) ? withUsage(figures, fact.usage) : figures;
  }
}

/** What the figures keep of a stop. */
export function stopOf(reason: string, message: string, limit: string | undefined): LedgerFigures["stopped"] & {} {
  return { reason, message, ...(limit === undefined ? {} : { limit }) };
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
