import type { KitState } from "../../../src/kernel/kit/state.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { orchestrationMode } from "../../../src/modes/orchestration/mode.ts";
import { type Orchestration, orchestration, type PlanStep } from "../../../src/modes/orchestration/orchestration.ts";
import type { ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

export const ROLES: readonly Role[] = [
  { role_id: "researcher", type: "participant", display_name: "Web researcher", backend: "scripted" },
  { role_id: "analyst", type: "worker", backend: "scripted" },
  { role_id: "writer", type: "manager", backend: "scripted" },
  { role_id: "planner", type: "manager", backend: "scripted" },
];

/** A plan: each step as `agent: task`. */
type Written = readonly string[];

/** A session of the orchestration mode, by default of three agents and a planner. */
export class OrchestrationSession extends ModeSession<KitState<Orchestration, PlanStep>> {
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}, roles: readonly Role[] = ROLES) {
    const given = {
      task: "Rank the cities.",
      agents: ["researcher", "analyst", "writer"],
      planner: "planner",
      ...input,
    };
    super(orchestrationMode, kitRules(orchestration), { roles, input: given, config });
  }

  decides(next_action: string, more: JsonObject = {}): this {
    return this.answer(undefined, "plan_decision", { analysis: "So far.", next_action, ...more });
  }

  plans(steps: Written, more: JsonObject = {}): this {
    const list = steps.map((step) => {
      const [agent = "", task = ""] = step.split(": ");
      return { agent, task };
    });
    return this.decides("PLAN", { steps: list, ...more });
  }

  goesOn(more: JsonObject = {}): this {
    return this.decides("GO_ON", more);
  }

  finishes(final_report = "# Shenzhen"): this {
    return this.decides("FINISH", { final_report });
  }

  /** The step that has a turn ends with this result. */
  done(summary: string): this {
    return this.answer(this.asked, "report", { status: "completed", summary });
  }

  /** The step that has a turn fails for good. */
  fails(): this {
    return this.fail(this.asked, "cancelled");
  }

  get asked(): string {
    const [turn] = this.engine.ledger.turns.values();
    if (turn?.subject === undefined) throw new Error("no step has a turn");
    return turn.subject;
  }

  /** What the planner is asked with. */
  get board(): JsonObject {
    return this.resolved(this.draft(undefined)).message.payload as JsonObject;
  }

  /** What the planner may answer. */
  get may(): readonly string[] | undefined {
    return this.draft(undefined).choices?.["/next_action"];
  }

  /** Each step with its agent and status, and why it has it. */
  get steps(): string[] {
    return [...this.state.subjects.values()].map(({ id, agent, status, reason }) =>
      [id, agent, status, ...(reason === undefined ? [] : [`(${reason})`])].join(" "),
    );
  }
}
