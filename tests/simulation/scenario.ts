import type { JsonObject } from "../../src/lib/json.ts";
import { DESCRIPTORS } from "../../src/modes/index.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { discussing, planning } from "./discussions.ts";
import { withQuotas } from "./quotas.ts";
import { type Random, randomOf } from "./random.ts";
import { type KitSession, sessionOf } from "./kit-scenarios.ts";
import { crew, limitsOfRole } from "./roles.ts";

/** The probability of a misfortune for each event, and how many of each kind there may be. */
export interface Misfortunes {
  readonly rate: number;
  readonly crashes: number;
  readonly failedCommits: number;
  readonly takeOvers: number;
  readonly stops: number;
  readonly clockJumps: number;
  readonly killedAgents: number;
}

/** A time in which a role's provider is away, or all of them and the machine starts no process for a check. Times are in virtual ms. */
export interface Outage {
  readonly role_id: string | undefined;
  readonly from: number;
  readonly to: number;
}

/** Everything that a seed decides beforehand. */
export interface Scenario {
  readonly seed: number;
  readonly mode: string;
  /** Agents and people depend only on what they are asked, so crashes must not change the final report. */
  readonly comparable: boolean;
  readonly config: ResolvedConfiguration;
  readonly roles: readonly Role[];
  readonly tasks: readonly JsonObject[];
  readonly input: JsonObject;
  readonly planGiven: boolean;
  readonly misfortunes: Misfortunes;
  readonly outages: readonly Outage[];
  /** The share of schedulers that wait for people. */
  readonly patience: number;
  /** The share of commits that take time. */
  readonly slowCommits: number;
  /** The share of questions that people do not answer until misfortunes end. */
  readonly silence: number;
  /** How many commands people send without being asked. */
  readonly interjections: number;
  /** How many turns people interrupt by changing the task. */
  readonly interruptions: number;
  /** The share of turns in which agents do well. */
  readonly skill: number;
}

export const CALM: Misfortunes = {
  rate: 0,
  crashes: 0,
  failedCommits: 0,
  takeOvers: 0,
  stops: 0,
  clockJumps: 0,
  killedAgents: 0,
};

export function scenarioOf(seed: number): Scenario {
  const random = randomOf(seed, "scenario");
  const ofKit = random.chance(0.15) ? random.pick(DESCRIPTORS) : undefined;
  // What outsiders and those who are asked at once say comes in an order that a misfortune changes.
  const mayBeCompared = random.chance(0.3) && ofKit?.outsiders === undefined;
  const drawn: KitSession | undefined = ofKit && sessionOf(ofKit, random);
  // A step that fails skips those of its group that have not ended.
  const comparable = mayBeCompared && !JSON.stringify(drawn?.input ?? {}).includes('"group"');
  const roles = drawn?.roles ?? crew(random, comparable);
  const tasks = drawn ? [] : planOf(random, roles);
  // A stream of its own, so that limits change nothing else about a seed.
  const limits = randomOf(seed, "limits");
  const few = random.between(0, 3);
  const scenario: Scenario = {
    seed,
    mode: ofKit?.name ?? "schedule",
    comparable,
    roles: roles.map((role) => ({ ...role, ...limitsOfRole(limits, comparable) })),
    tasks: tasks.map((task) => (limits.chance(0.08) ? { ...task, budget: limitsOfTicket(limits, comparable) } : task)),
    config: {
      ...limited(configurationOf(random, comparable), limits, comparable),
      max_attempts: randomOf(seed, "attempts").between(1, 8),
    },
    input: drawn?.input ?? (random.chance(0.1) ? { confirm: true } : {}),
    planGiven: !drawn && random.chance(0.1),
    misfortunes: {
      rate: random.pick([0.004, 0.01, 0.03]),
      crashes: few,
      failedCommits: random.chance(0.3) ? random.between(1, 2) : 0,
      takeOvers: random.chance(0.25) ? 1 : 0,
      stops: random.chance(0.2) ? 1 : 0,
      clockJumps: comparable ? 0 : random.chance(0.3) ? 2 : 0,
      killedAgents: comparable ? 0 : random.chance(0.3) ? 2 : 0,
    },
    outages: outagesOf(randomOf(seed, "outages"), roles),
    patience: random.pick([0, 0.5, 1]),
    slowCommits: random.pick([0, 0, 0.3]),
    silence: comparable ? 0 : random.pick([0, 0, 0.3]),
    interjections: comparable ? 0 : random.pick([0, 0, 2, 5, 10]),
    interruptions: 0,
    skill: random.pick([0.5, 0.75, 0.95]),
  };
  return withQuotas(planning(discussing(scenario)));
}

