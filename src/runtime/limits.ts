import type { LedgerFigures } from "../kernel/ledger.ts";
import type { JsonObject } from "../lib/json.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";

/** A limit of the session that forbids another turn, in words and figures. */
export interface LimitReached {
  readonly message: string;
  readonly details: JsonObject;
}

/** What a session may use: its configuration's budget, and what a person changed of it since. */
export function limitsOf(figures: LedgerFigures, config: ResolvedConfiguration): { turns?: number; wall_s?: number } {
  return { ...config.budget, ...(figures.limits as object | undefined) };
}

/**
 * The limit that forbids another turn, if there is one. `awake_ms` is how long the scheduler has been running this time: neither the
 * machine's sleep nor what is done to the wall clock counts.
 */
export function limitReached(
  figures: LedgerFigures,
  config: ResolvedConfiguration,
  awake_ms: number,
): LimitReached | undefined {
  const { turns, wall_s } = limitsOf(figures, config);
  if (turns !== undefined && figures.turns >= turns) {
    return {
      message: `the limit of ${turns} turns is reached`,
      details: { limit: "turns", used: figures.turns, max: turns },
    };
  }
  if (wall_s !== undefined && awake_ms >= wall_s * 1000) {
    return {
      message: `the limit of ${wall_s} s is reached`,
      details: { limit: "wall_s", used: Math.floor(awake_ms / 1000), max: wall_s },
    };
  }
  return undefined;
}
