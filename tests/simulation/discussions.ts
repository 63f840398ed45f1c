import type { ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { type Random, randomOf } from "./random.ts";
import { limitsOfRole, recovery } from "./roles.ts";
import type { Scenario } from "./scenario.ts";

type Discussion = NonNullable<ResolvedConfiguration["discussion"]>;

/**
 * Lets a share of the schedules discuss proposals in child sessions. Its random stream is separate, so that other
 * scenarios stay the same.
 */
export function discussing(scenario: Scenario): Scenario {
  const random = randomOf(scenario.seed, "discussion");
  if (scenario.mode !== "schedule" || !random.chance(1 / 8)) return scenario;
  const { comparable, config, misfortunes, roles, tasks } = scenario;
  const sides = Array.from({ length: random.between(2, 3) }, (_, index) =>
    debater(random, `side${index + 1}`, comparable),
  );
  const judge = random.chance(0.3) ? "boss" : "judge";
  const all = [...roles, ...sides, ...(judge === "boss" ? [] : [debater(random, judge, comparable)])];
  return {
    ...scenario,
    roles: comparable ? all.map((role) => without(role, "budget")) : all,
    tasks: tasks.map((task) => without(task, comparable ? "budget" : "", random.chance(0.7) ? "instruction" : "")),
    interjections: comparable ? 0 : random.pick([0, 2, 5, 10]),
    misfortunes: { ...misfortunes, crashes: misfortunes.crashes + 1, takeOvers: random.between(0, 2) },
    config: {
      ...config,
      // A repeated run counts twice, so after a crash a budget would end a child earlier.
      ...(comparable ? { budget: { turns: 5000 } } : {}),
      proposal: random.pick(["risk", "always", "always"]),
      discussion: {
        ...discussedIn(scenario.seed, {
          debaters: sides.map(({ role_id }) => role_id),
          judge,
          rounds: random.between(1, 2),
          until: random.pick(["rounds", "stable"]),
        }),
        ...(comparable ? {} : limitsOf(random)),
      },
    },
  };
}

/** A third of the discussions are councils of the same roles, half of which the judge leads. */
function discussedIn(
  seed: number,
  input: { debaters: string[]; judge: string; rounds: number; until: string },
): Pick<Discussion, "mode" | "input"> {
  const random = randomOf(seed, "council");
  if (!random.chance(1 / 3)) return { mode: "debate", input };
  const { debaters: participants, judge: facilitator, rounds: max_rounds } = input;
  return { mode: "council", input: { participants, max_rounds, ...(random.chance(0.5) ? { facilitator } : {}) } };
}

/** Lets planners plan first in a share of the schedules. */
export function planning(scenario: Scenario): Scenario {
  const random = randomOf(scenario.seed, "planning");
  if (scenario.mode !== "schedule" || scenario.planGiven || !random.chance(1 / 8)) return scenario;
  const planners = Array.from({ length: random.between(2, 3) }, (_, index) =>
    debater(random, `planner${index + 1}`, scenario.comparable),
  );
  return {
    ...scenario,
    roles: [...scenario.roles, ...planners],
    config: { ...scenario.config, planning: { planners: planners.map(({ role_id }) => role_id) } },
  };
}

function debater(random: Random, role_id: string, comparable: boolean): Role {
  return {
    role_id,
    type: "participant",
    cli_command: ["agent"],
    ...(random.chance(0.2) ? { backend: "scripted" } : {}),
    ...recovery(random, comparable),
    ...limitsOfRole(random, comparable),
  };
}

function limitsOf(random: Random): Pick<Discussion, "budget" | "timeout_s"> {
  const kind = random.weighted({ none: 3, turns: 2, tokens: 1, usd: 1, wall_s: 1 });
  const most = {
    none: 0,
    turns: random.between(1, 8),
    tokens: random.between(20, 200),
    usd: 1,
    wall_s: random.between(1, 20),
  };
  return {
    ...(kind === "none" ? {} : { budget: { [kind]: most[kind] } }),
    ...(random.chance(0.3) ? { timeout_s: random.between(1, 10) } : {}),
  };
}

function without<T extends object>(thing: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(thing).filter(([name]) => !names.includes(name))) as T;
}