/** Most outages are short; some last longer than any hold may. */
function outagesOf(random: Random, roles: readonly Role[]): Outage[] {
  return Array.from({ length: random.pick([0, 0, 0, 1, 1, 2]) }, () => {
    const from = random.between(0, 30_000);
    const to = from + random.pick([500, 3_000, 20_000, 300_000, 3_000_000]);
    return { role_id: random.chance(0.3) ? undefined : random.pick(roles).role_id, from, to };
  });
}

function configurationOf(random: Random, comparable: boolean): ResolvedConfiguration {
  return {
    ...CONFIGURATION_DEFAULTS,
    workspace: "/",
    max_workers: random.between(1, 4),
    max_retries: random.between(0, 2),
    retry_backoff_ms: random.pick([0, 50, 1000]),
    timeout_s: random.pick([5, 20]),
    idle_timeout_s: 600,
    kill_grace_s: 2,
    max_review_rounds: random.between(0, 2),
    check_rounds: random.between(0, 2),
    max_clarification_rounds: random.between(0, 2),
    max_escalations: random.between(0, 2),
    max_recoveries: comparable ? 100 : random.between(0, 3),
    max_hold_s: random.pick([20, 100]),
    // The manager's answer to a long wait depends on when it is asked, which a crash may change.
    dependency_notice_s: comparable ? random.pick([100_000, 200_000]) : random.pick([7, 3600]),
    plan_approval: random.pick(["never", "ask"]),
    review: "manager",
    proposal: random.pick(["never", "risk", "risk", "always"]),
    checks: random.chance(0.15) ? { ticket: [probe("house", 1)] } : {},
    budget: random.chance(0.2)
      ? { turns: random.between(3, 30) }
      : random.chance(0.1)
        ? { wall_s: 60 }
        : { turns: 500 },
  } as ResolvedConfiguration;
}

function limitsOfTicket(random: Random, comparable: boolean): { turns: number } | { wall_s: number } {
  return !comparable && random.chance(0.4) ? { wall_s: random.between(2, 60) } : { turns: random.between(1, 10) };
}

function limited(config: ResolvedConfiguration, random: Random, comparable: boolean): ResolvedConfiguration {
  const ticket = random.chance(0.08) ? { ticket: limitsOfTicket(random, comparable) } : {};
  const tokens = !comparable && random.chance(0.03) ? { tokens: random.between(100, 2000) } : {};
  const usd = !comparable && random.chance(0.03) ? { usd: random.between(1, 3) } : {};
  return { ...config, budget: { ...config.budget, ...ticket, ...tokens, ...usd } };
}

/** The first plan. Tasks depend on earlier ones, and are listed forwards or backwards. */
function planOf(random: Random, roles: readonly Role[]): JsonObject[] {
  const count = random.pick([1, 2, 2, 2, 3, 3, 4, 5, 7, 12]);
  const width = random.pick([0.2, 0.5, 1.5]);
  const tasks: JsonObject[] = [];
  for (let index = 0; index < count; index++) {
    const dependencies = tasks.filter(() => random.chance(width / count)).map((task) => task["task_id"] as string);
    tasks.push({ ...taskOf(random, `T${index}`, roles), ...(dependencies.length > 0 ? { dependencies } : {}) });
  }
  return random.chance(0.5) ? tasks : tasks.toReversed();
}

function taskOf(random: Random, task_id: string, roles: readonly Role[]): JsonObject {
  const criteria: JsonObject[] = [];
  if (random.chance(0.2)) criteria.push({ text: "It reads well." });
  if (random.chance(0.4)) criteria.push(probe(task_id, 1));
  if (random.chance(0.1)) criteria.push(probe(task_id, 2));
  const isChecked = criteria.some((criterion) => criterion["command"] !== undefined);
  const worker = roles.find((role) => role.type === "worker" && random.chance(0.3));
  return {
    task_id,
    description: `Work on ${task_id}`,
    ...(criteria.length > 0 ? { acceptance_criteria: criteria } : {}),
    ...(random.chance(0.15) ? { review: "user" } : isChecked && random.chance(0.3) ? { review: "checks" } : {}),
    ...(random.chance(0.15) ? { risks: ["It may break."] } : {}),
    ...(random.chance(0.1) ? { proposal_needed: random.chance(0.5) } : {}),
    ...(random.chance(0.3) ? { instruction: { summary: "Do it.", acceptance_criteria: extra(random, task_id) } } : {}),
    ...(random.chance(0.1)
      ? { assigned_to: { capability: "code" } }
      : worker
        ? { assigned_to: { role_id: worker.role_id } }
        : {}),
  };
}

function extra(random: Random, task_id: string): JsonObject[] {
  return random.chance(0.3) ? [probe(task_id, 3)] : [];
}

/** An executable criterion. The simulated launcher decides whether it passes. */
export function probe(task_id: string, number: number): JsonObject {
  return { text: `Probe ${number} of ${task_id} passes.`, command: ["probe", task_id, String(number)] };
}
