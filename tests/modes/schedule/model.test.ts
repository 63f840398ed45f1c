import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { happen, type Happening, type RandomTask, ROLES, tasksOf } from "./happenings.ts";
import { DEBATE, runs, schedule } from "./session.ts";

/** The number of random sessions, each of 15 to 25 ms. The simulation runs thousands more. */
const RUNS = Number(process.env["RUNS"] ?? 100);

const randomTask: fc.Arbitrary<RandomTask> = fc.record({ on: fc.array(fc.nat(4), { maxLength: 2 }), kind: fc.nat(37) });
const randomPlan = fc.array(randomTask, { minLength: 1, maxLength: 5 });
const happening: fc.Arbitrary<Happening> = fc.record({
  what: fc.nat(99),
  which: fc.nat(99),
  how: fc.nat(99),
  tasks: randomPlan,
});

const settings = fc.record({
  plan_approval: fc.constantFrom("never" as const, "ask" as const),
  max_retries: fc.nat(2),
  max_attempts: fc.integer({ min: 1, max: 6 }),
  max_escalations: fc.nat(2),
  max_review_rounds: fc.nat(2),
  check_rounds: fc.nat(1),
  max_clarification_rounds: fc.nat(2),
  retry_backoff_ms: fc.constantFrom(0, 1000),
  budget: fc.constantFrom({}, {}, { ticket: { turns: 5 } }, { ticket: { wall_s: 30 } }),
  discussed: fc.boolean(),
  copies: fc.boolean(),
  checks: fc.constantFrom({}, { merge: [runs("true")] }),
});

describe("any facts in any order", () => {
  it("keep the invariants of the schedule mode", () => {
    let ended = 0;
    fc.assert(
      fc.property(
        settings,
        randomPlan,
        fc.boolean(),
        fc.array(happening, { minLength: 20, maxLength: 80 }),
        ({ discussed, copies, ...config }, plan, confirm, happenings) => {
          const discussion = discussed ? { discussion: DEBATE } : {};
          const session = schedule({
            config: { ...config, ...discussion },
            roles: ROLES,
            input: { confirm },
            copies,
          });
          session.plan(...tasksOf(plan));
          for (const one of happenings) happen(session, one);
          if (session.ended) ended += 1;
        },
      ),
      { numRuns: RUNS },
    );
    expect(ended, "sessions that came to an end").toBeGreaterThan(RUNS / 100);
  }, 600_000);
});
