import { describe, expect, it } from "vitest";
import type { KitState, Self } from "../../../src/kernel/kit/state.ts";
import type { Speaker } from "../../../src/kernel/kit/speakers.ts";
import { type JsonObject, objectOf } from "../../../src/lib/json.ts";
import { planningMode } from "../../../src/modes/planning/mode.ts";
import { planning } from "../../../src/modes/planning/planning.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

const ROLES: readonly Role[] = [
  { role_id: "ann", type: "participant", backend: "scripted" },
  { role_id: "ben", type: "worker", backend: "scripted" },
];

class PlanningSession extends ModeSession<KitState<Self, Speaker>> {
  constructor(input: JsonObject = {}) {
    const given = { topic: "Mend it", planners: ["ann", "ben"], ...input };
    super(planningMode, kitRules(planning), { roles: ROLES, input: given, config: { max_retries: 0 } });
  }

  plans(id: string, ...tasks: readonly object[]): this {
    return this.answer(id, "plan", { summary: `As ${id} does it`, tasks: tasks as JsonObject[] });
  }

  get result(): JsonObject {
    return objectOf(this.ended?.report["result"]);
  }
}

const TASK = { task_id: "a", description: "Do a" };

describe("a planning", () => {
  it("asks all at once, and none sees another's plan", () => {
    const session = new PlanningSession();
    expect(session.open).toEqual(["ann requirement ann", "ben requirement ben"]);
    session.plans("ann", TASK);
    expect(session.resolved(session.draft("ben"))).toEqual({
      expects: ["error", "plan"],
      message: { payload_type: "requirement", payload: { text: "Mend it" } },
      context: { requirement: "Mend it" },
    });
    session.plans("ben", TASK);
    expect(session.ended?.outcome).toBe("done");
    expect(session.result).toEqual({
      plans: [
        { role_id: "ann", plan: { summary: "As ann does it", tasks: [TASK] } },
        { role_id: "ben", plan: { summary: "As ben does it", tasks: [TASK] } },
      ],
    });
  });

  it("is done with one plan, and fails without any", () => {
    const one = new PlanningSession().fail("ann", "timeout").plans("ben", TASK);
    expect(one.ended?.outcome).toBe("done");
    expect(one.result).toMatchObject({ plans: [{ role_id: "ann", reason: "timeout" }, { plan: { tasks: [TASK] } }] });
    const none = new PlanningSession().fail("ann", "timeout").fail("ben", "agent_failed");
    expect(none.ended).toMatchObject({ outcome: "failed", reason: "nobody_left" });
  });

  it.each([
    ["a task that waits for itself", [{ ...TASK, dependencies: ["a"] }], "invalid_plan /tasks"],
    ["an unknown dependency", [{ ...TASK, dependencies: ["b"] }], "invalid_plan /tasks/0/dependencies/0"],
  ])("refuses a plan with %s", (_, tasks, refused) => {
    expect(new PlanningSession().plans("ann", ...tasks).refused).toBe(refused);
  });

  it("takes a plan whose tasks are in a file", () => {
    expect(planningMode.attached?.plan).toEqual({ reference: "tasks_ref", field: "tasks" });
  });

  it("needs two planners", () => {
    expect(new PlanningSession({ planners: ["ann"] }).last.step.refused?.message).toContain('"planners"');
  });
});
