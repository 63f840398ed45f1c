import type { TurnResult } from "../../src/kernel/agent.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { type Instant, later } from "../../src/protocol/timestamp.ts";
import { type Random, randomOf } from "./random.ts";
import type { Scenario } from "./scenario.ts";

const ACCOUNT = "shared";

/**
 * Lets most roles of a share of the scenarios work on one account that keeps a reserve. Its random stream is separate, so that other scenarios stay
 * the same. People interrupt turns, whose programs then report the account's quota late.
 */
export function withQuotas(scenario: Scenario): Scenario {
  const random = randomOf(scenario.seed, "quotas");
  if (scenario.comparable || !random.chance(0.35)) return scenario;
  const { config, roles } = scenario;
  return {
    ...scenario,
    config: { ...config, max_workers: 4, accounts: { [ACCOUNT]: { reserve: 20 } } },
    roles: roles.map((role) => (random.chance(0.8) ? onAccount(role) : role)),
    interruptions: random.pick([5, 10, 15]),
  };
}

/** A role that takes several turns at once, so that some go on when another one's report holds the account. */
function onAccount(role: Role): Role {
  const { max_instances: _, supports_multiple_instances: _several, ...rest } = role;
  return { ...rest, account: ACCOUNT };
}

/** What a program of such a role reports besides its answer, even if it is cut off: its usage, and the account's quota windows. */
export function reported(
  { config }: Scenario,
  account: string | undefined,
  random: Random,
  now: Instant,
): Pick<TurnResult, "usage" | "quota"> {
  if (account !== ACCOUNT || config.accounts === undefined) return {};
  const window = (name: string) => ({
    name,
    used_percent: random.pick([10, 60, 85, 95]),
    resets_at: later(now, random.between(2_000, 20_000)),
  });
  const names = random.pick([[], ["5h"], ["5h"], ["5h"], ["5h", "week"]]);
  return {
    ...(names.length > 0 ? { quota: names.map(window) } : {}),
    ...(random.chance(0.5) ? { usage: { input_tokens: 30, output_tokens: 10, cost_usd: 0.05 } } : {}),
  };
}
