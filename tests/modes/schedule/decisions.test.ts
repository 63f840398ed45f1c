import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { canonicalJson } from "../../../src/lib/canonical.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { ROOT } from "../../sources.ts";
import { type Random, randomOf } from "../../simulation/random.ts";
import { happen, type RandomTask, ROLES, tasksOf } from "./happenings.ts";
import { DEBATE, schedule, type ScheduleSession } from "./session.ts";

const REVIEWER: Role = { role_id: "critic", type: "participant", backend: "scripted", capabilities: ["review"] };

function randomTasks(random: Random): RandomTask[] {
  return Array.from({ length: random.between(1, 5) }, () => ({
    on: Array.from({ length: random.between(0, 2) }, () => random.between(0, 4)),
    kind: random.between(0, 29),
  }));
}

function opened(random: Random): ScheduleSession {
  const discussion = random.chance(0.4) ? { discussion: DEBATE } : {};
  return schedule({
    unchecked: true,
    roles: random.chance(0.3) ? [...ROLES, REVIEWER] : ROLES,
    input: { confirm: random.chance(0.3), ...(random.chance(0.2) ? { plan_given: true } : {}) },
    config: {
      plan_approval: random.pick(["never", "ask"]),
      max_retries: random.between(0, 2),
      max_attempts: random.between(1, 6),
      max_escalations: random.between(0, 2),
      max_review_rounds: random.between(0, 2),
      check_rounds: random.between(0, 1),
      max_clarification_rounds: random.between(0, 2),
      retry_backoff_ms: random.pick([0, 1000]),
      dependency_notice_s: random.pick([2, 600]),
      budget: random.pick([{}, {}, { ticket: { turns: 5 } }, { ticket: { wall_s: 30 } }]),
      ...discussion,
    },
  });
}

/** Plays what a seed decides, and returns a digest of all decisions: what is stored, asked for and recorded. */
function decisionsOf(seed: number): string {
  const random = randomOf(seed, "schedule");
  const digest = createHash("sha256");
  const tell = (value: unknown): void => void digest.update(canonicalJson(value));
  const session = opened(random);
  const submit = session.submit.bind(session);
  // The order of the changes of a step says nothing.
  session.submit = (...fact) => {
    const before = session.last;
    submit(...fact);
    if (session.last !== before) {
      const { commands, changes } = session.last.step;
      tell(commands);
      tell(changes.map((change) => canonicalJson(change)).toSorted());
    }
    return session;
  };
  session.requirement();
  if (session.engine.ledger.turns.size > 0) session.replan(undefined, ...tasksOf(randomTasks(random)));
  else session.send("plan", { tasks: tasksOf(randomTasks(random)) });
  for (let left = random.between(20, 90); left > 0; left -= 1) {
    const [what, which, how] = [random.between(0, 99), random.between(0, 99), random.between(0, 99)];
    happen(session, { what, which, how, tasks: randomTasks(random) });
  }
  tell(
    session.records.slice(1).map(({ payload_type, target, payload, record: { disposition, effects } }) => {
      return { payload_type, target, payload, disposition, effects };
    }),
  );
  return digest.digest("hex").slice(0, 12);
}

it("decides and stores as when the fixture was written", () => {
  const decided = readFileSync(join(ROOT, "tests/fixtures/schedule-decisions.txt"), "utf8").trimEnd().split("\n");
  expect(decided.map((_, seed) => decisionsOf(seed))).toEqual(decided);
});
